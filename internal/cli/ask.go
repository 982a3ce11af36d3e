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
	Draft           string                `json:"draft"`
}

func (c *app) askCommand() *cobra.Command {
	var r kairos.DraftRequest
	var start kairos.DraftStart
	var timeout time.Duration
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
			return c.with(cmd, func(b backend) error { return c.ask(cmd, b, r, start, planOnly) })
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
	f.StringVar(&start.Session, "session", "", "session for memory (default: the run's id)")
	f.BoolVar(&c.memory, "memory", false, "store nothing on disk")
	return cmd
}

func (c *app) ask(cmd *cobra.Command, b backend, r kairos.DraftRequest, start kairos.DraftStart, planOnly bool) error {
	ctx := cmd.Context()
	d, err := b.StartDraft(ctx, c.actor(), r)
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
			return c.print(out)
		case waits:
			c.errorf("%s cannot be repeated; read the plan, then accept it with: kairos drafts accept %s\n", strings.Join(d.Unsafe, ", "), d.ID)
		}
		if waits && !planOnly {
			c.errorf("not started; kairos ask --accept starts such plans\n")
			return &exit{code: exitWaits}
		}
		return nil
	}
	run, err := b.RunDraft(ctx, c.actor(), d.ID, start)
	if err != nil {
		return err
	}
	if d.Proposed && !start.Accept && !c.json {
		c.errorf("v%d of %s stays a draft; kairos drafts accept %s makes it current\n", d.Version, d.Plan, d.ID)
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
	out.Run, out.Answer = &res, res.Output
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
func (c *app) showPlan(d kairos.Draft, plan *kairos.AskedPlan) {
	if d.Direct != "" {
		c.errorf("%s: %s answers directly (%s)\n", d.Classification.Complexity, d.Direct, d.Reason)
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
	if err := json.Unmarshal(plan.Document, &doc); err != nil {
		c.errorf("kairos: read the plan: %s\n", err)
	}
	found := ""
	if plan.Found {
		found = ", made before (--fresh plans anew)"
	}
	c.errorf("%s: plan %s v%d, by %s%s: %s\n", d.Classification.Complexity, plan.Key, plan.Version, plan.By, found, plan.Name)
	for _, s := range plan.Steps {
		c.errorf("  %s\n", s)
	}
	if doc.EstimatedDurationMs > 0 || doc.EstimatedCost > 0 {
		measured := ""
		if n := doc.Metadata.MeasuredSteps; n > 0 {
			measured = fmt.Sprintf(" (%d of %d steps by medians of runs here)", n, len(plan.Steps))
		}
		c.errorf("  estimated: %d ms, %.0f tokens%s; confidence %.2f\n", doc.EstimatedDurationMs, doc.EstimatedCost, measured, doc.Metadata.Confidence)
	}
	for _, alt := range doc.Metadata.Alternatives {
		c.errorf("  %s: %d ms, %.0f tokens: %s\n", alt.Kind, alt.EstimatedDurationMs, alt.EstimatedCost, strings.Join(alt.Skills, ", "))
	}
}
