package drafts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// draftedPlan fills in the plan of a draft: its graph, the reason for each step, its assumptions,
// its estimates, and its problems.
func (s *section) draftedPlan(c *ui.Context, p *DraftPage, pl domain.Plan, v domain.Version, request string) error {
	program, err := s.Engine.Program(c, domain.AsWritten(v.Hash))
	if err != nil {
		return err
	}
	effects, err := s.Engine.Effects(c, domain.AsWritten(v.Hash))
	if err != nil {
		return err
	}
	path := link.Plan(pl.Key)
	p.Name, p.Key, p.Version, p.PlanHref = cmp.Or(kit.Escape(program.Name), pl.Key), pl.Key, fmt.Sprintf("v%d",
		v.Number), fmt.Sprintf("%s/v/%d", path, v.Number)
	if c.Principal.Role.Includes(domain.RoleAuthor) {
		p.EditHref = fmt.Sprintf("%s/edit?base=%d", path, v.Number)
	}
	if err := s.planFacts(c, p, pl, v, program, request); err != nil {
		return err
	}
	p.Alternatives = alternativesOf(c, v)
	explained := s.Planner.Explain(c, request, v.Canonical)
	p.steps(c, pl, program, effects, explained, s.Engine.Catalog())
	p.explain(c, explained)
	_, problems := s.Engine.CheckPlan(v.Source, planner.Format(v.Format))
	for _, q := range problems {
		p.Problems = append(p.Problems, plan.Problem(c, q))
	}
	p.Archived, p.Lines = pl.Archived, plan.Lines(v)
	p.Graph = graph.Written(c, s.Layouts, program, effects)
	return nil
}

// planFacts fills in the complexity of the request, the reason for the plan, and its estimates.
func (s *section) planFacts(c *ui.Context, p *DraftPage, pl domain.Plan, v domain.Version, program *walk.Program,
	request string) error {
	fact := func(term, text string) {
		if text != "" {
			p.Facts = append(p.Facts, kit.Fact{Term: c.T(term), Text: text})
		}
	}
	if request != "" {
		fact(locale.Mark("Complexity"), c.T(complexities[s.Planner.Classify(request).Complexity]))
	}
	fact(locale.Mark("Reason"), plan.Reason(c, cmp.Or(p.Reason, v.Reason)))
	if plan.Proposed(pl, v) {
		fact(locale.Mark("In use"), c.T("v%d is in use; this one takes its place when it is accepted.", pl.Latest))
	}
	estimates(c, v, fact)
	return s.expectedOf(c, pl, program, fact)
}

// steps fills in the steps of the plan, each with its side-effect class and its reason.
func (p *DraftPage) steps(c *ui.Context, pl domain.Plan, program *walk.Program, effects []walk.Effect, explained domain.PlanExplanation,
	catalog *planner.Catalog) {
	for i := range program.Nodes {
		n := &program.Nodes[i]
		row := DraftStep{ID: n.ID, Action: kit.Escape(plan.ActionOf(n)), Effect: value.Effect(c, string(effects[i])),
			Unsafe: effects[i] == walk.EffectUnsafe, Why: stepReason(c, n, explained), Chosen: n.ID == c.Query("node")}
		if info := catalog.Tools[n.Tool]; info.Denied != nil && info.Denied(pl.Key) {
			p.Unusable = append(p.Unusable, c.T("%s, which %s calls, is denied", kit.Escape(n.Tool), kit.Escape(n.ID)))
		}
		for _, need := range n.Needs {
			row.After = append(row.After, program.Nodes[need].ID)
		}
		if n.When == walk.WhenFirst {
			row.After = []string{c.T("first of %s", kit.Escape(strings.Join(row.After, ", ")))}
		}
		if row.Unsafe {
			p.Unsafe++
		}
		p.Steps = append(p.Steps, row)
	}
}

// explain fills in the plan's assumptions, and what it may not use.
func (p *DraftPage) explain(c *ui.Context, e domain.PlanExplanation) {
	for _, a := range e.Assumed {
		p.Assumed = append(p.Assumed,
			c.T("%s of %s is %s: the default",
				kit.Escape(a.Name), kit.Escape(a.Step), kit.Escape(kit.Truncate(a.Value, 200))))
	}
	for _, said := range e.ModelAssumptions {
		p.Assumed = append(p.Assumed, c.T("reason of the model: %s", kit.Escape(kit.Truncate(said, 200))))
	}
	if e.Unmeasured > 0 {
		p.Assumed = append(p.Assumed,
			c.N(e.Unmeasured, "%s step uses the configured estimate because it has too few runs",
				"%s steps use the configured estimate because they have too few runs"))
	}
	for _, id := range e.Unusable {
		p.Unusable = append(p.Unusable, c.T("skill %s: its tool or agent is not configured", kit.Escape(id)))
	}
	for _, id := range e.Wanted {
		p.Unusable = append(p.Unusable, c.T("the model chose %s, which does not exist or cannot be planned", kit.Escape(id)))
	}
}

