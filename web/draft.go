package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/plandiff"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// Planner makes plans of intents.
type Planner interface {
	// Classify judges a query without a model.
	Classify(query string) kairos.Classification
	// Ask stores the plan that answers an intent; with PlanOnly nothing is started.
	// The error of an intent that gets none wraps a *kairos.PlanError.
	Ask(ctx context.Context, actor kairos.Actor, r kairos.AskRequest) (kairos.Asked, error)
	// Explain says why the steps of a plan are in it, for the intent that it was made
	// of, and what it takes for granted.
	Explain(ctx context.Context, intent string, canonical []byte) kairos.Explained
}

// askPage takes an intent.
func (r *request) askPage() error {
	return r.askForm(http.StatusOK, r.c.QueryParam("q"), r.c.QueryParam("agent"), nil)
}

// askForm shows the form again, with what was typed and why there is no plan.
func (r *request) askForm(code int, intent, agent string, refused error) error {
	if r.s.Planner == nil {
		return kairos.Errorf(kairos.CodeNotFound, "nothing makes plans here")
	}
	p := view.AskPage{Shell: r.shell("plans", "Plan from an intent"), Intent: intent, Idem: newID(), Agents: r.agentOptions(agent), MaxSteps: r.c.FormValue("max_steps"), Budget: r.c.FormValue("budget")}
	if refused != nil {
		p.Error = sentence(refused)
		if e, ok := errors.AsType[*kairos.PlanError](refused); ok {
			p.Rules, p.Suggestion, p.Answer = e.Violations, e.Suggestion, visible(e.Answer)
		}
	}
	return r.render(code, view.Ask(p))
}

// agentOptions are the agents that may answer directly.
func (r *request) agentOptions(chosen string) []view.Option {
	out := []view.Option{{Text: r.t("As the request needs"), Selected: chosen == ""}}
	agents := r.s.Engine.Catalog().Agents
	for _, id := range slices.Sorted(maps.Keys(agents)) {
		if agents[id].System {
			continue
		}
		out = append(out, view.Option{Value: id, Text: id, Selected: id == chosen})
	}
	return out
}

// ask makes a draft: a stored plan that nothing has started.
func (r *request) ask() error {
	intent := strings.TrimSpace(strings.ReplaceAll(r.c.FormValue("intent"), "\r\n", "\n"))
	agent := r.c.FormValue("agent")
	if r.s.Planner == nil || intent == "" {
		return r.askForm(http.StatusUnprocessableEntity, intent, agent, kairos.Errorf(kairos.CodeInvalid, "say what is wanted"))
	}
	var bounds kairos.Constraints
	for _, b := range []struct {
		name string
		set  func(float64)
	}{{"max_steps", func(v float64) { bounds.MaxSteps = int(v) }}, {"budget", func(v float64) { bounds.Budget = v }}} {
		if typed := strings.TrimSpace(r.c.FormValue(b.name)); typed != "" {
			v, err := strconv.ParseFloat(typed, 64)
			if err != nil || v < 0 || v > 1e12 {
				return r.askForm(http.StatusUnprocessableEntity, intent, agent, kairos.Errorf(kairos.CodeInvalid, "%q is not a number", typed))
			}
			b.set(v)
		}
	}
	err := r.once(func() (string, error) {
		// The model may take longer than a page may read, and what it made is kept
		// when the browser has gone.
		asked, err := r.s.Planner.Ask(context.WithoutCancel(r.c.Request().Context()), r.who.actor(), kairos.AskRequest{Query: intent, Agent: agent, PlanOnly: true, Fresh: r.c.FormValue("fresh") != "", Constraints: bounds})
		if err != nil {
			return "", err
		}
		q := url.Values{"q": {intent}}
		if asked.Plan.Found {
			q.Set("found", "1")
		}
		if asked.Agent != "" {
			q.Set("agent", asked.Agent)
		}
		if from := r.c.FormValue("from"); from != "" && from != asked.Plan.Hash {
			q.Set("from", from)
		}
		return fmt.Sprintf("/ask/%s/v/%d?%s", url.PathEscape(asked.Plan.Key), asked.Plan.Version, q.Encode()), nil
	})
	switch kairos.CodeOf(err) {
	case kairos.CodeInvalid, kairos.CodeTooLarge, kairos.CodeUnavailable:
		return r.askForm(http.StatusUnprocessableEntity, intent, agent, err)
	}
	return err
}

