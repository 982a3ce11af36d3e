// Package budgets holds the commands of budgets.
package budgets

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/command"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
)

type commands struct{ *command.Program }

// Commands returns the commands of budgets.
func Commands(p *command.Program) *cobra.Command {
	c := commands{p}
	return command.Group("budgets", "Manage budgets", c.listCommand, c.showCommand(), c.createCommand(), c.updateCommand(),
		c.raiseCommand(),
		c.deleteCommand())
}

func (c commands) listCommand() *cobra.Command {
	var l command.ListFlags
	filter := ""
	cmd := &cobra.Command{
		Use: "list", Short: "List budgets", Args: cobra.NoArgs,
		Long: `Lists budgets by name, with the usage of their current window. A budget limits the cost or
the tokens of model calls, per hour, day, or month. At its hard line, runs wait.`,
		Example: "  kairos budgets\n  kairos budgets --filter team",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.With(cmd, func(b *client.Client) error {
				list, next, err := b.Budgets(cmd.Context(), filter, l.Page())
				if err != nil {
					return err
				}
				rows := [][]string{}
				for _, x := range list {
					rows = append(rows, []string{x.Key, x.Scope, x.Period, amount(x.Unit, x.Window.Used), line(x.Unit, x.Soft),
						line(x.Unit, x.Degrade), line(x.Unit, limit(x)), cli.Stamp(x.Window.To), strconv.Itoa(x.Waiting)})
				}
				return c.ListOf(append([]apitypes.Budget{}, list...), next,
					[]string{"BUDGET", "SCOPE", "PERIOD", "USED", "SOFT", "DEGRADE", "HARD", "NEXT WINDOW", "WAITING"}, rows,
					"no budgets found")
			})
		},
	}
	l.Add(cmd)
	cmd.Flags().StringVar(&filter, "filter", "", "part of a value")
	return cmd
}

// amount formats an amount of a unit.
func amount(unit string, v float64) string {
	if unit == domain.UnitTokens {
		return strconv.FormatFloat(v, 'f', 0, 64) + " tokens"
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

// line formats a line, which may not exist.
func line(unit string, v float64) string {
	if v == 0 {
		return ""
	}
	return amount(unit, v)
}

// limit is the hard line of the current window.
func limit(b apitypes.Budget) float64 {
	if b.Hard == 0 {
		return 0
	}
	return b.Hard + b.Window.Raised
}

func (c commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show BUDGET", Short: "Show a budget", Args: cobra.ExactArgs(1),
		Long: `Shows a budget: its lines, the usage of its windows, a prediction, and the runs that wait
for it.`,
		Example: "  kairos budgets show team-a",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				x, err := b.Budget(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(x)
				}
				c.print(x)
				return nil
			})
		},
	}
}

func (c commands) print(x apitypes.BudgetDetail) {
	raised, prediction, degrade := "", "", line(x.Unit, x.Degrade)
	if x.Window.Raised > 0 {
		raised = "by " + amount(x.Unit, x.Window.Raised) + " in this window"
	}
	if degrade != "" {
		degrade += ", then " + x.DegradeTo
	}
	switch {
	case x.Hard > 0 && x.Window.Used >= limit(x.Budget):
		prediction = "used up"
	case !x.ExhaustedAt.IsZero():
		prediction = "at this pace, used up at " + cli.Stamp(x.ExhaustedAt)
	case x.Window.Used > 0:
		prediction = "at this pace, " + amount(x.Unit, x.Predicted) + " at the end of the window"
	}
	c.Facts("budget "+x.Key, [][2]string{{"scope", x.Scope}, {"period", x.Period + " (" + x.TimeZone + ")"}, {"soft", line(x.Unit,
		x.Soft)},
		{"degrade", degrade}, {"hard", line(x.Unit, limit(x.Budget))}, {"raised", raised}, {"used", amount(x.Unit, x.Window.Used)},
		{"reserved", line(x.Unit, x.Reserved)}, {"prediction", prediction}, {"next window", cli.Stamp(x.Window.To)}, {"actor", x.Actor},
		{"unpriced", strings.Join(x.Unpriced, ", ")}})
	rows := [][]string{}
	for _, w := range x.Windows {
		rows = append(rows, []string{cli.Stamp(w.From), strconv.FormatInt(w.Calls, 10), amount(x.Unit, w.Used), line(x.Unit, w.Estimated),
			line(x.Unit, w.Raised)})
	}
	c.Table([]string{"WINDOW", "CALLS", "USED", "ESTIMATED", "RAISED"}, rows)
	rows = [][]string{}
	for _, r := range x.Runs {
		rows = append(rows, []string{domain.ShortID(r.Run), r.Plan, cli.Stamp(r.Since), cli.Stamp(r.Until)})
	}
	c.Table([]string{"WAITING RUN", "PLAN", "SINCE", "CONTINUES"}, rows)
	if len(x.Runs) > 0 {
		c.Notef("to let them continue: %s\n", c.Command("budgets raise %s +AMOUNT", command.Quoted(x.Key)))
	}
}

