package incoming

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// slotFlags are the flags of commands that run several slots.
type slotFlags struct {
	canary bool
	rate   int
	reason string
}

func (s *slotFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.canary, "canary", false, "run one slot first, and the others only if its run does not fail")
	cmd.Flags().IntVar(&s.rate, "rate", 0, "slots per minute (0: no limit)")
	cmd.Flags().StringVar(&s.reason, "reason", "", "reason, for the audit log")
}

func (c scheduleCommands) decideCommand() *cobra.Command {
	var s slotFlags
	cmd := &cobra.Command{
		Use: "decide SCHEDULE none|last|all", Short: "Decide about missed slots", Args: cobra.ExactArgs(2),
		Long: `Decides about the missed slots of a schedule: none starts no run, last runs the last slot,
and all runs each slot, oldest first. A bulk operation starts the runs.`,
		Example: "  kairos schedules decide nightly last",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				id, err := b.DecideMissed(cmd.Context(), args[0], apitypes.MissedDecision{Decision: domain.CatchUp(args[1]),
					Canary: s.canary,
					Rate:   s.rate, Reason: s.reason})
				if err != nil {
					return err
				}
				out := map[string]any{"schedule": args[0], "decision": args[1], "operation": id}
				if id == "" {
					return c.Done(out, "no missed slot of %s starts a run", args[0])
				}
				return c.Done(out, "operation %s starts the runs; show its progress: %s", id, c.Command("operations show %s", id))
			})
		},
	}
	s.add(cmd)
	return cmd
}

func (c scheduleCommands) backfillCommand() *cobra.Command {
	var s slotFlags
	from, to, preview := "", "", false
	cmd := &cobra.Command{
		Use: "backfill SCHEDULE --from TIME", Short: "Run the past slots of a range", Args: cobra.ExactArgs(1),
		Long: `Runs the past slots of a range that have no run, oldest first. Each run waits for the one
before. A bulk operation starts the runs, at most 1,000. --preview only shows how many.`,
		Example: "  kairos schedules backfill nightly --from 2030-01-01T00:00:00Z --to 2030-02-01T00:00:00Z --canary\n" +
			"  kairos schedules backfill nightly --from 7d --preview",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := apitypes.BackfillCreate{Canary: s.canary, Rate: s.rate, Reason: s.reason}
			now := time.Now()
			var err error
			if r.From, err = filter.Moment(from, now); err != nil {
				return err
			}
			if to != "" {
				if r.To, err = filter.Moment(to, now); err != nil {
					return err
				}
			}
			return c.With(cmd, func(b *client.Client) error {
				return c.backfill(cmd.Context(), b, args[0], r, preview)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "beginning of the range: 2030-01-31T06:00:00Z, or 7d before now")
	cmd.Flags().StringVar(&to, "to", "", "end of the range, exclusive (default now)")
	cmd.Flags().BoolVar(&preview, "preview", false, "only show how many slots would run")
	if err := cmd.MarkFlagRequired("from"); err != nil {
		panic(err) // the flag was added above
	}
	s.add(cmd)
	return cmd
}

// backfill previews a backfill, and then starts exactly the previewed slots.
func (c scheduleCommands) backfill(ctx context.Context, b *client.Client, schedule string, r apitypes.BackfillCreate, preview bool) error {
	p, err := b.PreviewBackfill(ctx, schedule, r)
	if err != nil {
		return err
	}
	if preview && c.JSON {
		return c.Print(p)
	}
	text := command.Counted(p.Slots, "slot")
	if p.Slots > 0 {
		text += ", " + cli.Stamp(p.First) + " to " + cli.Stamp(p.Last)
	}
	if preview {
		c.Printf("%s; %d have a run\n", text, p.Started)
		return nil
	}
	c.Notef("%s; %d have a run\n", text, p.Started)
	r.Slots = p.Slots
	act, err := b.Backfill(ctx, schedule, r)
	if err != nil {
		return err
	}
	return c.Done(act, "operation %s starts %s; show its progress: %s", act.ID, command.Counted(p.Slots, "run"),
		c.Command("operations show %s", act.ID))
}
