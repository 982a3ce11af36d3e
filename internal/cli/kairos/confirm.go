package kairos

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/exit"
)

// destructive maps the commands that require a confirmation to their questions.
var destructive = map[string]string{
	"kairos cancel":           "Cancel %s?",
	"kairos runs cancel":      "Cancel %s?",
	"kairos runs delete":      "Delete %s?",
	"kairos sessions clear":   "Clear the memory of session %s?",
	"kairos drafts discard":   "Discard draft %s?",
	"kairos views delete":     "Delete view %s?",
	"kairos budgets delete":   "Delete budget %s and its usage?",
	"kairos schedules delete": "Delete schedule %s?", "kairos hooks delete": "Delete hook %s and its deliveries?",
}

// confirmed adds a confirmation on a terminal to the destructive commands of a tree. --yes confirms
// in advance. Without a terminal, they do not prompt, so that scripts need no flag.
func (c *program) confirmed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.confirmed(sub)
	}
	question, ok := destructive[cmd.CommandPath()]
	if !ok {
		return
	}
	yes := false
	command.AddYes(cmd, &yes)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		preview, _ := cmd.Flags().GetBool("preview") // some commands do not have the flag
		if c.Interactive && !yes && !preview {
			what := strings.Join(args, ", ")
			if what == "" {
				what = "all runs that match"
			}
			if err := c.Confirm(question, what); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
}

// confirmResume prompts before a resume. Without a terminal, it requires --yes, because the effect
// of a resume depends on the state of the run.
func (c *program) confirmResume(yes bool, question string, args ...any) error {
	switch {
	case yes:
		return nil
	case !c.Interactive:
		return exit.Usage("confirmation required\n  to confirm, pass --yes; to only print the preview, pass --preview")
	}
	return c.Confirm(question, args...)
}
