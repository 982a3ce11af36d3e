package kairos

import (
	"cmp"
	"fmt"
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

// failuresCommand shows failed runs by what failed, and takes note of them.
func (c failureCommands) failuresCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "failures", Short: "List failed runs by what failed", Args: cobra.NoArgs,
		Long:    "Groups failed runs by plan, node, error code and message (numbers, ids, times and quoted values aside): an outage that fails 400 runs is one line, with the filter that selects them.",
		Example: "  kairos failures\n  kairos resume --filter 'status:failed plan:invoice step:fetch error:timeout' --preview\n  kairos failures ack invoice fetch timeout --note \"waiting for quota\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b *client.Client) error {
				groups, err := b.FailureGroups(cmd.Context(), 100)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"items": append([]domain.FailureGroup{}, groups...)})
				}
				rows := [][]string{}
				for _, g := range groups {
					rows = append(rows, []string{strconv.FormatInt(g.Runs, 10), g.Code, g.Node, fmt.Sprintf("%s v%d", g.PlanKey, g.Version), cli.Stamp(g.First), cli.Stamp(g.Last), "--filter '" + filterOf(g.Ref()) + "'"})
				}
				c.Table([]string{"RUNS", "ERROR", "STEP", "PLAN", "FIRST", "LAST", "THEM"}, rows)
				if len(rows) == 0 {
					c.Errorf("no failure needs attention\n")
				}
				return nil
			})
		},
	}
	note := ""
	ack := c.failureAct("ack", "Take note of failures: they need attention no more until they come anew",
		"  kairos failures ack invoice fetch timeout --note 'waiting for quota, resume after 06:00'", "need attention no more",
		func(cmd *cobra.Command, b *client.Client, ref domain.FailureRef) (int64, error) {
			return b.AckFailures(cmd.Context(), ref, note)
		})
	ack.Flags().StringVar(&note, "note", "", "for whoever looks next")
	unack := c.failureAct("unack", "Take an acknowledgement of failures back", "  kairos failures unack invoice fetch timeout", "need attention again",
		func(cmd *cobra.Command, b *client.Client, ref domain.FailureRef) (int64, error) {
			return b.UnackFailures(cmd.Context(), ref)
		})
	cmd.AddCommand(ack, unack)
	return cmd
}

func (c failureCommands) failureAct(use, short, example, done string, act func(*cobra.Command, *client.Client, domain.FailureRef) (int64, error)) *cobra.Command {
	fingerprint := ""
	cmd := &cobra.Command{
		Use: use + " PLAN STEP ERROR", Short: short, Args: cobra.ExactArgs(3), Long: short + ". PLAN, STEP and ERROR are what \"kairos failures\" lists.", Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				n, err := act(cmd, b, domain.FailureRef{PlanKey: args[0], Node: args[1], Code: args[2], Fingerprint: fingerprint})
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(map[string]any{"runs": n})
				}
				c.Printf("%d runs %s\n", n, done)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&fingerprint, "fingerprint", "", "only the failure group with this fingerprint; default: all with this plan, step, and code")
	return cmd
}

// filterOf selects the runs of a group of failures.
func filterOf(ref domain.FailureRef) string {
	terms := []string{"status:failed", "is:attention", "plan:" + filter.Quote(ref.PlanKey), "step:" + filter.Quote(ref.Node), "error:" + filter.Quote(ref.Code)}
	if ref.Fingerprint != "" {
		terms = append(terms, "fingerprint:"+ref.Fingerprint)
	}
	return strings.Join(terms, " ")
}

// ackCommand takes note of failed runs.
func (c failureCommands) ackCommand() *cobra.Command {
	var flags bulkFlags
	var reason, note, at string
	var preview, detach bool
	cmd := &cobra.Command{
		Short: "Take note of failed runs",
		Long: `Takes note of failed runs: they need attention no more, until they fail anew.
--note leaves a word with the run for whoever looks next, --resume-at has it resumed
at a time (by the daemon that serves the database then).
"kairos failures ack" does so for all runs that failed in one way, also those to come.`,
		Example: "  kairos ack 7qx2 --reason \"known, ticket 4711\"\n  kairos ack 7qx2 --note \"waiting for quota\" --resume-at 06:00\n  kairos ack --filter 'status:failed plan:invoice' --preview",
		RunE: func(cmd *cobra.Command, args []string) error {
			if note != "" || at != "" {
				if flags.filter != "" || preview || flags.rate != 0 {
					return exit.Usage("--note and --resume-at are for runs that are named, not with --filter, --rate or --preview")
				}
				return c.ackRuns(cmd, args, cmp.Or(note, reason), at)
			}
			req, err := flags.request(domain.ActionAck, reason)
			if err != nil {
				return err
			}
			return c.many(cmd, req, args, preview, detach)
		},
	}
	flags.add(cmd, domain.ActionAck)
	addMany(cmd, &reason, &preview, &detach)
	cmd.Flags().StringVar(&note, "note", "", "for whoever looks next; it stays with the run")
	cmd.Flags().StringVar(&at, "resume-at", "", "resume the run at this time: 06:00, 2h, or 2030-01-31T06:00")
	cmd.MarkFlagsMutuallyExclusive("note", "reason")
	return cmd
}

// ackRuns takes note of runs one by one.
func (c failureCommands) ackRuns(cmd *cobra.Command, names []string, note, at string) error {
	var resumeAt time.Time
	if at != "" {
		var err error
		if resumeAt, err = moment("--resume-at", at, time.Now()); err != nil {
			return err
		}
	}
	return c.with(cmd, func(b *client.Client) error {
		runs := make([]domain.Run, len(names))
		for i, name := range names {
			var err error
			if runs[i], err = findRun(cmd.Context(), b, name); err != nil {
				return err
			}
		}
		items := []domain.RunView{}
		for _, r := range runs {
			r, err := b.TakeNote(cmd.Context(), r, note, resumeAt)
			if err != nil {
				return err
			}
			if items = append(items, domain.ViewRun(r)); !c.json {
				c.Printf("run %s needs attention no more\n", domain.ShortID(r.ID))
			}
		}
		if !resumeAt.IsZero() {
			c.Errorf("resumed at %s; kairos bulk lists what is to come\n", resumeAt.Local().Format("2006-01-02 15:04:05 MST"))
			if b.InProcess() {
				c.Errorf("it goes on when a daemon serves this database\n")
			}
		}
		if c.json {
			return c.Print(map[string]any{"items": items})
		}
		return nil
	})
}