// lines are the flags of the lines.
type lines struct {
	soft, degrade, hard float64
	degradeTo           string
}

func (l *lines) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Float64Var(&l.soft, "soft", 0, "usage that sends a notification")
	f.Float64Var(&l.degrade, "degrade", 0, "usage from which calls go to --degrade-to")
	f.StringVar(&l.degradeTo, "degrade-to", "", "cheaper model: PROVIDER/MODEL")
	f.Float64Var(&l.hard, "hard", 0, "usage that no call may exceed; runs wait")
}

func (c commands) createCommand() *cobra.Command {
	var l lines
	var x apitypes.BudgetCreate
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a budget", Args: cobra.ExactArgs(1),
		Long: `Creates a budget for the model calls in a scope. --soft sends a notification, --degrade sends
calls to a cheaper model, and at --hard, runs wait for the next window or a raise. Amounts are
in the currency of the configured prices, or in tokens with --unit tokens.`,
		Example: "  kairos budgets create all --soft 8 --hard 10\n" +
			"  kairos budgets create team-a --scope label:team=a --period month --zone Europe/Madrid --unit tokens --hard 2000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			x.Key, x.Soft, x.Degrade, x.Hard, x.DegradeTo = args[0], l.soft, l.degrade, l.hard, l.degradeTo
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.CreateBudget(cmd.Context(), x)
				if err != nil {
					return err
				}
				if len(out.Unpriced) > 0 {
					c.Notef("runs that call models without a price wait; add to the configuration: %s\n", strings.Join(out.Unpriced, ", "))
				}
				return c.Done(out, "budget %s created; used in this window: %s", out.Key, amount(out.Unit, out.Window.Used))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.Scope, "scope", "", "all, plan:KEY, agent:ID, provider:NAME, or label:KEY=VALUE (default all)")
	f.StringVar(&x.Period, "period", "", "hour, day, or month (default day)")
	f.StringVar(&x.TimeZone, "zone", "", "time zone, such as Europe/Madrid (default UTC)")
	f.StringVar(&x.Unit, "unit", "", "cost or tokens (default cost)")
	l.add(cmd)
	return cmd
}

func (c commands) updateCommand() *cobra.Command {
	var l lines
	cmd := &cobra.Command{
		Use: "update BUDGET", Short: "Change the lines of a budget", Args: cobra.ExactArgs(1),
		Long: `Changes the lines of a budget that flags name; 0 removes a line. Runs that have room now
continue.`,
		Example: "  kairos budgets update all --hard 20\n  kairos budgets update all --soft 0",
		RunE: func(cmd *cobra.Command, args []string) error {
			var e apitypes.BudgetEdit
			for name, f := range map[string]struct {
				from *float64
				into **float64
			}{"soft": {&l.soft, &e.Soft}, "degrade": {&l.degrade, &e.Degrade}, "hard": {&l.hard, &e.Hard}} {
				if cmd.Flags().Changed(name) {
					*f.into = f.from
				}
			}
			if cmd.Flags().Changed("degrade-to") {
				e.DegradeTo = &l.degradeTo
			}
			if e == (apitypes.BudgetEdit{}) {
				return exit.Usage("no line given\n  use --soft, --degrade, --degrade-to, or --hard")
			}
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.UpdateBudget(cmd.Context(), args[0], e)
				if err != nil {
					return err
				}
				return c.Done(out, "budget %s changed", out.Key)
			})
		},
	}
	l.add(cmd)
	return cmd
}

func (c commands) raiseCommand() *cobra.Command {
	r := apitypes.BudgetRaise{}
	cmd := &cobra.Command{
		Use: "raise BUDGET +AMOUNT", Short: "Raise the hard line of this window", Args: cobra.ExactArgs(2),
		Long: `Adds an amount to the hard line of the current window. Runs that wait for the budget and have
room continue after their last recorded call. The next window begins with the hard line of
the budget; to change that, use kairos budgets update.`,
		Example: "  kairos budgets raise team-a +5 --reason \"the migration needs more today\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if r.Amount, err = strconv.ParseFloat(strings.TrimPrefix(args[1], "+"), 64); err != nil || r.Amount <= 0 {
				return exit.Usage("invalid amount %q\n  use a number above 0, such as +5", args[1])
			}
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.RaiseBudget(cmd.Context(), args[0], r)
				if err != nil {
					return err
				}
				return c.Done(out, "budget %s raised to %s until %s", out.Key, amount(out.Unit, limit(out)), cli.Stamp(out.Window.To))
			})
		},
	}
	cmd.Flags().StringVar(&r.Reason, "reason", "", "reason, for the audit log")
	return cmd
}

func (c commands) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete BUDGET", Short: "Delete a budget", Args: cobra.ExactArgs(1),
		Long: `Deletes a budget with its usage. Runs that wait for it continue. On a terminal, it requires
a confirmation.`,
		Example: "  kairos budgets delete team-a",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				out, err := b.DeleteBudget(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.Done(map[string]any{"key": out.Key, "deleted": true}, "budget %s deleted", out.Key)
			})
		},
	}
}
