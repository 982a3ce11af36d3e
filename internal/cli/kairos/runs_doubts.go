package kairos

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// doubtsMost is the maximum number of steps in doubt that one command resolves.
const doubtsMost = 1000

// doubtsCommand lists steps in doubt, and resolves those of one step together.
func (c runCommands) doubtsCommand() *cobra.Command {
	var l command.ListFlags
	var f domain.DoubtFilter
	cmd := &cobra.Command{
		Use: "doubts", Short: "List steps in doubt", Args: cobra.NoArgs,
		Long: `Lists steps in doubt: their outcome is unknown, for example after a crash or a lost
connection. Check the other system with the idempotency key. "kairos runs doubts
resolve" resolves the steps of several runs together, and "kairos runs resolve" one.`,
		Example: "  kairos runs doubts\n  kairos runs doubts --plan invoice --step post_ledger --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Page = l.Page()
			return c.With(cmd, func(b *client.Client) error {
				list, err := b.Doubts(cmd.Context(), f)
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, d := range list.Items {
					rows = append(rows, []string{domain.ShortID(d.Run), d.Plan.Key, doubtLabel(d), strconv.Itoa(d.Attempt),
						cli.Stamp(d.StartedAt), d.IdempotencyKey, command.ValueLine(d.Input)})
				}
				return c.ListOf(append([]apitypes.Doubt{}, list.Items...), list.Next,
					[]string{"RUN", "PLAN", "STEP", "ATTEMPT", "STARTED", "IDEMPOTENCY KEY", "INPUT"}, rows, "no step is in doubt")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&f.Plan, "plan", "", "only runs of this plan")
	cmd.Flags().StringVar(&f.Node, "step", "", "only this step")
	cmd.AddCommand(c.resolveDoubtsCommand())
	return cmd
}

// doubtLabel is the step of a doubt, with its iteration and item.
func doubtLabel(d apitypes.Doubt) string {
	label := d.Node
	if d.Visit > 1 {
		label += "#" + strconv.Itoa(d.Visit)
	}
	if d.Item >= 0 {
		label += "[" + strconv.Itoa(d.Item) + "]"
	}
	return label
}

// resolveDoubtsCommand gives the same answer to all doubts of one step.
func (c runCommands) resolveDoubtsCommand() *cobra.Command {
	var o outcomeFlags
	yes := false
	cmd := &cobra.Command{
		Use: "resolve PLAN STEP", Short: "Resolve all doubts of one step", Args: cobra.ExactArgs(2),
		Long: `Resolves a step of a plan in all runs in which it is in doubt, with the same outcome. The
runs continue. With a server, the command does not wait for them. On a terminal, it
requires a confirmation.`,
		Example: "  kairos runs doubts resolve invoice post_ledger --retry --reason \"the ledger was down\"\n" +
			"  kairos runs doubts resolve invoice post_ledger --happened '{\"ok\": true}' --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := o.request(c.program, cmd)
			if err != nil {
				return err
			}
			return c.With(cmd, func(b *client.Client) error {
				list, err := allDoubts(cmd.Context(), b, domain.DoubtFilter{Plan: args[0], Node: args[1]})
				if err != nil {
					return err
				}
				if len(list) == 0 {
					return domain.Errorf(domain.CodeNotFound, "step %s of plan %s is not in doubt in any run", args[1], args[0]).
						Suggest("list steps in doubt: %s", c.Command("runs doubts"))
				}
				for _, d := range list {
					c.Notef("%s  %s  %s\n", domain.ShortID(d.Run), doubtLabel(d), d.IdempotencyKey)
				}
				if !yes && c.Interactive {
					if err := c.Confirm("Resolve %s in doubt?", command.Counted(len(list), "step")); err != nil {
						return err
					}
				}
				return c.resolveAll(cmd.Context(), b, list, req)
			})
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// allDoubts reads all doubts that a filter selects, up to a limit.
func allDoubts(ctx context.Context, b *client.Client, f domain.DoubtFilter) (out []apitypes.Doubt, err error) {
	f.Page.Limit = 200
	for {
		list, err := b.Doubts(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, list.Items...)
		if len(out) > doubtsMost {
			return nil, domain.Errorf(domain.CodeConflict, "more than %d steps are in doubt", doubtsMost).
				Suggest("resolve some of them first: kairos runs resolve RUN STEP")
		}
		if list.Next == "" {
			return out, nil
		}
		f.Page.After = list.Next
	}
}

// resolveAll resolves doubts one after the other. If one is refused, it continues with the others.
func (c runCommands) resolveAll(ctx context.Context, b *client.Client, list []apitypes.Doubt, req domain.ResolveRequest) error {
	type resolved struct {
		Run   string `json:"run"`
		Step  string `json:"step"`
		Error string `json:"error,omitempty"`
	}
	var out []resolved
	failed := 0
	for _, d := range list {
		one := req
		one.Run, one.Node, one.Visit, one.Item, one.Attempt = d.Run, d.Node, d.Visit, d.Item, d.Attempt
		r := resolved{Run: d.Run, Step: doubtLabel(d)}
		_, err := b.Resolve(ctx, one)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed++
			r.Error = err.Error()
			if !c.JSON {
				c.Errorf("%s  %s: %s\n", domain.ShortID(d.Run), r.Step, err)
			}
		case !c.JSON:
			c.Printf("%s  %s resolved: %s\n", domain.ShortID(d.Run), r.Step, req.Action)
		}
		out = append(out, r)
	}
	if b.InProcess() { // this process executes the runs
		for _, r := range out {
			if _, err := b.Follow(ctx, r.Run, func(domain.Event) {}); r.Error == "" && err != nil {
				return err
			}
		}
	}
	if c.JSON {
		if err := c.Items(out, ""); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &exit.Status{Code: exit.Failed, Err: fmt.Errorf("%d of %d steps were not resolved", failed, len(list))}
	}
	return nil
}

// outcomeFlags are the flags with the outcome of a step in doubt.
type outcomeFlags struct {
	happened, reason  string
	retry, skip, fail bool
}

func (o *outcomeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.happened, "happened", "", "the step happened, with this output as JSON, or @FILE")
	f.BoolVar(&o.retry, "retry", false, "the step did not happen: run it again")
	f.BoolVar(&o.skip, "skip", false, "skip the step")
	f.BoolVar(&o.fail, "fail", false, "fail the step")
	f.StringVar(&o.reason, "reason", "", "reason, for the audit log")
}

// request returns the outcome in the flags.
func (o *outcomeFlags) request(c *program, cmd *cobra.Command) (req domain.ResolveRequest, err error) {
	req.Reason = o.reason
	given := 0
	for _, f := range []struct {
		set    bool
		action string
	}{{cmd.Flags().Changed("happened"), "happened"}, {o.retry, "retry"}, {o.skip, "skip"}, {o.fail, "fail"}} {
		if f.set {
			given++
			req.Action = f.action
		}
	}
	if given != 1 {
		return req, exit.Usage("use exactly one of --happened JSON, --retry, --skip, and --fail")
	}
	if req.Action == "happened" {
		req.Output, err = c.JSONArgument("--happened", o.happened)
	}
	return req, err
}
