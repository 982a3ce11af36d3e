package kairos

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

// limitsCommand changes the limits of a run.
func (c runCommands) limitsCommand() *cobra.Command {
	req := domain.ActionRequest{Action: domain.ActionLimits}
	detach, asked := false, map[string]*string{}
	cmd := &cobra.Command{
		Use: "limits RUN", Short: "Change a run's limits", Args: cobra.ExactArgs(1),
		Long: `Changes the limits of a run. A number replaces a limit. A number with a plus sign is
added to it. A run that waits for budget continues where it stopped. A limit
below what the run has used is rejected.`,
		Example: "  kairos runs limits 7qx2 --max-tokens +5000\n" +
			"  kairos runs limits 7qx2 --max-tokens 200000 --reason \"the customer agreed\"\n" +
			"  kairos runs limits 7qx2 --max-duration 2h --max-cost 5",
		RunE: func(cmd *cobra.Command, args []string) error {
			for flag, text := range asked {
				if err := limitOf(&req, flag, *text); err != nil {
					return err
				}
			}
			if req.Limits == (domain.Limits{}) && req.Raise == (domain.Limits{}) {
				return exit.Usage("missing flag --max-steps, --max-duration, --max-tokens, or --max-cost")
			}
			return c.With(cmd, func(b *client.Client) error {
				if err := canDetach(b, detach); err != nil {
					return err
				}
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				req.Run, c.seen = r.ID, r.LastSeq
				if r, err = b.Act(cmd.Context(), req); err != nil {
					return err
				}
				if detach {
					return c.printState(r)
				}
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	for flag, help := range map[string]string{"max-steps": "maximum number of steps, or +N more",
		"max-duration": "maximum duration, such as 2h, or +30m more",
		"max-tokens":   "maximum number of tokens, or +N more", "max-cost": "maximum cost, or +N more"} {
		asked[flag] = cmd.Flags().String(flag, "", help)
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason, for the audit log")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the run (requires a server)")
	return cmd
}

// limitOf parses a limit, or an addition to it, from a flag.
func limitOf(req *domain.ActionRequest, flag, text string) error {
	amount, plus := strings.CutPrefix(strings.TrimSpace(text), "+")
	if amount == "" && !plus {
		return nil
	}
	into := &req.Limits
	if plus {
		into = &req.Raise
	}
	var err error
	switch flag {
	case "max-steps":
		into.MaxSteps, err = strconv.ParseInt(amount, 10, 64)
	case "max-duration":
		into.MaxDuration, err = time.ParseDuration(amount)
	case "max-tokens":
		into.MaxTokens, err = strconv.ParseInt(amount, 10, 64)
	case "max-cost":
		into.MaxCost, err = strconv.ParseFloat(amount, 64)
	}
	if err != nil || into.MaxSteps < 0 || into.MaxDuration < 0 || into.MaxTokens < 0 || into.MaxCost < 0 {
		example := "5000 or +5000"
		if flag == "max-duration" {
			example = "90s, 2h, or +30m"
		}
		return exit.Usage("invalid --%s %q\n  use %s", flag, text, example)
	}
	return nil
}

func (c runCommands) resolveCommand() *cobra.Command {
	var o outcomeFlags
	visit, item, attempt := 1, -1, 0
	cmd := &cobra.Command{
		Use: "resolve RUN STEP", Short: "Resolve an in-doubt step", Args: cobra.ExactArgs(2),
		Long: `A step that is not idempotent is in doubt if its outcome is unknown, for example after
a crash or a lost connection. Check the other system. Then state the outcome with
--happened, or run the step again, skip it, or fail it. "kairos runs doubts resolve"
resolves the same step of several runs.`,
		Example: "  kairos runs resolve 7qx2 post_ledger --happened '{\"id\": 4711}' --reason \"found in the ledger\"\n" +
			"  kairos runs resolve 7qx2 post_ledger --retry",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := o.request(c.program, cmd)
			if err != nil {
				return err
			}
			req.Visit, req.Item, req.Attempt = visit, item, attempt
			return c.With(cmd, func(b *client.Client) error {
				r, err := command.FindRun(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				req.Run, req.Node, c.seen = r.ID, args[1], r.LastSeq
				if req.Attempt == 0 {
					if err := latestDoubt(cmd, b, &req, cmd.Flags().Changed("visit")); err != nil {
						return err
					}
				}
				if r, err = b.Resolve(cmd.Context(), req); err != nil {
					return err
				}
				return c.follow(cmd.Context(), b, r)
			})
		},
	}
	o.add(cmd)
	f := cmd.Flags()
	f.IntVar(&visit, "visit", visit, "iteration of the step")
	f.IntVar(&item, "item", item, "item of a foreach, from 0")
	f.IntVar(&attempt, "attempt", attempt, "attempt (default: the latest)")
	return cmd
}

// latestDoubt returns the attempt of a step that is in doubt.
func latestDoubt(cmd *cobra.Command, b *client.Client, req *domain.ResolveRequest, visitGiven bool) error {
	d, err := b.Detail(cmd.Context(), req.Run)
	if err != nil {
		return err
	}
	for i := len(d.Journal) - 1; i >= 0; i-- {
		e := &d.Journal[i]
		if e.Node == req.Node && e.Attempt > 0 && (!visitGiven || e.Visit == req.Visit) && (req.Item < 0 || e.Item == req.Item) {
			req.Visit, req.Item, req.Attempt = e.Visit, e.Item, e.Attempt
			return nil
		}
	}
	return domain.Errorf(domain.CodeNotFound, "run %s has no attempt of step %q", domain.ShortID(req.Run), req.Node)
}

// labelCommand adds labels to runs.
func (c runCommands) labelCommand() *cobra.Command {
	var flags bulkFlags
	var reason string
	var labels []string
	var preview, detach bool
	cmd := &cobra.Command{
		Use: "label", Short: "Add labels to runs",
		Long: `Adds labels to runs. A new value replaces an earlier one. Retention keeps runs with the
label pin.`,
		Example: "  kairos runs label 7qx2 --set ticket=4711\n" +
			"  kairos runs label --filter 'plan:invoice since:7d' --set team=billing --set pin=yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := flags.request(domain.ActionLabel, reason)
			if err != nil {
				return err
			}
			if req.Labels, err = command.ParseLabels(labels); err != nil {
				return err
			}
			if len(req.Labels) == 0 {
				return exit.Usage("missing flag --set KEY=VALUE")
			}
			return c.many(cmd, req, args, manyOptions{preview: preview, detach: detach})
		},
	}
	flags.add(cmd, domain.ActionLabel)
	addMany(cmd, &reason, &preview, &detach)
	cmd.Flags().StringArrayVar(&labels, "set", nil, "label KEY=VALUE; repeatable")
	return cmd
}
