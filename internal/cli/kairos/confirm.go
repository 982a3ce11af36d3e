package kairos

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/exit"
)

// destructive are the commands that ask before they act, with their question.
var destructive = map[string]string{
	"kairos cancel":         "Cancel %s?",
	"kairos delete":         "Delete %s?",
	"kairos forget":         "Delete the memory of session %s?",
	"kairos drafts discard": "Discard draft %s?",
}

// confirmed makes the destructive commands of a tree ask for confirmation on a
// terminal. --yes answers in advance. Without a terminal nothing is asked, so that
// scripts run as they are.
func (c *program) confirmed(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.confirmed(sub)
	}
	question, ok := destructive[cmd.CommandPath()]
	if !ok {
		return
	}
	yes := false
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		preview, _ := cmd.Flags().GetBool("preview") // not every command has it
		if c.Interactive && !yes && !preview {
			what := strings.Join(args, ", ")
			if what == "" {
				what = "all runs that match"
			}
			c.Errorf(question+" [y/N] ", what)
			answer, _ := bufio.NewReader(c.In).ReadString('\n') // no answer means no
			if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
				return exit.With(exit.BadUsage, fmt.Errorf("not confirmed; nothing was changed"))
			}
		}
		return run(cmd, args)
	}
}
