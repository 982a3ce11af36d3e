package kairos

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/exit"
)

// destructive are the commands that ask before they act, with their question.
var destructive = map[string]string{
	"kairos cancel":           "Cancel %s?",
	"kairos runs cancel":      "Cancel %s?",
	"kairos runs delete":      "Delete %s?",
	"kairos sessions clear":   "Clear the memory of session %s?",
	"kairos drafts discard":   "Discard draft %s?",
	"kairos views delete":     "Delete view %s?",
	"kairos schedules delete": "Delete schedule %s?",
}

// confirmed makes the destructive commands of a tree ask for confirmation on a
// terminal. --yes confirms in advance. Without a terminal they do not ask, so that
// scripts need no flag.
func (c *program) confirmed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.confirmed(sub)
	}
	question, ok := destructive[cmd.CommandPath()]
	if !ok {
		return
	}
	yes := false
	addYes(cmd, &yes)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		preview, _ := cmd.Flags().GetBool("preview") // not every command has it
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

func addYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask for confirmation")
}

// confirmResume asks before runs are resumed. Without a terminal, --yes is required:
// what a resume does depends on the state of the run.
func (c *program) confirmResume(yes bool, question string, args ...any) error {
	switch {
	case yes:
		return nil
	case !c.Interactive:
		return exit.Usage("confirmation required\n  to confirm, pass --yes; to only print the preview, pass --preview")
	}
	return c.Confirm(question, args...)
}
