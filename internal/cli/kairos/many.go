package kairos

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// bulkFlags are those with which a verb acts on many runs, or on some later.
type bulkFlags struct {
	filter    string
	rate      int
	noCanary  bool
	notBefore string
	provider  string
	tool      string
}

func (b *bulkFlags) add(cmd *cobra.Command, action domain.Action) {
	f := cmd.Flags()
	f.StringVar(&b.filter, "filter", "", `act on every run that matches, like 'status:failed plan:invoice since:24h', instead of those named`)
	f.IntVar(&b.rate, "rate", 0, "with many runs: so many per minute; 0: as fast as it goes")
	if action == domain.ActionResume || action == domain.ActionRerun {
		f.BoolVar(&b.noCanary, "no-canary", false, "with many runs: do not try one first")
		f.StringVar(&b.provider, "provider", "", "begin when this provider takes calls again")
		f.StringVar(&b.tool, "tool", "", `begin when the circuit of this tool lets calls through, or of one host: "http api.example"`)
	}
	if action != domain.ActionAck && action != domain.ActionLabel {
		f.StringVar(&b.notBefore, "not-before", "", "begin at this time: 06:00, 2h, or 2030-01-31T06:00")
	}
	cmd.Use = string(action) + " RUN… | --filter FILTER"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case b.filter != "" && len(args) > 0:
			return exit.Usage("%s takes runs or --filter, not both", cmd.Name())
		case b.filter == "" && len(args) == 0:
			return exit.Usage("%s needs at least one run, or --filter\n  kairos runs lists runs", cmd.Name())
		}
		return nil
	}
}

// asked reports whether more than one run is meant, or another time than now.
func (b *bulkFlags) asked(args []string) bool {
	return b.filter != "" || len(args) > 1 || b.notBefore != "" || b.provider != "" || b.tool != ""
}

func (b *bulkFlags) request(action domain.Action, reason string) (r domain.BulkRequest, err error) {
	r = domain.BulkRequest{Action: action, Query: b.filter, Reason: reason, Rate: b.rate, Provider: b.provider, Tool: b.tool,
		Canary: !b.noCanary && (action == domain.ActionResume || action == domain.ActionRerun)}
	if b.notBefore != "" {
		r.NotBefore, err = moment("--not-before", b.notBefore, time.Now())
	}
	return r, err
}

// many acts on the runs that are named or that a filter selects: what would happen
// is printed first, and what was previewed is what is done.
func (c *program) many(cmd *cobra.Command, req domain.BulkRequest, runs []string, previewOnly, detach bool) error {
	return c.with(cmd, func(b *client.Client) error {
		ctx := cmd.Context()
		for _, name := range runs {
			r, err := findRun(ctx, b, name)
			if err != nil {
				return err
			}
			req.Runs = append(req.Runs, r.ID)
		}
		p, err := b.PreviewBulk(ctx, req)
		if err != nil {
			return err
		}
		if previewOnly && c.json {
			return c.Print(p)
		}
		c.Errorf("%s: %d of %d matching runs\n", req.Action, p.Eligible, p.Matching)
		for _, why := range slices.Sorted(maps.Keys(p.Refused)) {
			c.Errorf("  not %d: %s\n", p.Refused[why], why)
		}
		for _, k := range p.Circuits {
			c.Errorf("  the circuit of %s is open, its calls are refused until %s; wait for it with --tool %q\n", cli.FirstLine(k.Name()), cli.Stamp(k.OpenUntil), k.Name())
		}
		if p.Preview != nil {
			c.Errorf("the first, %s, ", domain.ShortID(p.First))
			c.preview(*p.Preview)
		}
		if previewOnly {
			return nil
		}
		req.Digest = p.Digest
		act, err := b.StartBulk(ctx, req)
		if err != nil {
			return err
		}
		if !act.State.Final() && !act.NotBefore.IsZero() {
			c.Errorf("bulk act %s begins at %s\n", act.ID, act.NotBefore.Local().Format("2006-01-02 15:04:05 MST"))
		}
		if b.InProcess() && detach && !act.State.Final() {
			c.Errorf("it goes on when a daemon serves this database\n")
		}
		if !detach {
			if act, err = c.watchBulk(ctx, b, act); err != nil {
				if ctx.Err() != nil {
					return exit.With(exit.Unavailable, fmt.Errorf("interrupted; kairos bulk show %s says how far it is, kairos bulk stop %s ends it", act.ID, act.ID))
				}
				return err
			}
		}
		if c.json {
			if err := c.Print(act); err != nil {
				return err
			}
		} else {
			c.Printf("bulk act %s is %s: %d of %d acted on, %d refused\n", act.ID, act.State, act.Acted, act.Total, act.Refused)
		}
		if act.State == domain.BulkStopped {
			return exit.With(exit.Failed, domain.Errorf(domain.CodeConflict, "%s", act.Note))
		}
		return nil
	})
}

// watchBulk waits for the end of a bulk act and of the runs that it set going: a
// database in this process executes them only as long as the process lives.
func (c *program) watchBulk(ctx context.Context, b *client.Client, act domain.Bulk) (domain.Bulk, error) {
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
			c.Errorf("  %s: %d of %d\n", act.State, n, act.Total)
		}
	}
	if !b.InProcess() || !executes(act.Action) {
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
			if _, err := b.Follow(ctx, run, func(domain.Event) {}); err != nil {
				return act, err
			}
		}
	}
}

func addMany(cmd *cobra.Command, reason *string, preview, detach *bool) {
	cmd.Flags().StringVar(reason, "reason", "", "why, for the audit log")
	cmd.Flags().BoolVar(preview, "preview", false, "only say what would happen")
	cmd.Flags().BoolVar(detach, "detach", false, "do not wait for the end of it (with a daemon)")
}
