package kairos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// bulkFlags are the flags of a bulk operation.
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
	f.StringVar(&b.filter, "filter", "", "select all matching runs, such as 'status:failed plan:invoice since:24h'")
	f.IntVar(&b.rate, "rate", 0, "maximum number of runs per minute; 0: no limit")
	if action == domain.ActionResume || action == domain.ActionRerun {
		f.BoolVar(&b.noCanary, "no-canary", false, "do not start with a single run as a test")
		f.StringVar(&b.provider, "provider", "", "start when this provider accepts calls again")
		f.StringVar(&b.tool, "tool", "", `start when the circuit of this tool closes, or of one host: "http api.example"`)
	}
	if action != domain.ActionAcknowledge && action != domain.ActionLabel {
		f.StringVar(&b.notBefore, "not-before", "", "start at this time: 06:00, 2h, or 2030-01-31T06:00")
	}
	cmd.Use, _, _ = strings.Cut(cmd.Use, " ")
	cmd.Use += " RUN… | --filter FILTER"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case b.filter != "" && len(args) > 0:
			return exit.Usage("use either RUN or --filter, not both")
		case b.filter == "" && len(args) == 0:
			return exit.Usage("missing argument RUN, or --filter\n  usage: %s RUN… | --filter FILTER", cmd.CommandPath())
		}
		return nil
	}
}

// requested reports whether a bulk operation is requested: several runs, or a later time.
func (b *bulkFlags) requested(args []string) bool {
	return b.filter != "" || len(args) > 1 || b.notBefore != "" || b.provider != "" || b.tool != ""
}

func (b *bulkFlags) request(action domain.Action, reason string) (r domain.BulkRequest, err error) {
	r = domain.BulkRequest{Action: action, Query: b.filter, Reason: reason, Rate: b.rate, Provider: b.provider, Tool: b.tool,
		Canary: !b.noCanary && (action == domain.ActionResume || action == domain.ActionRerun)}
	if b.notBefore != "" {
		r.NotBefore, err = cli.Moment("--not-before", b.notBefore, time.Now())
	}
	return r, err
}

// manyOptions are the options of an action on many runs.
type manyOptions struct {
	preview, detach bool
	yes             bool // a resume is confirmed
}

// many acts on named runs, or on those that a filter selects. It prints a preview first, and then
// acts on exactly the previewed runs.
func (c *program) many(cmd *cobra.Command, req domain.BulkRequest, runs []string, o manyOptions) error {
	return c.With(cmd, func(b *client.Client) error {
		ctx := cmd.Context()
		for _, name := range runs {
			r, err := command.FindRun(ctx, b, name)
			if err != nil {
				return err
			}
			req.Runs = append(req.Runs, r.ID)
		}
		p, err := b.PreviewBulk(ctx, req)
		if err != nil {
			return err
		}
		if o.preview && c.JSON {
			return c.Print(p)
		}
		c.Errorf("%s: %d of %s\n", req.Action, p.Eligible, command.Counted(p.Matching, "matching run"))
		for _, why := range slices.Sorted(maps.Keys(p.Refused)) {
			c.Errorf("  %d refused: %s\n", p.Refused[why], why)
		}
		for _, k := range p.Circuits {
			c.Errorf("  the circuit of %s is open until %s; to wait for it, add --tool %q\n", cli.FirstLine(k.Name()),
				cli.Stamp(k.OpenUntil), k.Name())
		}
		if p.Preview != nil {
			c.Errorf("the first run is %s:\n", domain.ShortID(p.First))
			c.printPreview(*p.Preview)
		}
		if o.preview {
			return nil
		}
		switch req.Action {
		case domain.ActionResume, domain.ActionRelease, domain.ActionStartNow:
			if err := c.confirmResume(o.yes, "Resume %s?", command.Counted(p.Eligible, "run")); err != nil {
				return err
			}
		}
		req.Digest = p.Digest
		act, err := b.StartBulk(ctx, req)
		if err != nil {
			return err
		}
		if !act.State.Final() && !act.NotBefore.IsZero() {
			c.Notef("operation %s starts at %s\n", act.ID, act.NotBefore.Local().Format("2006-01-02 15:04:05 MST"))
		}
		if b.InProcess() && o.detach && !act.State.Final() {
			c.Notef("the operation continues when kairosd serves this database\n")
		}
		if !o.detach {
			if act, err = c.watchBulk(ctx, b, act); err != nil {
				if ctx.Err() != nil {
					return exit.With(exit.Unavailable, fmt.Errorf("interrupted\n  show its progress: %s\n  stop it: %s",
						c.Command("operations show %s", act.ID), c.Command("operations stop %s", act.ID)))
				}
				return err
			}
		}
		if c.JSON {
			if err := c.Print(act); err != nil {
				return err
			}
		} else {
			c.Printf("operation %s is %s: %s\n", act.ID, act.State, progressOf(act))
		}
		if act.State == domain.BulkStopped {
			return exit.With(exit.Failed, domain.Errorf(domain.CodeConflict, "%s", act.Note))
		}
		return nil
	})
}

// watchBulk waits for the end of a bulk operation and of the runs that it continued, because a
// database in this process executes them only while the process runs.
func (c *program) watchBulk(ctx context.Context, b *client.Client, act apitypes.BulkOperation) (apitypes.BulkOperation, error) {
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
		if n := act.Acted + act.Refused; n != done {
			done = n
			c.Notef("  %s: %d of %d\n", act.State, n, act.Total)
		}
	}
	if !b.InProcess() || !executes(act.Action) {
		return act, nil
	}
	items, err := b.BulkItems(ctx, act.ID, "acted")
	if err != nil {
		return act, err
	}
	for _, it := range items {
		if _, err := b.Follow(ctx, cmp.Or(it.Result, it.Run), func(domain.Event) {}); err != nil {
			return act, err
		}
	}
	return act, nil
}

func addMany(cmd *cobra.Command, reason *string, preview, detach *bool) {
	cmd.Flags().StringVar(reason, "reason", "", "reason, for the audit log")
	cmd.Flags().BoolVar(preview, "preview", false, "only print a preview")
	cmd.Flags().BoolVar(detach, "detach", false, "do not wait for the operation (requires a server)")
}
