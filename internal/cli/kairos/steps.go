package kairos

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

// listFlags are those of lists that go on where they ended.
type listFlags struct {
	limit  int
	cursor string
}

func (l *listFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&l.limit, "limit", 50, "at most so many (200)")
	cmd.Flags().StringVar(&l.cursor, "cursor", "", "go on where a list ended")
	cmd.PreRunE = func(*cobra.Command, []string) error { return l.check() }
}

func (l *listFlags) check() error {
	if l.limit < 1 || l.limit > 200 {
		return exit.Usage("--limit takes 1 to 200; --cursor goes on where a list ended")
	}
	return nil
}

func (l *listFlags) page() domain.Page { return domain.Page{Limit: l.limit, After: l.cursor} }

// took is a duration as people read it.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// stepsCommand searches attempts of steps across runs (R28).
func (c *program) stepsCommand() *cobra.Command {
	var l listFlags
	sort := ""
	cmd := &cobra.Command{
		Use: "steps [FILTER]", Short: "Search steps across runs",
		Long: `Searches attempts of steps in all runs, newest runs first: which step fails, which
is slow. The filter has the grammar of the dashboard's page: plan: v: node: status:
error: took: attempt: since: until:, with commas for "one of". --sort took lists the
longest of those that were looked at. A search looks as far as a bound of time leads;
--cursor goes on from there.`,
		Example: "  kairos steps status:failed since:24h\n  kairos steps plan:invoice node:fetch 'took:>5s' --sort took\n  kairos steps 'attempt:>1' --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.Join(args, " ")
			f, problem := filter.ParseSteps(query, time.Now())
			if problem != nil {
				return problem
			}
			if sort != "" && sort != "took" {
				return exit.Usage("--sort %q is unknown (took)", sort)
			}
			f.Query, f.Page, f.Slowest = query, l.page(), sort == "took"
			return c.with(cmd, func(b *client.Client) error {
				hits, err := b.Steps(cmd.Context(), f)
				if err != nil {
					return err
				}
				items, rows := []domain.StepHitView{}, [][]string{}
				for _, h := range hits.Items {
					items = append(items, domain.ViewStepHit(h))
					node := step(domain.PreviewStep{Node: h.Node, Visit: h.Visit})
					if h.Item >= 0 {
						node += "[" + strconv.Itoa(h.Item) + "]"
					}
					rows = append(rows, []string{cli.Stamp(h.At), domain.ShortID(h.Run), h.PlanKey + " v" + strconv.Itoa(h.Version), node, strconv.Itoa(h.Attempt), string(h.Status), took(h.Took()),
						strings.TrimSpace(h.Code + " " + h.Message)})
				}
				return c.Listed(c.json, items, hits.Next, []string{"ENDED", "RUN", "PLAN", "STEP", "TRY", "STATUS", "TOOK", "ERROR"}, rows, "no step matches")
			})
		},
	}
	l.add(cmd)
	cmd.Flags().StringVar(&sort, "sort", "", "took: the longest first")
	return cmd
}

// handoffsCommand says which agent gave what to which.
func (c *program) handoffsCommand() *cobra.Command {
	var l listFlags
	cmd := &cobra.Command{
		Use: "handoffs [FILTER]", Short: "List handoffs: which agent gave what to which",
		Long: `Lists handoffs of all runs, newest first, and what came of each. The filter has the
grammar of the dashboard's page: from: to: plan: status:open|returned|failed since:
until:. "kairos handoffs show RUN" prints the handoffs of one run with all that was
passed on.`,
		Example: "  kairos handoffs since:24h\n  kairos handoffs from:triage to:billing status:failed\n  kairos handoffs show 7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.Join(args, " ")
			f, problem := filter.ParseHandoffs(query, time.Now())
			if problem != nil {
				return problem
			}
			f.Query, f.Page = query, l.page()
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.HandoffsOf(cmd.Context(), f)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, h := range list.Items {
					rows = append(rows, []string{cli.Stamp(h.At), domain.ShortID(h.Run), h.Plan, h.From + " → " + h.To, h.Reason, h.Status, h.Context})
				}
				return c.Listed(c.json, append([]domain.HandoffSeen{}, list.Items...), list.Next, []string{"AT", "RUN", "PLAN", "FROM → TO", "REASON", "STATUS", "CONTEXT"}, rows, "no handoff matches")
			})
		},
	}
	l.add(cmd)
	show := &cobra.Command{
		Use: "show RUN", Short: "Print the handoffs of a run with what was passed on", Args: cobra.ExactArgs(1),
		Long:    "Prints the handoffs of one run in order, each with its step, its reason and the whole context that was passed on.",
		Example: "  kairos handoffs show 7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				r, err := findRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				said, err := b.Conversation(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"items": append([]domain.Handoff{}, said.Handoffs...)})
				}
				for _, h := range said.Handoffs {
					c.Printf("%s  %s → %s  at %s  %s\n", cli.Stamp(h.At), cli.FirstLine(h.From), cli.FirstLine(h.To), cmp.Or(h.Node, "-"), h.Reason)
					for line := range strings.Lines(h.Context) {
						c.Printf("  %s\n", cli.FirstLine(line))
					}
				}
				if len(said.Handoffs) == 0 {
					c.Errorf("run %s has no handoffs\n", domain.ShortID(r.ID))
				}
				return nil
			})
		},
	}
	cmd.AddCommand(show)
	return cmd
}

// viewsCommand keeps names for filters of the list of runs.
func (c *program) viewsCommand() *cobra.Command {
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
