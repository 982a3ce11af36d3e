package kairos

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

func (c viewCommands) group() *cobra.Command {
	return command.Group("views", "Manage saved filters", c.listCommand, c.saveCommand(), c.deleteCommand())
}

func (c viewCommands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List saved filters", Args: cobra.NoArgs,
		Long: `Lists views: saved filters of the list of runs, which the dashboard shows above the
list. "kairos runs --view NAME" lists the runs of a view.`,
		Example: "  kairos views\n  kairos runs --view nightly",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Views(cmd.Context())
				if err != nil {
					return err
				}
				items, rows := []view{}, [][]string{}
				for _, v := range list {
					owner := "you"
					if v.Owner == "" {
						owner = "shared"
					}
					items, rows = append(items, view{v.Name, v.Query, v.Owner == ""}), append(rows, []string{v.Name, owner, v.Query})
				}
				return c.ListOf(items, "", []string{"VIEW", "OWNER", "FILTER"}, rows, "no saved filters")
			})
		},
	}
}

// view is a saved filter as --json prints it.
type view struct {
	Name   string `json:"name"`
	Filter string `json:"filter"`
	Shared bool   `json:"shared"`
}

// addShared adds the flag for shared views.
func addShared(cmd *cobra.Command, shared *bool) {
	cmd.Flags().BoolVar(shared, "shared", false, "a view that all users see")
}

func (c viewCommands) saveCommand() *cobra.Command {
	shared := false
	cmd := &cobra.Command{
		Use: "save NAME FILTER", Short: "Save a filter", Args: cobra.ExactArgs(2),
		Long: `Saves a filter of the list of runs as a view. A view with the same name is replaced. With
--shared, all users see the view.`,
		Example: "  kairos views save nightly 'plan:report since:24h' --shared",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" || strings.TrimSpace(args[1]) == "" {
				return exit.Usage("NAME and FILTER must not be empty")
			}
			if _, problem := filter.Parse(args[1], time.Now()); problem != nil {
				return problem
			}
			return c.With(cmd, func(b *client.Client) error {
				v := domain.SavedView{Name: strings.TrimSpace(args[0]), Query: args[1]}
				if err := b.KeepView(cmd.Context(), v, shared); err != nil {
					return err
				}
				return c.Done(view{v.Name, v.Query, shared}, "view %s saved; list its runs: %s", v.Name,
					c.Command("runs --view %s", command.Quoted(v.Name)))
			})
		},
	}
	addShared(cmd, &shared)
	return cmd
}

func (c viewCommands) deleteCommand() *cobra.Command {
	shared := false
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a saved filter", Args: cobra.ExactArgs(1),
		Long: `Deletes one of your views, or with --shared a view that all users see. On a terminal, it
requires a confirmation.`,
		Example: "  kairos views delete nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Views(cmd.Context())
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(list, func(x domain.SavedView) bool { return x.Name == args[0] && (x.Owner == "") == shared }) {
					return domain.Errorf(domain.CodeNotFound, "view %q not found",
						args[0]).Suggest("list views: kairos views; for a shared view, add --shared")
				}
				if err := b.KeepView(cmd.Context(), domain.SavedView{Name: args[0]}, shared); err != nil {
					return err
				}
				return c.Done(map[string]any{"name": args[0], "deleted": true}, "view %s deleted", args[0])
			})
		},
	}
	addShared(cmd, &shared)
	return cmd
}
