package kairos

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// answered is the object that `ask --json` prints.
type answered struct {
	Classification  domain.Classification `json:"classification"`
	Agent           string                `json:"agent,omitempty"`
	Plan            *domain.AskedPlan     `json:"plan"`
	NeedsAcceptance bool                  `json:"needsAcceptance,omitempty"`
	Run             *domain.Result        `json:"run"`
	Answer          domain.RawJSON        `json:"answer"`
	Draft           string                `json:"draft"`
}

func (c draftCommands) askCommand() *cobra.Command {
	var r domain.DraftRequest
	var start domain.DraftStart
	var timeout time.Duration
	var preferences []string
	planOnly := false
	cmd := &cobra.Command{
		Use:   "ask TEXT",
		Short: "Make a plan of an intent, run it and print the answer",
		Long: `Classifies what is asked. A simple question goes to the agent that fits best;
for anything else a plan is made, by rules over the configured skills or by the
planning model, stored as a draft, shown, and run. "/agent text" names the agent.
How far planning is, is told while it goes on; a daemon goes on with it also when
nobody waits ("kairos drafts").

A plan with steps that cannot be repeated is shown and not started, unless
--accept says that you want it. --plan-only starts nothing at all. What was asked
before is not planned again: its plan is found, unless --fresh. What is planned
anew for a plan in use is run, and stays a draft until somebody accepts it. With
--json, stdout is one object: classification, plan, run, answer.`,
		Example: "  kairos ask \"what is the status of order 17?\"\n  kairos ask \"write a post about tea and then summarize it\" --plan-only\n  kairos ask /support \"I want my money back\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Query = strings.Join(args, " ")
			if cmd.Flags().Changed("timeout") {
				ms := float64(timeout) / float64(time.Millisecond)
				r.Constraints.Timeout = &ms
			}
			if !slices.Contains([]string{"", "low", "medium", "high"}, r.Constraints.Priority) {
				return exit.Usage("invalid --priority %q\n  use low, medium or high", r.Constraints.Priority)
			}
			var err error
			if r.Preferences, err = preferred(preferences); err != nil {
				return err
			}
			err = c.with(cmd, func(b *client.Client) error { return c.ask(cmd, b, r, start, planOnly) })
			return c.refused(err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Agent, "agent", "", "the agent that answers, without a plan")
	f.StringVar(&r.Provider, "provider", "", "whose model plans; default: rules or model, as configured")
	f.BoolVar(&planOnly, "plan-only", false, "make and store the plan, and start nothing")
	f.BoolVar(&start.Accept, "accept", false, "start also a plan with steps that cannot be repeated, or in the place of one in use")
	f.BoolVar(&r.Fresh, "fresh", false, "plan anew, even if the same was asked before")
	f.IntVar(&r.Constraints.MaxSteps, "max-steps", 0, "most steps of the plan")
	f.DurationVar(&timeout, "timeout", 0, "most time that the plan may take, such as 2m")
	f.Float64Var(&r.Constraints.Budget, "budget", 0, "most tokens that the plan may use")
	f.StringVar(&r.Constraints.Priority, "priority", "", "low, medium or high")
	f.StringArrayVar(&preferences, "preference", nil, "how you like the answer, as NAME=VALUE (repeatable), such as tone=formal")
	f.StringVar(&start.Session, "session", "", "session for memory (default: the run's id)")
	f.BoolVar(&c.memory, "memory", false, "store nothing on disk")
	return cmd
}

// preferred reads NAME=VALUE; a value that is JSON is that, anything else is text.
func preferred(list []string) (map[string]any, error) {
	var out map[string]any
	for _, p := range list {
		name, text, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usage("--preference takes NAME=VALUE, not %q", p)
		}
		if out == nil {
			out = map[string]any{}
		}
		v, err := jsonvalue.Decode([]byte(text))
		if err != nil {
			v = text
		}
		out[name] = v
	}
	return out, nil
}

// refused prints a refusal to plan as JSON, with its code, where JSON is wanted.
func (c draftCommands) refused(err error) error {
	e, ok := errors.AsType[*domain.Error](err)
	if !c.json || !ok {
		return err
	}
	out := struct {
		Error struct {
			Code       string   `json:"code"`
			Message    string   `json:"message"`
			Suggestion string   `json:"suggestion,omitempty"`
			Violations []string `json:"violations,omitempty"`
		} `json:"error"`
	}{}
	out.Error.Code, out.Error.Message, out.Error.Suggestion = cmp.Or(e.Reason, string(e.Code)), e.Message, e.Suggestion
	if p, ok := errors.AsType[*domain.PlanError](err); ok {
		out.Error.Violations = p.Violations
	}
	if printed := c.Print(out); printed != nil {
		return printed
	}
	return err
}

func (c draftCommands) ask(cmd *cobra.Command, b *client.Client, r domain.DraftRequest, start domain.DraftStart, planOnly bool) error {
	ctx := cmd.Context()
	d, err := b.StartDraft(ctx, r)
	if err != nil {
		return err
	}
	if d, err = c.followDraft(ctx, b, d); err != nil {
		return err
	}
	if err := d.Failed(); err != nil {
		return err
	}
	plan, err := planOf(ctx, b, d)
	if err != nil {
		return err
	}
	if !c.json {
		c.showPlan(d, plan)
	}
	waits := d.Direct == "" && len(d.Unsafe) > 0 && !start.Accept
	out := answered{Classification: d.Classification, Agent: d.Direct, Plan: plan, NeedsAcceptance: waits, Draft: d.ID}
	if planOnly || waits {
		switch {
		case c.json:
			return c.Print(out)
		case waits:
			c.Errorf("%s cannot be repeated; read the plan, then accept it with: kairos drafts accept %s\n", strings.Join(d.Unsafe, ", "), d.ID)
		}
		if waits && !planOnly {
			c.Errorf("not started; kairos ask --accept starts such plans\n")
			return &exit.Status{Code: exit.Waits}
		}
		return nil
	}
	run, err := b.RunDraft(ctx, d.ID, start)
	if err != nil {
		return err
	}
	if d.Proposed && !start.Accept && !c.json {
		c.Errorf("v%d of %s stays a draft; kairos drafts accept %s makes it current\n", d.Version, d.Plan, d.ID)
	}
	if !c.json {
		return c.follow(ctx, b, run)
	}
	view, err := b.Follow(ctx, run.ID, func(domain.Event) {})
	if err != nil {
		return err
	}
	res := view.Result
	out.Run, out.Answer = &res, res.Output
	if res.Result != nil {
		if out.Answer, err = jsonvalue.Encode(res.Result.AggregatedResult); err != nil {
			return err
		}
	}
	if err := c.Print(out); err != nil {
		return err
	}
	return exitOf(res)
}
