package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/exit"
)

// helpCommand prints the help of a command. An unknown command is a usage error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND…]", Short: "Show the help of a command", Hidden: true,
		Long:    "Prints the help of a command, as COMMAND --help does.",
		Example: "  " + root.Name() + " help version",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return exit.Usage("unknown command %q\n  list commands: %s --help", strings.Join(args, " "), root.Name())
			}
			return cmd.Help()
		},
	}
}
