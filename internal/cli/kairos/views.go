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

// viewsCommand keeps names for filters of the list of runs.
func (c viewCommands) viewsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "views", Short: "List, save and remove saved views of the list of runs", Args: cobra.NoArgs,
		Long: `Lists your saved views and everybody's: names for filters of the list of runs, which
the dashboard shows above the list. "kairos runs --view NAME" lists the runs of one.`,
		Example: "  kairos views\n  kairos views save nightly 'plan:report label.env=prod since:24h'\n  kairos runs --view nightly\n  kairos views remove nightly",
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
				return c.Listed(c.json, items, "", []string{"NAME", "WHOSE", "FILTER"}, rows, "no view is saved")
			})
		},
	}
	var everybody bool
	keep := func(cmd *cobra.Command, v domain.SavedView) error {
		return c.with(cmd, func(b *client.Client) error {
			if v.Query == "" {
				list, err := b.Views(cmd.Context())
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(list, func(x domain.SavedView) bool { return x.Name == v.Name && (x.Owner == "") == everybody }) {
					return domain.Errorf(domain.CodeNotFound, "there is no view %q", v.Name).Suggest("kairos views lists them; --everybody is for those of everybody")
				}
			}
			return b.KeepView(cmd.Context(), v, everybody)
		})
	}
	save := &cobra.Command{
		Use: "save NAME FILTER", Short: "Save a view; one of the same name is replaced", Args: cobra.ExactArgs(2),
		Long:    "Saves a filter of the list of runs under a name, for yourself or with --everybody for all.",
		Example: "  kairos views save nightly 'plan:report since:24h' --everybody",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" || strings.TrimSpace(args[1]) == "" {
				return exit.Usage("a view needs a name and a filter")
			}
			if _, problem := filter.Parse(args[1], time.Now()); problem != nil {
				return problem
			}
			return keep(cmd, domain.SavedView{Name: strings.TrimSpace(args[0]), Query: args[1]})
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "Remove a saved view", Args: cobra.ExactArgs(1),
		Long:    "Removes a saved view of yours, or with --everybody one of everybody's.",
		Example: "  kairos views remove nightly",
		RunE:    func(cmd *cobra.Command, args []string) error { return keep(cmd, domain.SavedView{Name: args[0]}) },
	}
	for _, sub := range []*cobra.Command{save, remove} {
		sub.Flags().BoolVar(&everybody, "everybody", false, "everybody's view, not only yours")
		cmd.AddCommand(sub)
	}
	return cmd
}
