package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/view"
)

// Planner knows why plans are as they are.
type Planner interface {
	// Classify judges a query without a model.
	Classify(query string) domain.Classification
	// Explain says why the steps of a plan are in it, for the intent that it was made
	// of, and what it takes for granted.
	Explain(ctx context.Context, intent string, canonical []byte) domain.Explained
}

// isProposed reports whether a planner made a version of a plan in use, which is not
// current before somebody accepts it.
func isProposed(pl domain.Plan, v domain.Version) bool {
	return pl.Stage == domain.StageUsed && v.Origin == "planner" && v.Hash != pl.LatestHash && v.Number > pl.Latest
}

// draftedPlan fills in the plan of a draft: its picture, why each step is there,
// what it takes for granted, what it is expected to take, what is wrong with it.
func (r *request) draftedPlan(p *view.DraftPage, pl domain.Plan, v domain.Version, intent string) error {
	program, err := r.s.Engine.Program(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	path := "/plans/" + url.PathEscape(pl.Key)
	p.Name, p.Key, p.Version, p.PlanHref = visible(program.Name), pl.Key, fmt.Sprintf("v%d", v.Number), fmt.Sprintf("%s/v/%d", path, v.Number)
	if p.Name == "" {
		p.Name = pl.Key
	}
	if r.who.Role.Includes(domain.RoleAuthor) {
		p.EditHref = fmt.Sprintf("%s/edit?base=%d", path, v.Number)
	}
	fact := func(term, text string) {
		if text != "" {
			p.Facts = append(p.Facts, view.Fact{Term: r.t(term), Text: text})
		}
	}
	if r.s.Planner != nil && intent != "" {
		c := r.s.Planner.Classify(intent)
		fact(locale.Mark("Judged"), r.t(complexities[c.Complexity]))
	}
	fact(locale.Mark("Reason"), r.planReason(cmp.Or(p.Reason, v.Reason)))
	if isProposed(pl, v) {
		fact(locale.Mark("In use"), r.t("v%d is in use; this one takes its place when it is accepted.", pl.Latest))
	}
	r.estimates(v, fact)
	p.Alternatives = r.alternatives(v)
	if err := r.expectedOf(pl, program, fact); err != nil {
		return err
	}
	catalog := r.s.Engine.Catalog()
	effects, err := r.s.Engine.Effects(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	explained := domain.Explained{}
	if r.s.Planner != nil {
		explained = r.s.Planner.Explain(r.ctx, intent, v.Canonical)
	}
	for i := range program.Nodes {
		n := &program.Nodes[i]
		effect := effects[i]
		row := view.DraftStep{ID: n.ID, Does: visible(doesWhat(n)), Effect: r.effect(string(effect)), Unsafe: effect == walk.EffectUnsafe, Why: r.whyStep(n, explained), Chosen: n.ID == r.c.QueryParam("node")}
		if info := catalog.Tools[n.Tool]; info.Denied != nil && info.Denied(pl.Key) {
			p.Unusable = append(p.Unusable, r.t("%s, which %s calls, is denied", visible(n.Tool), visible(n.ID)))
		}
		for _, need := range n.Needs {
			row.After = append(row.After, program.Nodes[need].ID)
		}
		if row.Unsafe {
			p.Unsafe++
		}
		p.Steps = append(p.Steps, row)
	}
	for _, a := range explained.Assumed {
		p.Assumed = append(p.Assumed, r.t("%s of %s is %s: nobody said otherwise", visible(a.Name), visible(a.Step), visible(cut(a.Value, 200))))
	}
	for _, said := range explained.Said {
		p.Assumed = append(p.Assumed, r.t("the model says: %s", visible(cut(said, 200))))
	}
	if explained.Unmeasured > 0 {
		p.Assumed = append(p.Assumed, r.n(explained.Unmeasured, "%s step takes as long as the configuration says: it has run too seldom to know", "%s steps take as long as the configuration says: they have run too seldom to know"))
	}
	for _, id := range explained.Unusable {
		p.Unusable = append(p.Unusable, r.t("skill %s: what it is bound to is not configured", visible(id)))
	}
	for _, id := range explained.Wanted {
		p.Unusable = append(p.Unusable, r.t("the model wanted %s, which is not there or may not be planned", visible(id)))
	}
	if _, problems := r.s.Engine.CheckPlan(v.Source, planner.Format(v.Format)); len(problems) > 0 {
		for _, q := range problems {
			p.Problems = append(p.Problems, r.problemRow(q))
		}
	}
	p.Archived, p.Lines = pl.Archived, sourceLines(v)
	p.Graph = graph.Written(r.Context, &r.s.layouts, program, effects)
	return nil
}

// draftBefore shows what changed from the draft that this one was refined from.
func (r *request) draftBefore(p *view.DraftPage, before, v domain.Version) error {
	if before.Hash == v.Hash {
		p.Changed = ": " + r.t("nothing changed")
		return nil
	}
	c, err := graph.Compare(r.ctx, r.s.Engine, before.Hash, v.Hash)
	if err != nil {
		return err
	}
	here := r.c.Request().URL.Path
	if r.c.Request().Method == http.MethodGet {
		c.Chosen = r.c.QueryParam("node")
		c.Href = func(node string) string {
			if c.Gone(node) {
				return fmt.Sprintf("%s?node=%s", p.Before.Href, url.QueryEscape(node)) + "#why"
			}
			return here + "?" + url.Values{"node": {node}}.Encode() + "#why"
		}
	}
	p.Changed, p.Graph, p.Diff = ": "+c.Summary(r.Context), c.Graph(r.Context, &r.s.layouts), diffLines(plandiff.Versions(before, v))
	return nil
}

// whyStep says why a planner put a step into a plan.
func (r *request) whyStep(n *walk.ProgramNode, e domain.Explained) string {
	switch why := e.Reasons[n.ID]; why.Kind {
	case domain.ReasonAsked:
		return r.t("the request says: %s", visible(why.By))
	case domain.ReasonNeeded:
		return r.t("%s needs it", visible(why.By))
	case domain.ReasonImplied:
		return r.t("%s implies it", visible(why.By))
	case domain.ReasonGuards:
		return r.t("it checks what %s makes", visible(why.By))
	case domain.ReasonComplex:
		return r.t("so complex a request deserves it")
	case domain.ReasonModel:
		return r.t("the model says: %s", visible(cut(why.By, 200)))
	case domain.ReasonAsk:
		return r.t("what %s does cannot be repeated: a person is asked first", visible(why.By))
	}
	if n.ExpectedOutput != "" {
		return r.t("it is to give: %s", visible(n.ExpectedOutput))
	}
	return ""
}

var complexities = map[domain.Complexity]string{domain.Simple: locale.Mark("simple: one agent answers it"), domain.Moderate: locale.Mark("moderate: a plan may help"),
	domain.Complex: locale.Mark("complex: it needs several steps")}

// estimates are what the planner wrote into a step plan of its own.
func (r *request) estimates(v domain.Version, fact func(term, text string)) {
	var doc domain.ExecutionPlan
	if json.Unmarshal(v.Canonical, &doc) != nil {
		return // a graph with metadata of its own kind
	}
	if ms := doc.EstimatedDuration; ms > 0 {
		fact(locale.Mark("Estimated time"), took(time.Duration(ms)*time.Millisecond))
	} else {
		fact(locale.Mark("Estimated time"), r.t("not known: its steps have run too seldom here"))
	}
	if doc.EstimatedCost > 0 {
		fact(locale.Mark("Estimated tokens"), r.number(int64(doc.EstimatedCost)))
	} else {
		fact(locale.Mark("Estimated tokens"), r.t("not known: its steps have run too seldom here"))
	}
	if n := doc.Metadata.MeasuredSteps; n > 0 {
		fact(locale.Mark("Measured here"), r.t("%s of %s steps are estimated by medians of their runs", r.number(int64(n)), r.number(int64(len(doc.Steps)))))
	}
	if c := doc.Metadata.Confidence; c > 0 {
		fact(locale.Mark("Confidence"), strconv.FormatFloat(c, 'f', 2, 64))
	}
	if list := doc.Metadata.Dropped; len(list) > 0 {
		fact(locale.Mark("Left out"), r.t("%s (the limits leave no room)", visible(strings.Join(list, ", "))))
	}
}

// expectedOf says what the steps of a draft took and cost in runs of its plan, where
// there are some: the same was asked before, or it changes a plan in use.
func (r *request) expectedOf(pl domain.Plan, program *walk.Program, fact func(term, text string)) error {
	flow, err := r.s.Reader.PlanFlow(r.ctx, pl.Key, 0, r.s.now().Add(-domain.ExpectedSince))
	if err != nil {
		return err
	}
	steps := make([]domain.PreviewStep, len(program.Nodes))
	for i := range program.Nodes {
		steps[i] = domain.PreviewStep{Node: program.Nodes[i].ID, Type: program.Nodes[i].Type}
	}
	fact(locale.Mark("Expected"), r.expectation(flow.Expect(nil, steps), 1))
	return nil
}

// alternatives are the plans that can be accepted instead of a version.
func (r *request) alternatives(v domain.Version) []view.DraftAlternative {
	var doc domain.ExecutionPlan
	if v.Origin != "planner" || json.Unmarshal(v.Canonical, &doc) != nil {
		return nil // a graph with metadata of its own kind
	}
	var out []view.DraftAlternative
	for _, a := range doc.Metadata.Alternatives {
		if term, ok := alternatives[a.Metadata.Kind]; ok {
			out = append(out, view.DraftAlternative{Kind: a.Metadata.Kind, Name: r.t(term), Tokens: r.number(int64(a.EstimatedCost)), Took: took(time.Duration(a.EstimatedDuration) * time.Millisecond),
				Steps: visible(strings.Join(a.StepNames(), ", "))})
		}
	}
	return out
}

var alternatives = map[string]string{"cheaper": locale.Mark("Cheaper, with what was asked for only"), "faster": locale.Mark("Faster, without conditions")}

// doesWhat is what a node does, in a few words.
func doesWhat(n *walk.ProgramNode) string {
	who := n.TypeName
	switch {
	case n.Agent != "":
		who = n.Agent
	case n.Tool != "":
		who = n.Tool
	}
	if n.Task != "" {
		return who + ": " + n.Task
	}
	return who
}

// startDrafted starts a run of exactly the version that was shown, or a dry one,
// which changes nothing and stays out of lists.
func (r *request) startDrafted(pl domain.Plan, v domain.Version, intent string, dry bool) error {
	input, err := jsonvalue.Encode(intent)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the intent: %w", err)
	}
	act, req := "", domain.StartRequest{Plan: pl.ID, Hash: v.Hash, Input: input, Origin: "ask"}
	if dry {
		req.Dry, req.Labels = true, map[string]string{"draft": "yes"}
		act = ":try"
	}
	m := r.meta()
	if m.Key != "" {
		m.Key += act
	}
	run, err := r.s.App.Runs.Start(r.ctx, app.StartRequest{Meta: m, StartRequest: req})
	if err != nil {
		return err
	}
	return r.to("/runs/" + run.ID)
}
