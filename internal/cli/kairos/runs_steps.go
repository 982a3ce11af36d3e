package kairos

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

// stepsCommand searches attempts of steps across runs.
func (c runCommands) stepsCommand() *cobra.Command {
	var l command.ListFlags
	sort := ""
	cmd := &cobra.Command{
		Use: "steps [FILTER]", Short: "Search steps across runs",
		Long: `Searches attempts of steps in all runs, newest runs first. The filter takes the terms
plan: v: node: status: error: took: attempt: since: until:. A comma means "one of".
--sort took lists the slowest attempts first. A search reads a limited number of
attempts; --cursor continues it.`,
		Example: "  kairos runs steps status:failed since:24h\n  kairos runs steps plan:invoice node:fetch 'took:>5s' --sort took\n" +
			"  kairos runs steps 'attempt:>1' --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.Join(args, " ")
			f, problem := filter.ParseSteps(query, time.Now())
			if problem != nil {
				return problem
			}
			if sort != "" && sort != "took" {
				return exit.Usage("unknown --sort %q\n  use took", sort)
			}
			f.Query, f.Page, f.Slowest = query, l.Page(), sort == "took"
			return c.With(cmd, func(b *client.Client) error {
				hits, err := b.Steps(cmd.Context(), f)
				if err != nil {
					return err
				}
				items, rows := []apitypes.StepAttempt{}, [][]string{}
				for _, h := range hits.Items {
					items, rows = append(items, apitypes.StepAttemptOf(h)), append(rows, stepRow(h))
				}
				return c.ListOf(items, hits.Next, []string{"ENDED", "RUN", "PLAN", "STEP", "ATTEMPT", "STATUS", "DURATION", "ERROR"}, rows,
					"no steps found")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&sort, "sort", "", "took: the slowest first")
	return cmd
}

func stepRow(h domain.StepHit) []string {
	node := step(domain.PreviewStep{Node: h.Node, Visit: h.Visit})
	if h.Item >= 0 {
		node += "[" + strconv.Itoa(h.Item) + "]"
	}
	return []string{cli.Stamp(h.At), domain.ShortID(h.Run), h.PlanKey + " v" + strconv.Itoa(h.Version), node,
		strconv.Itoa(h.Attempt), string(h.Status), cli.Took(h.Took()), strings.TrimSpace(h.Code + " " + h.Message)}
}

// handoffsCommand lists handoffs between agents.
func (c runCommands) handoffsCommand() *cobra.Command {
	var l command.ListFlags
	cmd := &cobra.Command{
		Use: "handoffs [FILTER]", Short: "List agent handoffs",
		Long: `Lists the handoffs between agents of all runs, newest first. The filter takes the terms
from: to: plan: status:open|returned|failed since: until:.
"kairos runs handoffs show RUN" prints the handoffs of one run with their context.`,
		Example: "  kairos runs handoffs since:24h\n  kairos runs handoffs from:triage to:billing status:failed\n" +
			"  kairos runs handoffs show 7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			query := strings.Join(args, " ")
			f, problem := filter.ParseHandoffs(query, time.Now())
			if problem != nil {
				return problem
			}
			f.Query, f.Page = query, l.Page()
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.HandoffsOf(cmd.Context(), f)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, h := range list.Items {
					rows = append(
						rows,
						[]string{cli.Stamp(h.At), domain.ShortID(h.Run), h.Plan.Key, h.From + " → " + h.To, h.Reason, h.Status,
							h.Context},
					)
				}
				return c.ListOf(append([]domain.HandoffSummary{}, list.Items...), list.Next,
					[]string{"AT", "RUN", "PLAN", "FROM → TO", "REASON", "STATUS", "CONTEXT"}, rows, "no handoffs found")
			})
		},
	}
	l.Add(cmd)
	show := &cobra.Command{
		Use: "show RUN", Short: "Show the handoffs of a run", Args: cobra.ExactArgs(1),
		Long:    "Prints the handoffs of one run in order, each with its step, its reason, and its whole context.",
		Example: "  kairos runs handoffs show 7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				handoffs, err := b.RunHandoffs(cmd.Context(), r.ID)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Items(append([]domain.Handoff{}, handoffs...), "")
				}
				c.printHandoffs(handoffs)
				if len(handoffs) == 0 {
					c.Errorf("run %s has no handoffs\n", domain.ShortID(r.ID))
				}
				return nil
			})
		},
	}
	cmd.AddCommand(show)
	return cmd
}

func (c runCommands) printHandoffs(list []domain.Handoff) {
	for _, h := range list {
		c.Printf("%s  %s → %s  at %s  %s\n", cli.Stamp(h.At), cli.FirstLine(h.From), cli.FirstLine(h.To), cmp.Or(h.Node, "-"), h.Reason)
		for line := range strings.Lines(h.Context) {
			c.Printf("  %s\n", cli.FirstLine(line))
		}
	}
}