// draftBefore fills in the difference from the draft that this one refines.
func (s *section) draftBefore(c *ui.Context, p *DraftPage, before, v domain.Version) error {
	if before.Hash == v.Hash {
		p.Changed = ": " + c.T("nothing changed")
		return nil
	}
	compared, err := graph.Compare(c, s.Engine, before.Hash, v.Hash)
	if err != nil {
		return err
	}
	here := c.Echo.Request().URL.Path
	if c.Echo.Request().Method == http.MethodGet {
		compared.Chosen = c.Query("node")
		compared.Href = func(node string) string {
			if compared.Removed(node) {
				return fmt.Sprintf("%s?node=%s", p.Before.Href, url.QueryEscape(node)) + "#why"
			}
			return here + "?" + url.Values{"node": {node}}.Encode() + "#why"
		}
	}
	p.Changed, p.Graph, p.Diff = ": "+compared.Summary(c), compared.Graph(c, s.Layouts), plan.DiffLines(plandiff.Versions(before, v))
	return nil
}

// stepReason returns the planner's reason for a step.
func stepReason(c *ui.Context, n *walk.ProgramNode, e domain.PlanExplanation) string {
	switch why := e.Reasons[n.ID]; why.Kind {
	case domain.ReasonAsked:
		return c.T("the request names: %s", kit.Escape(why.By))
	case domain.ReasonNeeded:
		return c.T("%s needs it", kit.Escape(why.By))
	case domain.ReasonImplied:
		return c.T("%s implies it", kit.Escape(why.By))
	case domain.ReasonGuards:
		return c.T("it checks the result of %s", kit.Escape(why.By))
	case domain.ReasonComplex:
		return c.T("recommended for a request of this complexity")
	case domain.ReasonModel:
		return c.T("reason of the model: %s", kit.Escape(kit.Truncate(why.By, 200)))
	case domain.ReasonAsk:
		return c.T("%s is not idempotent: it needs an approval first", kit.Escape(why.By))
	}
	if n.ExpectedOutput != "" {
		return c.T("expected result: %s", kit.Escape(n.ExpectedOutput))
	}
	return ""
}

var complexities = map[domain.Complexity]string{domain.Simple: locale.Mark("simple: one agent answers it"),
	domain.Moderate: locale.Mark("moderate: a plan may help"), domain.Complex: locale.Mark("complex: it needs several steps")}

// estimates adds the estimates that the planner stored in an execution plan.
func estimates(c *ui.Context, v domain.Version, fact func(term, text string)) {
	var doc domain.ExecutionPlan
	if json.Unmarshal(v.Canonical, &doc) != nil {
		return // a graph with other metadata
	}
	if ms := doc.EstimatedDuration; ms > 0 {
		fact(locale.Mark("Estimated time"), kit.Duration(time.Duration(ms)*time.Millisecond))
	} else {
		fact(locale.Mark("Estimated time"), c.T("not known: its steps have run too seldom here"))
	}
	if doc.EstimatedCost > 0 {
		fact(locale.Mark("Estimated tokens"), c.Number(int64(doc.EstimatedCost)))
	} else {
		fact(locale.Mark("Estimated tokens"), c.T("not known: its steps have run too seldom here"))
	}
	if n := doc.Metadata.MeasuredSteps; n > 0 {
		fact(locale.Mark("Measured here"),
			c.T("%s of %s steps are estimated by medians of their runs", c.Number(int64(n)), c.Number(int64(len(doc.Steps)))))
	}
	if c := doc.Metadata.Confidence; c > 0 {
		fact(locale.Mark("Confidence"), strconv.FormatFloat(c, 'f', 2, 64))
	}
	if list := doc.Metadata.Dropped; len(list) > 0 {
		fact(locale.Mark("Left out"), c.T("%s (the limits leave no room)", kit.Escape(strings.Join(list, ", "))))
	}
}

// expectedOf adds the duration and cost of the steps in earlier runs of the plan, if any. A draft
// has earlier runs if an equal request was planned before, or if it changes an active plan.
func (s *section) expectedOf(c *ui.Context, pl domain.Plan, program *walk.Program, fact func(term, text string)) error {
	flow, err := s.Reader.PlanFlow(c, pl.Key, 0, c.Site.Now().Add(-domain.ExpectedSince))
	if err != nil {
		return err
	}
	steps := make([]domain.PreviewStep, len(program.Nodes))
	for i := range program.Nodes {
		steps[i] = domain.PreviewStep{Node: program.Nodes[i].ID, Type: program.Nodes[i].Type}
	}
	fact(locale.Mark("Expected"), run.Expectation(c, flow.Expect(nil, steps), 1))
	return nil
}

// alternativesOf returns the plans that can be accepted instead of a version.
func alternativesOf(c *ui.Context, v domain.Version) []DraftAlternative {
	var doc domain.ExecutionPlan
	if v.Origin != "planner" || json.Unmarshal(v.Canonical, &doc) != nil {
		return nil // a graph with other metadata
	}
	var out []DraftAlternative
	for _, a := range doc.Metadata.Alternatives {
		if term, ok := alternatives[a.Metadata.Kind]; ok {
			out = append(out, DraftAlternative{Kind: a.Metadata.Kind, Name: c.T(term), Tokens: c.Number(int64(a.EstimatedCost)),
				Took: kit.Duration(
					time.Duration(a.EstimatedDuration) * time.Millisecond,
				), Steps: kit.Escape(strings.Join(a.StepNames(), ", "))})
		}
	}
	return out
}

var alternatives = map[string]string{"cheaper": locale.Mark("Cheaper, with only the requested steps"),
	"faster": locale.Mark("Faster, without conditions")}
