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
	Plan            *domain.PlannerPlan   `json:"plan"`
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
		Short: "Plan a request in plain language and run it",
		Long: `Classifies a request. The best matching agent answers a simple question. For other
requests, kairosd generates a plan from the configured skills or with the planning
model. It stores the plan as a draft, shows it, and runs it. "/agent text" names
the agent. A server continues planning if you stop waiting ("kairos drafts").

A plan with non-idempotent steps is shown and not started, unless --accept is given.
--plan-only starts nothing. An earlier plan of the same request is used again, unless
--fresh is given. A new plan for an accepted one runs, and stays a draft until you accept
it. With --json, stdout is one object: classification, plan, run, answer.`,
		Example: "  kairos ask \"what is the status of order 17?\"\n" +
			"  kairos ask \"write a post about tea and then summarize it\" --plan-only\n" +
			"  kairos ask /support \"I want my money back\"",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Query = strings.Join(args, " ")
			if cmd.Flags().Changed("timeout") {
				ms := float64(timeout) / float64(time.Millisecond)
				r.Constraints.Timeout = &ms
			}
			if !slices.Contains([]string{"", "low", "medium", "high"}, r.Constraints.Priority) {
				return exit.Usage("invalid --priority %q\n  use low, medium, or high", r.Constraints.Priority)
			}
			var err error
			if r.Preferences, err = preferred(preferences); err != nil {
				return err
			}
			err = c.With(cmd, func(b *client.Client) error { return c.ask(cmd, b, r, start, planOnly) })
			return c.refused(err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Agent, "agent", "", "agent that answers directly, without a plan")
	f.StringVar(&r.Provider, "provider", "", "provider of the model that plans (default: as configured)")
	f.BoolVar(&planOnly, "plan-only", false, "generate and store the plan, and start nothing")
	f.BoolVar(&start.Accept, "accept", false, "also run non-idempotent steps, and replace the current version of a plan")
	f.BoolVar(&r.Fresh, "fresh", false, "ignore earlier plans of the same request")
	f.IntVar(&r.Constraints.MaxSteps, "max-steps", 0, "maximum number of steps of the plan")
	f.DurationVar(&timeout, "timeout", 0, "maximum duration of the plan, such as 2m")
	f.Float64Var(&r.Constraints.Budget, "budget", 0, "maximum number of tokens that the plan uses")
	f.StringVar(&r.Constraints.Priority, "priority", "", "low, medium, or high")
	f.StringArrayVar(&preferences, "preference", nil, "preference for the answer as NAME=VALUE, such as tone=formal; repeatable")
	f.StringVar(&start.Session, "session", "", "session for memory (default: the id of the run)")
	f.BoolVar(&c.Memory, "memory", false, "store nothing on disk")
	return cmd
}

// preferred parses NAME=VALUE. A value that is not JSON is text.
func preferred(list []string) (map[string]any, error) {
	var out map[string]any
	for _, p := range list {
		name, text, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usage("invalid --preference %q\n  use NAME=VALUE", p)
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

// refused prints a refused planning request as JSON with its code, if --json is set.
func (c draftCommands) refused(err error) error {
	e, ok := errors.AsType[*domain.Error](err)
	if !c.JSON || !ok {
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
	if !c.JSON {
		c.showPlan(d, plan)
	}
	waits := d.Direct == "" && len(d.Unsafe) > 0 && !start.Accept
	out := answered{Classification: d.Classification, Agent: d.Direct, Plan: plan, NeedsAcceptance: waits, Draft: d.ID}
	if planOnly || waits {
		switch {
		case c.JSON:
			return c.Print(out)
		case waits:
			c.Errorf("not idempotent: %s\n", strings.Join(d.Unsafe, ", "))
		}
		if waits && !planOnly {
			c.Errorf("not started; check the plan, then run it: %s\n", c.Command("drafts run %s --accept", d.ID))
			return &exit.Status{Code: exit.Waits}
		}
		return nil
	}
	run, err := b.RunDraft(ctx, d.ID, start)
	if err != nil {
		return err
	}
	if d.Proposed && !start.Accept {
		c.Notef("v%d of %s stays a draft; accept it: %s\n", d.Plan.Version, d.Plan.Key, c.Command("drafts accept %s", d.ID))
	}
	if !c.JSON {
		return c.follow(ctx, b, run)
	}
	view, err := b.Follow(ctx, run.ID, func(domain.Event) {})
	if err != nil {
		return err
	}
	res := view.Result()
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