// draftVersion finds the version that a draft's address names.
func (r *request) draftVersion() (kairos.Plan, kairos.Version, error) {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return pl, kairos.Version{}, err
	}
	number, err := strconv.Atoi(r.c.Param("number"))
	if err != nil {
		return pl, kairos.Version{}, kairos.Errorf(kairos.CodeNotFound, "version %q is not a number", r.c.Param("number"))
	}
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
	return pl, v, err
}

// draft shows a plan before anything of it runs.
func (r *request) draft() error {
	pl, v, err := r.draftVersion()
	if err != nil {
		return err
	}
	program, err := r.s.Engine.Program(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	intent := strings.TrimSpace(r.c.QueryParam("q"))
	path := "/plans/" + url.PathEscape(pl.Key)
	p := view.DraftPage{Shell: r.shell("plans", "Draft"), Name: program.Name, Key: pl.Key, Version: fmt.Sprintf("v%d", v.Number), Intent: intent,
		Post: fmt.Sprintf("/ask/%s/v/%d", url.PathEscape(pl.Key), v.Number), Idem: newID(), PlanHref: fmt.Sprintf("%s/v/%d", path, v.Number),
		CanStart: r.who.Role.Includes(kairos.RoleOperator), Agents: r.agentOptions(r.c.QueryParam("agent"))}
	if p.Name == "" {
		p.Name = pl.Key
	}
	if r.who.Role.Includes(kairos.RoleAuthor) {
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
	fact(locale.Mark("Reason"), visible(v.Reason))
	if r.c.QueryParam("found") != "" {
		fact(locale.Mark("Asked before"), r.t("The same was asked before: this is its plan."))
	}
	r.estimates(v, fact)
	catalog := r.s.Engine.Catalog()
	explained := kairos.Explained{}
	if r.s.Planner != nil {
		explained = r.s.Planner.Explain(r.ctx, intent, v.Canonical)
	}
	for i := range program.Nodes {
		n := &program.Nodes[i]
		effect := catalog.EffectOf(n)
		row := view.DraftStep{ID: n.ID, Does: visible(doesWhat(n)), Effect: string(effect), Unsafe: effect == planner.EffectUnsafe, Why: r.whyStep(n, explained)}
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
	if explained.Unmeasured > 0 {
		p.Assumed = append(p.Assumed, r.n(explained.Unmeasured, "%s step takes as long as the configuration says: it has run too seldom to know", "%s steps take as long as the configuration says: they have run too seldom to know"))
	}
	for _, id := range explained.Unusable {
		p.Unusable = append(p.Unusable, r.t("skill %s: what it is bound to is not configured", visible(id)))
	}
	if _, problems := r.s.Engine.CheckPlan(v.Source, planner.Format(v.Format)); len(problems) > 0 {
		for _, q := range problems {
			p.Problems = append(p.Problems, r.problemRow(q))
		}
	}
	p.Draft, p.CanDiscard, p.Hash = pl.Stage == kairos.StageDraft, pl.Stage == kairos.StageDraft && !pl.Archived && r.who.Role.Includes(kairos.RoleAuthor), v.Hash
	p.Archived, p.Lines = pl.Archived, sourceLines(v)
	p.Graph = r.planGraph(program)
	if err := r.draftBefore(&p, v, program); err != nil {
		return err
	}
	return r.render(http.StatusOK, view.Draft(p))
}

// draftBefore shows what changed from the draft that this one was refined from.
func (r *request) draftBefore(p *view.DraftPage, v kairos.Version, program *planner.Program) error {
	from := r.c.QueryParam("from")
	if from == "" || from == v.Hash {
		return nil
	}
	before, err := r.s.Reader.VersionByHash(r.ctx, from)
	if kairos.CodeOf(err) == kairos.CodeNotFound {
		return nil // an address that somebody changed
	} else if err != nil {
		return err
	}
	old, err := r.s.Engine.Program(r.ctx, before.Hash)
	if err != nil {
		return err
	}
	c := compared(old, program)
	p.Before = &view.Link{Text: before.PlanKey, Href: fmt.Sprintf("/ask/%s/v/%d?%s", url.PathEscape(before.PlanKey), before.Number, url.Values{"q": {p.Intent}}.Encode())}
	p.Changed, p.Graph, p.Diff = c.says(r), c.graph(r), diffLines(plandiff.Versions(before, v))
	return nil
}

// whyStep says why a planner put a step into a plan.
func (r *request) whyStep(n *planner.ProgramNode, e kairos.Explained) string {
	switch why := e.Reasons[n.ID]; why.Kind {
	case kairos.ReasonAsked:
		return r.t("the request says: %s", visible(why.By))
	case kairos.ReasonNeeded:
		return r.t("%s needs it", visible(why.By))
	case kairos.ReasonImplied:
		return r.t("%s implies it", visible(why.By))
	case kairos.ReasonComplex:
		return r.t("so complex a request deserves it")
	}
	if n.ExpectedOutput != "" {
		return r.t("it is to give: %s", visible(n.ExpectedOutput))
	}
	return ""
}

var complexities = map[kairos.Complexity]string{kairos.Simple: locale.Mark("simple: one agent answers it"), kairos.Moderate: locale.Mark("moderate: a plan may help"),
	kairos.Complex: locale.Mark("complex: it needs several steps")}

// estimates are what the planner wrote into a step plan of its own.
func (r *request) estimates(v kairos.Version, fact func(term, text string)) {
	var doc struct {
		EstimatedDuration int64   `json:"estimatedDuration"` // milliseconds
		EstimatedCost     float64 `json:"estimatedCost"`
		Metadata          struct {
			Confidence    float64
			MeasuredSteps int
			Alternatives  []kairos.PlanAlternative
		}
		Steps []struct{}
	}
	if json.Unmarshal(v.Canonical, &doc) != nil {
		return // a graph with metadata of its own kind
	}
	if ms := doc.EstimatedDuration; ms > 0 {
		fact(locale.Mark("Estimated time"), r.t("%s ms", r.number(ms)))
	}
	if doc.EstimatedCost > 0 {
		fact(locale.Mark("Estimated tokens"), r.number(int64(doc.EstimatedCost)))
	}
	if n := doc.Metadata.MeasuredSteps; n > 0 {
		fact(locale.Mark("Measured here"), r.t("%s of %s steps are estimated by medians of their runs", r.number(int64(n)), r.number(int64(len(doc.Steps)))))
	}
	if c := doc.Metadata.Confidence; c > 0 {
		fact(locale.Mark("Confidence"), strconv.FormatFloat(c, 'f', 2, 64))
	}
	for _, a := range doc.Metadata.Alternatives {
		if term, ok := alternatives[a.Kind]; ok {
			fact(term, r.t("%s tokens, %s ms: %s", r.number(int64(a.EstimatedCost)), r.number(a.EstimatedDurationMs), visible(strings.Join(a.Skills, ", "))))
		}
	}
}

var alternatives = map[string]string{"cheaper": locale.Mark("Cheaper, with what was asked for only"), "faster": locale.Mark("Faster, without conditions")}

// doesWhat is what a node does, in a few words.
func doesWhat(n *planner.ProgramNode) string {
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

// acceptDraft takes exactly the version that was shown into use, tries it, starts
// a run of it, or discards it.
func (r *request) acceptDraft() error {
	pl, v, err := r.draftVersion()
	if err != nil {
		return err
	}
	intent := strings.ReplaceAll(r.c.FormValue("intent"), "\r\n", "\n")
	path := "/plans/" + url.PathEscape(pl.Key)
	switch r.c.FormValue("do") {
	case "accept":
		return r.onceOf(":accept", func() (string, error) {
			_, err := r.s.Engine.AcceptPlan(r.ctx, r.who.actor(), pl.ID, r.t("v%d, made of: %s", v.Number, cut(intent, 400)))
			return path, err
		})
	case "discard":
		return r.onceOf(":discard", func() (string, error) {
			return "/plans?state=draft", r.s.Engine.ArchivePlan(r.ctx, r.who.actor(), pl.ID, true, r.t("the draft was discarded"))
		})
	}
	input, err := planner.EncodeValue(intent)
	if err != nil {
		return kairos.Errorf(kairos.CodeInvalid, "the intent: %w", err)
	}
	act, req := "", kairos.StartRequest{Plan: pl.ID, Hash: v.Hash, Input: input, Origin: "ask"}
	if r.c.FormValue("do") == "try" {
		req.Dry, req.Labels = true, map[string]string{"draft": "yes"}
		act = ":try"
	}
	return r.onceOf(act, func() (string, error) {
		run, err := r.s.Engine.Start(r.ctx, r.who.actor(), req)
		if err != nil {
			return "", err
		}
		return "/runs/" + run.ID, nil
	})
}
