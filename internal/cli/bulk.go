package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
)

func (l *local) PreviewBulk(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.BulkPreview, error) {
	return l.bulk.Preview(ctx, actor, r)
}
func (l *local) StartBulk(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.Bulk, error) {
	return l.bulk.Start(ctx, actor, r)
}
func (l *local) BulkAct(ctx context.Context, id string) (kairos.Bulk, error) {
	return l.bulk.Bulk(ctx, id)
}
func (l *local) BulkItems(ctx context.Context, id string, after int64, limit int) ([]kairos.BulkItem, error) {
	return l.bulk.Items(ctx, id, after, limit)
}
func (l *local) AckFailures(ctx context.Context, actor kairos.Actor, ref kairos.FailureRef, note string) (int64, error) {
	return l.store.AckFailures(ctx, actor, ref, note)
}
func (l *local) FailureGroups(ctx context.Context, limit int) ([]kairos.FailureGroup, error) {
	return l.store.FailureGroups(ctx, limit)
}

// bulkFlags are those with which a verb acts on many runs.
type bulkFlags struct {
	filter   string
	rate     int
	noCanary bool
}

func (b *bulkFlags) add(cmd *cobra.Command, action kairos.Action) {
	f := cmd.Flags()
	f.StringVar(&b.filter, "filter", "", `act on every run that matches, like 'status:failed plan:invoice since:24h', instead of one`)
	f.IntVar(&b.rate, "rate", 0, "with --filter: runs per minute; 0: as fast as it goes")
	if action == kairos.ActionResume || action == kairos.ActionRerun {
		f.BoolVar(&b.noCanary, "no-canary", false, "with --filter: do not try one run first")
	}
	cmd.Use += " | --filter FILTER"
	one := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if b.filter != "" {
			return cobra.NoArgs(cmd, args)
		}
		return one(cmd, args)
	}
}

// bulk acts on many runs: what would happen is printed first, and what was
// previewed is what is done.
func (c *app) bulk(cmd *cobra.Command, action kairos.Action, flags bulkFlags, reason string, previewOnly, detach bool) error {
	return c.with(cmd, func(b backend) error {
		ctx := cmd.Context()
		req := kairos.BulkRequest{Action: action, Query: flags.filter, Reason: reason, Rate: flags.rate,
			Canary: !flags.noCanary && (action == kairos.ActionResume || action == kairos.ActionRerun)}
		p, err := b.PreviewBulk(ctx, c.actor(), req)
		if err != nil {
			return err
		}
		if previewOnly && c.json {
			return c.print(p)
		}
		c.errorf("%s: %d of %d matching runs\n", action, p.Eligible, p.Matching)
		for _, why := range slices.Sorted(maps.Keys(p.Refused)) {
			c.errorf("  not %d: %s\n", p.Refused[why], why)
		}
		if p.Preview != nil {
			c.errorf("the first, %s, ", kairos.ShortID(p.First))
			c.preview(*p.Preview)
		}
		if previewOnly {
			return nil
		}
		req.Digest = p.Digest
		act, err := b.StartBulk(ctx, c.actor(), req)
		if err != nil {
			return err
		}
		if !detach {
			if act, err = c.watchBulk(ctx, b, act); err != nil {
				return err
			}
		}
		if c.json {
			if err := c.print(act); err != nil {
				return err
			}
		} else {
			c.printf("bulk act %s is %s: %d of %d acted on, %d refused\n", act.ID, act.State, act.Acted, act.Total, act.Refused)
		}
		if act.State == kairos.BulkStopped {
			return &exit{1, kairos.Errorf(kairos.CodeConflict, "%s", act.Note)}
		}
		return nil
	})
}

// watchBulk waits for the end of a bulk act and of the runs that it set going: a
// database in this process executes them only as long as the process lives.
func (c *app) watchBulk(ctx context.Context, b backend, act kairos.Bulk) (kairos.Bulk, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for done := int64(-1); !act.State.Final(); {
		select {
		case <-ctx.Done():
			return act, context.Cause(ctx)
		case <-tick.C:
		}
		var err error
		if act, err = b.BulkAct(ctx, act.ID); err != nil {
			return act, err
		}
		if n := act.Acted + act.Refused; n != done && !c.json {
			done = n
			c.errorf("  %s: %d of %d\n", act.State, n, act.Total)
		}
	}
	if _, here := b.(*local); !here || act.Action == kairos.ActionDelete || act.Action == kairos.ActionCancel || act.Action == kairos.ActionPause {
		return act, nil
	}
	for after := int64(0); ; {
		items, err := b.BulkItems(ctx, act.ID, after, 200)
		if err != nil || len(items) == 0 {
			return act, err
		}
		for _, it := range items {
			after = it.Position
			if it.State != "acted" {
				continue
			}
			run := it.Run
			if it.Result != "" {
				run = it.Result
			}
			if _, err := b.Wait(ctx, run); err != nil {
				return act, err
			}
		}
	}
}

func (c *app) failuresCommand() *cobra.Command {
	cmd := c.failureList()
	note := ""
	ack := &cobra.Command{
		Use: "ack PLAN NODE CODE", Short: "Take note of failures: they need attention no more until they come anew", Args: cobra.ExactArgs(3),
		Example: "  kairos failures ack invoice fetch timeout --note 'waiting for quota, resume after 06:00'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b backend) error {
				n, err := b.AckFailures(cmd.Context(), c.actor(), kairos.FailureRef{PlanKey: args[0], Node: args[1], Code: args[2]}, note)
				if err != nil {
					return err
				}
				if c.json {
					return c.print(map[string]any{"runs": n})
				}
				c.printf("%d runs need attention no more\n", n)
				return nil
			})
		},
	}
	ack.Flags().StringVar(&note, "note", "", "for whoever looks next")
	cmd.AddCommand(ack)
	return cmd
}

func (c *app) failureList() *cobra.Command {
	return &cobra.Command{
		Use: "failures", Short: "List failed runs by what failed", Args: cobra.NoArgs,
		Long:    "Groups failed runs by plan, node and error code: an outage that fails 400 runs is one line, with the filter that selects them.",
		Example: "  kairos failures\n  kairos resume --filter 'status:failed plan:invoice node:fetch error:timeout' --preview",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b backend) error {
				groups, err := b.FailureGroups(cmd.Context(), 100)
				if err != nil {
					return err
				}
				if c.json {
					if groups == nil {
						groups = []kairos.FailureGroup{}
					}
					return c.print(map[string]any{"items": groups})
				}
				for _, g := range groups {
					c.printf("%6d  %s at %s · %s v%d · %s to %s  %s\n", g.Runs, g.Code, g.Node, g.PlanKey, g.Version, g.First.Format(time.DateTime), g.Last.Format(time.DateTime),
						fmt.Sprintf("--filter 'status:failed is:attention plan:%s step:%s error:%s'", g.PlanKey, g.Node, g.Code))
				}
				return nil
			})
		},
	}
}
