package kairos

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/filter"
)

func (c failureCommands) group() *cobra.Command {
	return command.Group("failures", "Show failed runs grouped by cause", c.listCommand, c.ackCommand(), c.unackCommand())
}

func (c failureCommands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List groups of failed runs", Args: cobra.NoArgs,
		Long: `Groups failed runs by plan, step, error code, and message, without the numbers, ids,
times, and quoted values of the message. An outage that fails 400 runs is one row, with
the command that lists its runs.`,
		Example: "  kairos failures\n  kairos resume --filter 'status:failed plan:invoice step:fetch error:timeout' --preview\n" +
			"  kairos failures ack --plan invoice --step fetch --error timeout --note \"waiting for quota\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				groups, err := b.FailureGroups(cmd.Context(), 100)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, g := range groups {
					rows = append(
						rows,
						[]string{strconv.FormatInt(g.Runs, 10), g.Code, g.Node, fmt.Sprintf("%s v%d", g.Plan.Key, g.Plan.Version),
							cli.Stamp(g.First), cli.Stamp(g.Last), c.Command("runs --filter '%s'", filterOf(g.Ref()))},
					)
				}
				return c.ListOf(append([]domain.FailureGroup{}, groups...), "",
					[]string{"RUNS", "ERROR", "STEP", "PLAN", "FIRST", "LAST", "COMMAND"}, rows, "no failures need attention")
			})
		},
	}
}

// groupFlags name a failure group.
type groupFlags struct{ ref domain.FailureRef }

func (g *groupFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&g.ref.PlanKey, "plan", "", "plan of a failure group, as kairos failures lists it")
	f.StringVar(&g.ref.Node, "step", "", "step of a failure group")
	f.StringVar(&g.ref.Code, "error", "", "error code of a failure group")
	f.StringVar(&g.ref.Fingerprint, "fingerprint", "", "only the failure group with this fingerprint")
	cmd.MarkFlagsRequiredTogether("plan", "step", "error")
}

// acknowledged prints the number of changed runs.
func (c failureCommands) acknowledged(n int64, done string) error {
	if c.JSON {
		return c.Print(map[string]any{"runs": n})
	}
	c.Printf("%d runs %s\n", n, done)
	return nil
}

func (c failureCommands) unackCommand() *cobra.Command {
	var g groupFlags
	cmd := &cobra.Command{
		Use: "unack [RUN]", Short: "Withdraw an acknowledgment", Args: cobra.MaximumNArgs(1),
		Long: `Withdraws the acknowledgment of a failed run or of a failure group. The runs need
attention again.`,
		Example: "  kairos failures unack 7qx2\n  kairos failures unack --plan invoice --step fetch --error timeout",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == (g.ref.PlanKey != "") {
				return exit.Usage("use either RUN, or --plan, --step, and --error of a failure group")
			}
			return c.With(cmd, func(b *client.Client) error {
				if len(args) == 1 {
					return c.unackRun(cmd, b, args[0])
				}
				n, err := b.UnackFailures(cmd.Context(), g.ref)
				if err != nil {
					return err
				}
				return c.acknowledged(n, "need attention again")
			})
		},
	}
	g.add(cmd)
	return cmd
}

// unackRun withdraws the acknowledgment of one run.
func (c failureCommands) unackRun(cmd *cobra.Command, b *client.Client, name string) error {
	run, err := command.FindRun(cmd.Context(), b, name)
	if err != nil {
		return err
	}
	if run, err = b.UnacknowledgeRun(cmd.Context(), run.ID); err != nil {
		return err
	}
	if c.JSON {
		return c.Print(printRun(run))
	}
	c.Printf("run %s needs attention again\n", domain.ShortID(run.ID))
	return nil
}

// filterOf returns the filter for the runs of a failure group.
func filterOf(ref domain.FailureRef) string {
	terms := []string{"status:failed", "is:attention", "plan:" + filter.Quote(ref.PlanKey), "step:" + filter.Quote(ref.Node), "error:" +
		filter.Quote(ref.Code)}
	if ref.Fingerprint != "" {
		terms = append(terms, "fingerprint:"+ref.Fingerprint)
	}
	return strings.Join(terms, " ")
}

