package kairos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
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

// bulkCommand looks after acts on many runs.
func (c *program) bulkCommand() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use: "bulk", Short: "List, show and stop acts on many runs", Args: cobra.NoArgs,
		Long: `Lists the newest acts on many runs, which are begun by a verb with --filter or with
several runs, by --not-before, --provider or --tool, or on the dashboard. They
outlast restarts of the daemon.`,
		Example: "  kairos bulk\n  kairos bulk show 01jr8k2mf0aaaaaaaaaaaa7qx2\n  kairos bulk stop 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason \"wrong filter\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(b *client.Client) error {
				list, err := b.Bulks(cmd.Context(), limit)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, a := range list {
					rows = append(rows, []string{a.ID, string(a.Action), string(a.State), fmt.Sprintf("%d of %d", a.Acted, a.Total), strconv.FormatInt(a.Refused, 10), cli.Stamp(a.CreatedAt), a.Actor, cmp.Or(a.Note, a.Query, a.Reason)})
				}
				return c.Listed(c.json, append([]domain.Bulk{}, list...), "", []string{"BULK ACT", "ACTION", "STATE", "ACTED ON", "REFUSED", "BEGUN", "BY", "ABOUT"}, rows, "there was no act on many runs")
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so many (100)")
	show := &cobra.Command{
		Use: "show BULK", Short: "Show how far an act on many runs is", Args: cobra.ExactArgs(1),
		Long:    "Shows an act on many runs, and each run of it: whether it was acted on, what came of it, and why not.",
		Example: "  kairos bulk show 01jr8k2mf0aaaaaaaaaaaa7qx2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				act, err := b.BulkAct(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				items, rows := []domain.BulkItem{}, [][]string{}
				for after := int64(0); ; {
					part, err := b.BulkItems(cmd.Context(), act.ID, after, 200)
					if err != nil {
						return err
					}
					if len(part) == 0 {
						break
					}
					items, after = append(items, part...), part[len(part)-1].Position
				}
				if c.json {
					return c.Print(struct {
						domain.Bulk
						Items []domain.BulkItem `json:"items"`
					}{act, items})
				}
				c.Printf("bulk act %s: %s, %s: %d of %d acted on, %d refused\n  begun %s by %s %s\n", act.ID, act.Action, act.State, act.Acted, act.Total, act.Refused, cli.Stamp(act.CreatedAt), cli.FirstLine(act.Actor), cli.FirstLine(act.Reason))
				for _, fact := range [][2]string{{"filter", act.Query}, {"waits for provider", act.Provider}, {"waits for tool", act.Tool}, {"note", act.Note}} {
					if fact[1] != "" {
						c.Printf("  %s: %s\n", fact[0], cli.FirstLine(fact[1]))
					}
				}
				if !act.NotBefore.IsZero() {
					c.Printf("  not before: %s\n", cli.Stamp(act.NotBefore))
				}
				for _, it := range items {
					rows = append(rows, []string{it.Run, it.State, it.Result, it.Detail})
				}
				c.Table([]string{"RUN", "STATE", "NEW RUN", "DETAIL"}, rows)
				return nil
			})
		},
	}
	reason := ""
	stop := &cobra.Command{
		Use: "stop BULK", Short: "Stop an act on many runs", Args: cobra.ExactArgs(1),
		Long:    "Stops an act on many runs: those that it has not reached stay as they are.",
		Example: "  kairos bulk stop 01jr8k2mf0aaaaaaaaaaaa7qx2 --reason \"wrong filter\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(b *client.Client) error {
				act, err := b.StopBulk(cmd.Context(), args[0], reason)
				if err != nil {
					return err
				}
				if c.json {
					return c.Print(act)
				}
				c.Printf("bulk act %s is %s: %d of %d acted on, %d refused\n", act.ID, act.State, act.Acted, act.Total, act.Refused)
				return nil
			})
		},
	}
	stop.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	cmd.AddCommand(show, stop)
	return cmd
}

// labelCommand gives runs labels.
func (c *program) labelCommand() *cobra.Command {
	var flags bulkFlags
	var reason string
	var labels []string
	var preview, detach bool
	cmd := &cobra.Command{
		Short:   "Give runs labels",
		Long:    "Gives runs labels besides those that they were started with; a label that a run has gets the new value. The label pin keeps a run from retention.",
		Example: "  kairos label 7qx2 --set ticket=4711\n  kairos label --filter 'plan:invoice since:7d' --set team=billing --set pin=yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := flags.request(domain.ActionLabel, reason)
			if err != nil {
				return err
			}
			if req.Labels, err = parseLabels(labels); err != nil {
				return err
			}
			if len(req.Labels) == 0 {
				return exit.Usage("say which labels: --set key=value")
			}
			return c.many(cmd, req, args, preview, detach)
		},
	}
	flags.add(cmd, domain.ActionLabel)
	addMany(cmd, &reason, &preview, &detach)
	cmd.Flags().StringArrayVar(&labels, "set", nil, "label key=value; may be repeated")
	return cmd
}

func addMany(cmd *cobra.Command, reason *string, preview, detach *bool) {
	cmd.Flags().StringVar(reason, "reason", "", "why, for the audit log")
	cmd.Flags().BoolVar(preview, "preview", false, "only say what would happen")
	cmd.Flags().BoolVar(detach, "detach", false, "do not wait for the end of it (with a daemon)")
}
