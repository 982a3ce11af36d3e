package kairos

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

func (c viewCommands) group() *cobra.Command {
	return group("views", "Manage saved filters", c.listCommand, c.saveCommand(), c.deleteCommand())
}

func (c viewCommands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List saved filters", Args: cobra.NoArgs,
		Long: `Lists views: saved filters of the list of runs, which the dashboard shows above the
list. "kairos runs --view NAME" lists the runs of a view.`,
		Example: "  kairos views\n  kairos runs --view nightly",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.Views(cmd.Context())
				if err != nil {
					return err
				}
				type view struct {
					Name      string `json:"name"`
					Filter    string `json:"filter"`
					Everybody bool   `json:"everybody"`
				}
				items, rows := []view{}, [][]string{}
				for _, v := range list {
					whose := "yours"
					if v.Owner == "" {
						whose = "everybody's"
					}
					items, rows = append(items, view{v.Name, v.Query, v.Owner == ""}), append(rows, []string{v.Name, whose, v.Query})
				}
				return c.Listed(c.json, items, "", []string{"NAME", "OWNER", "FILTER"}, rows, "no views")
			})
		},
	}
}

// addEverybody adds the flag that means a shared view.
func addEverybody(cmd *cobra.Command, everybody *bool) {
	cmd.Flags().BoolVar(everybody, "everybody", false, "a view that everybody sees")
}

func (c viewCommands) saveCommand() *cobra.Command {
	everybody := false
	cmd := &cobra.Command{
		Use: "save NAME FILTER", Short: "Save a filter", Args: cobra.ExactArgs(2),
		Long: "Saves a filter of the list of runs as a view. A view with the same name is replaced. With --everybody, everybody sees " +
			"the view.",
		Example: "  kairos views save nightly 'plan:report since:24h' --everybody",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" || strings.TrimSpace(args[1]) == "" {
				return exit.Usage("NAME and FILTER must not be empty")
			}
			if _, problem := filter.Parse(args[1], time.Now()); problem != nil {
				return problem
			}
			return c.with(cmd, func(b *client.Client) error {
				return b.KeepView(cmd.Context(), domain.SavedView{Name: strings.TrimSpace(args[0]), Query: args[1]}, everybody)
			})
		},
	}
	addEverybody(cmd, &everybody)
	return cmd
}

func (c viewCommands) deleteCommand() *cobra.Command {
	everybody := false
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a saved filter", Args: cobra.ExactArgs(1),
		Long:    "Deletes a view of yours, or with --everybody one that everybody sees. On a terminal, it requires a confirmation.",
		Example: "  kairos views delete nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.Views(cmd.Context())
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(list, func(x domain.SavedView) bool { return x.Name == args[0] && (x.Owner == "") == everybody }) {
					return domain.Errorf(domain.CodeNotFound, "view %q not found",
						args[0]).Suggest("list views: kairos views; add --everybody for a shared view")
				}
				return b.KeepView(cmd.Context(), domain.SavedView{Name: args[0]}, everybody)
			})
		},
	}
	addEverybody(cmd, &everybody)
	return cmd
}