// ackCommand acknowledges runs or a failure group.
func (c failureCommands) ackCommand() *cobra.Command {
	var flags bulkFlags
	var g groupFlags
	var reason, note, at string
	var preview, detach bool
	cmd := &cobra.Command{
		Use: "ack", Short: "Acknowledge failed runs",
		Long: `Acknowledges failed runs: they need no attention until they fail again. --note
adds a note to the runs. --resume-at resumes them at a time, if kairosd serves the
database then. With --plan, --step, and --error, it acknowledges a failure group, also
runs that fail in the same way later.`,
		Example: "  kairos failures ack 7qx2 --reason \"known, ticket 4711\"\n" +
			"  kairos failures ack 7qx2 --note \"waiting for quota\" --resume-at 06:00\n" +
			"  kairos failures ack --filter 'status:failed plan:invoice' --preview\n" +
			"  kairos failures ack --plan invoice --step fetch --error timeout --note \"waiting for quota\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if g.ref.PlanKey != "" {
				return c.With(cmd, func(b *client.Client) error {
					n, err := b.AckFailures(cmd.Context(), g.ref, cmp.Or(note, reason))
					if err != nil {
						return err
					}
					return c.acknowledged(n, "acknowledged")
				})
			}
			if note != "" || at != "" {
				if flags.filter != "" || preview || flags.rate != 0 {
					return exit.Usage("--note and --resume-at require RUN, and exclude --filter, --rate, and --preview")
				}
				return c.ackRuns(cmd, args, cmp.Or(note, reason), at)
			}
			req, err := flags.request(domain.ActionAcknowledge, reason)
			if err != nil {
				return err
			}
			return c.many(cmd, req, args, manyOptions{preview: preview, detach: detach})
		},
	}
	flags.add(cmd, domain.ActionAcknowledge)
	addMany(cmd, &reason, &preview, &detach)
	g.add(cmd)
	cmd.Use += " | --plan PLAN --step STEP --error CODE"
	runs := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if g.ref.PlanKey != "" && flags.filter == "" {
			return cobra.NoArgs(cmd, args)
		}
		return runs(cmd, args)
	}
	cmd.Flags().StringVar(&note, "note", "", "note that stays with the run")
	cmd.Flags().StringVar(&at, "resume-at", "", "resume the run at this time: 06:00, 2h, or 2030-01-31T06:00")
	cmd.MarkFlagsMutuallyExclusive("note", "reason")
	cmd.MarkFlagsMutuallyExclusive("filter", "plan")
	return cmd
}

// ackRuns acknowledges runs one by one.
func (c failureCommands) ackRuns(cmd *cobra.Command, names []string, note, at string) error {
	var resumeAt time.Time
	if at != "" {
		var err error
		if resumeAt, err = cli.Moment("--resume-at", at, time.Now()); err != nil {
			return err
		}
	}
	return c.With(cmd, func(b *client.Client) error {
		runs := make([]domain.Run, len(names))
		for i, name := range names {
			var err error
			if runs[i], err = command.FindRun(cmd.Context(), b, name); err != nil {
				return err
			}
		}
		items := []printedRun{}
		for _, r := range runs {
			r, err := b.AcknowledgeRun(cmd.Context(), r, note, resumeAt)
			if err != nil {
				return err
			}
			if items = append(items, printRun(r)); !c.JSON {
				c.Printf("run %s acknowledged\n", domain.ShortID(r.ID))
			}
		}
		if !resumeAt.IsZero() {
			c.Notef("to be resumed at %s; scheduled operations: %s\n", resumeAt.Local().Format("2006-01-02 15:04:05 MST"),
				c.Command("operations"))
			if b.InProcess() {
				c.Notef("this requires that kairosd serves the database then\n")
			}
		}
		if c.JSON {
			return c.Items(items, "")
		}
		return nil
	})
}
