package kairos

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

func (c draftCommands) draftShow() *cobra.Command {
	follow := true
	cmd := &cobra.Command{
		Use: "show DRAFT", Short: "Show a draft", Args: cobra.ExactArgs(1),
		Long: `Prints the progress of planning until it ends, then the steps and the source of the
plan. With --json: the draft and its plan.`,
		Example: "  kairos drafts show plan-4f1c\n  kairos drafts show plan-4f1c --follow=false --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.With(cmd, func(b *client.Client) error {
				d, err := findDraft(cmd.Context(), b, args[0])
				if err != nil {
					return err
				}
				if d.plan != nil {
					return c.showDraftedPlan(cmd, b, d.plan.ID, d.plan.Latest)
				}
				if !c.JSON {
					c.Errorf("draft %s by %s: %s\n", d.ID, d.Actor, cli.FirstLine(d.Query))
				}
				if follow {
					if d.Draft, err = c.followDraft(cmd.Context(), b, d.Draft); err != nil {
						return err
					}
				}
				if c.JSON {
					return c.printDraftJSON(cmd.Context(), b, d.Draft)
				}
				return c.showState(cmd, b, d.Draft)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", true, "wait until planning ends")
	return cmd
}

// showState prints the state of a draft, and its plan if there is one.
func (c draftCommands) showState(cmd *cobra.Command, b *client.Client, d domain.Draft) error {
	if err := d.Failed(); err != nil {
		return err
	}
	c.Errorf("%s\n", d.State)
	if d.Hash == "" {
		return nil
	}
	return c.showDraftedPlan(cmd, b, d.Plan.Key, d.Plan.Version)
}

// printDraftJSON prints a draft and its plan as JSON.
func (c draftCommands) printDraftJSON(ctx context.Context, b *client.Client, d domain.Draft) (err error) {
	out := struct {
		Draft domain.Draft        `json:"draft"`
		Plan  *domain.PlannerPlan `json:"plan"`
	}{Draft: d}
	if d.Hash != "" {
		if out.Plan, err = planOf(ctx, b, d); err != nil {
			return err
		}
	}
	return c.Print(out)
}

// showDraftedPlan prints a version of a plan: its steps, then its source.
func (c draftCommands) showDraftedPlan(cmd *cobra.Command, b *client.Client, plan string, version int) error {
	p, err := b.Plan(cmd.Context(), plan)
	if err != nil {
		return err
	}
	v, err := b.VersionByNumber(cmd.Context(), p.ID, version)
	if err != nil {
		return err
	}
	if !c.JSON {
		if v.Reason != "" {
			c.Errorf("%s\n", cli.FirstLine(v.Reason))
		}
		c.showSteps(v)
		var doc domain.ExecutionPlan
		if err := json.Unmarshal(v.Canonical, &doc); err != nil {
			return fmt.Errorf("read v%d of %s: %w", v.Number, p.Key, err)
		}
		c.showAlternatives(doc)
	}
	return c.printVersion(v)
}

// showSteps prints the steps of a version on stderr.
func (c draftCommands) showSteps(v domain.Version) {
	d, problems := planner.Parse(v.Source, planner.WithFormat(planner.Format(v.Format)))
	if problems.Err() != nil {
		return // the source is printed; a start reports its problems
	}
	p, err := d.Program(nil)
	if err != nil {
		return // see above
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		c.Errorf("  %-24s %s %s\n", n.ID, cmp.Or(n.Agent, n.Tool, n.TypeName), cli.FirstLine(n.Task))
	}
}

// showPlan prints the agent or the plan for a request on stderr.
func (c draftCommands) showPlan(d domain.Draft, plan *domain.PlannerPlan) {
	if d.Direct != "" {
		c.Errorf("%s: %s answers directly (%s)\n", d.Classification.Complexity, d.Direct, d.Reason)
		return
	}
	doc, err := plan.Execution()
	if err != nil {
		c.Errorf("kairos: read the plan: %s\n", err)
	}
	found := ""
	if plan.Found {
		found = ", planned before (--fresh plans it again)"
	}
	c.Errorf("%s: plan %s v%d, by %s%s: %s\n", d.Classification.Complexity, plan.Key, plan.Version, plan.By, found, plan.Name)
	for _, s := range plan.Steps {
		c.Errorf("  %s\n", s)
	}
	c.Errorf("  estimated: %s\n", estimates(doc, len(plan.Steps)))
	if list := doc.Metadata.Dropped; len(list) > 0 {
		c.Errorf("  left out, because the limits leave no room: %s\n", strings.Join(list, ", "))
	}
	c.showAlternatives(doc)
}

// showAlternatives prints the alternatives of a plan on stderr.
func (c draftCommands) showAlternatives(doc domain.ExecutionPlan) {
	for _, alt := range doc.Metadata.Alternatives {
		c.Errorf("  %s (--alternative %s): %s: %s\n", alt.Metadata.Kind, alt.Metadata.Kind, estimates(alt, len(alt.Steps)),
			strings.Join(alt.StepNames(), ", "))
	}
}

// estimates returns the estimated time and tokens of a plan on a line.
func estimates(p domain.ExecutionPlan, steps int) string {
	out := "time and tokens unknown"
	if p.EstimatedDuration > 0 || p.EstimatedCost > 0 {
		out = fmt.Sprintf("%d ms, %.0f tokens", p.EstimatedDuration, p.EstimatedCost)
		if n := p.Metadata.MeasuredSteps; n > 0 {
			out += fmt.Sprintf(" (%d of %d steps by medians of runs here)", n, steps)
		}
	}
	if c := p.Metadata.Confidence; c > 0 {
		out += fmt.Sprintf("; confidence %.2f", c)
	}
	return out
}
