package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/exit"
)

// shells are the shells with completion scripts.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// CompletionCommand prints the completion script of a program for a shell.
func CompletionCommand(s Streams, program string) *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a completion script for a shell", Args: cobra.ExactArgs(1), ValidArgs: shells,
		Long: fmt.Sprintf(`Prints a script that completes commands, flags, and names of %[1]s in a shell: bash, zsh,
fish, or powershell. Load it for this session, or write it to the directory of your shell:

  bash         source <(%[1]s completion bash)
               %[1]s completion bash > /etc/bash_completion.d/%[1]s
  zsh          %[1]s completion zsh > "${fpath[1]}/_%[1]s"
  fish         %[1]s completion fish > ~/.config/fish/completions/%[1]s.fish
  powershell   %[1]s completion powershell | Out-String | Invoke-Expression

The script for bash requires the package bash-completion.`, program),
		Example: fmt.Sprintf("  %[1]s completion bash > %[1]s.bash\n  %[1]s completion fish > %[1]s.fish", program),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.Out, true)
			case "zsh":
				return root.GenZshCompletion(s.Out)
			case "fish":
				return root.GenFishCompletion(s.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.Out)
			}
			return exit.Usage("unknown shell %q\n  use %s", args[0], strings.Join(shells, ", "))
		},
	}
}

// ArgumentAt returns the name of an argument in a usage line, or "" if the command has no such
// argument.
func ArgumentAt(use string, at int) string {
	words := strings.Fields(use)[1:]
	if len(words) > 0 && strings.HasSuffix(words[0], "…") { // all arguments are of one kind
		at = 0
	}
	if at >= len(words) || words[at] == "|" {
		return ""
	}
	name := strings.Trim(words[at], "[]….")
	name, _, _ = strings.Cut(name, "[@")
	return name
}
