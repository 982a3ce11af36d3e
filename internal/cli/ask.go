package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// answered is the object that `ask --json` prints (SPEC 9.1).
type answered struct {
	Classification  kairos.Classification `json:"classification"`
	Agent           string                `json:"agent,omitempty"`
	Plan            *kairos.AskedPlan     `json:"plan"`
	NeedsAcceptance bool                  `json:"needsAcceptance,omitempty"`
	Run             *kairos.Result        `json:"run"`
	Answer          kairos.RawJSON        `json:"answer"`
}

func (c *app) askCommand() *cobra.Command {
	var r kairos.AskRequest
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "ask TEXT",
		Short: "Make a plan of an intent, run it and print the answer",
		Long: `Classifies what is asked. A simple question goes to the agent that fits best;
for anything else a plan is made, by rules over the configured skills or by the
planning model, stored, shown, and run. "/agent text" names the agent.

A plan with steps that cannot be repeated is shown and not started, unless
--accept says that you want it. --plan-only starts nothing at all. What was asked
before is not planned again: its plan is found, unless --fresh. With --json,
stdout is one object: classification, plan, run, answer.`,
		Example: "  kairos ask \"what is the status of order 17?\"\n  kairos ask \"write a post about tea and then summarize it\" --plan-only\n  kairos ask /support \"I want my money back\"",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Query = strings.Join(args, " ")
			if cmd.Flags().Changed("timeout") {
				ms := float64(timeout) / float64(time.Millisecond)
				r.Constraints.Timeout = &ms
			}
			return c.with(cmd, func(b backend) error { return c.ask(cmd, b, r) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Agent, "agent", "", "the agent that answers, without a plan")
	f.BoolVar(&r.PlanOnly, "plan-only", false, "make and store the plan, and start nothing")
	f.BoolVar(&r.Accept, "accept", false, "start also a plan with steps that cannot be repeated")
	f.BoolVar(&r.Fresh, "fresh", false, "plan anew, even if the same was asked before")
	f.IntVar(&r.Constraints.MaxSteps, "max-steps", 0, "most steps of the plan")
	f.DurationVar(&timeout, "timeout", 0, "most time that the plan may take, such as 2m")
	f.Float64Var(&r.Constraints.Budget, "budget", 0, "most tokens that the plan may use")
	f.StringVar(&r.Constraints.Priority, "priority", "", "low, medium or high")
	f.StringVar(&r.Session, "session", "", "session for memory (default: the run's id)")
	f.BoolVar(&c.memory, "memory", false, "store nothing on disk")
	return cmd
}

func (c *app) ask(cmd *cobra.Command, b backend, r kairos.AskRequest) error {
	ctx := cmd.Context()
	asked, err := b.Ask(ctx, c.actor(), r)
	if err != nil {
		return err
	}
	if !c.json {
		c.showPlan(asked)
	}
	if asked.Run == "" {
		if c.json {
			return c.print(answered{Classification: asked.Classification, Agent: asked.Agent, Plan: asked.Plan, NeedsAcceptance: asked.NeedsAcceptance})
		}
		if asked.NeedsAcceptance {
			c.errorf("not started: %s cannot be repeated; read the plan, then start it with: kairos ask --accept ...\n", strings.Join(asked.Plan.Unsafe, ", "))
			return &exit{code: exitWaits}
		}
		return nil
	}
	run, err := b.FindRun(ctx, asked.Run)
	if err != nil {
		return err
	}
	if !c.json {
		c.aggregated = true
		return c.follow(ctx, b, run)
	}
	if _, err := b.Wait(ctx, run.ID); err != nil {
		return err
	}
	res, err := b.Result(ctx, run.ID)
	if err != nil {
		return err
	}
	out := answered{Classification: asked.Classification, Agent: asked.Agent, Plan: asked.Plan, Run: &res, Answer: res.Output}
	if res.Result != nil {
		if out.Answer, err = planner.EncodeValue(res.Result.AggregatedResult); err != nil {
			return err
		}
	}
	if err := c.print(out); err != nil {
		return err
	}
	return exitOf(res)
}

// showPlan says on stderr what will answer, before it does.
func (c *app) showPlan(a kairos.Asked) {
	if a.Agent != "" {
		c.errorf("%s: %s answers directly (%s)\n", a.Classification.Complexity, a.Agent, a.Reason)
		return
	}
	var doc struct {
		EstimatedDurationMs int64   `json:"estimatedDuration"`
		EstimatedCost       float64 `json:"estimatedCost"`
		Metadata            struct {
			MeasuredSteps int
			Confidence    float64
			Alternatives  []kairos.PlanAlternative
		}
	}
	if err := json.Unmarshal(a.Plan.Document, &doc); err != nil {
		c.errorf("kairos: read the plan: %s\n", err)
	}
	found := ""
	if a.Plan.Found {
		found = ", made before (--fresh plans anew)"
	}
	c.errorf("%s: plan %s v%d, by %s%s: %s\n", a.Classification.Complexity, a.Plan.Key, a.Plan.Version, a.Plan.By, found, a.Plan.Name)
	for _, s := range a.Plan.Steps {
		c.errorf("  %s\n", s)
	}
	if doc.EstimatedDurationMs > 0 || doc.EstimatedCost > 0 {
		measured := ""
		if n := doc.Metadata.MeasuredSteps; n > 0 {
			measured = fmt.Sprintf(" (%d of %d steps by medians of runs here)", n, len(a.Plan.Steps))
		}
		c.errorf("  estimated: %d ms, %.0f tokens%s; confidence %.2f\n", doc.EstimatedDurationMs, doc.EstimatedCost, measured, doc.Metadata.Confidence)
	}
	for _, alt := range doc.Metadata.Alternatives {
		c.errorf("  %s: %d ms, %.0f tokens: %s\n", alt.Kind, alt.EstimatedDurationMs, alt.EstimatedCost, strings.Join(alt.Skills, ", "))
	}
}
