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
	p := view.AskPage{Shell: r.shell("plans", "Plan from an intent"), Intent: intent, Idem: newID(), Agents: r.agentOptions(agent)}
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
	err := r.once(func() (string, error) {
		// The model may take longer than a page may read, and what it made is kept
		// when the browser has gone.
		asked, err := r.s.Planner.Ask(context.WithoutCancel(r.c.Request().Context()), r.who.actor(), kairos.AskRequest{Query: intent, Agent: agent, PlanOnly: true, Fresh: r.c.FormValue("fresh") != ""})
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
	for i := range program.Nodes {
		n := &program.Nodes[i]
		effect := catalog.EffectOf(n)
		row := view.DraftStep{ID: n.ID, Does: visible(doesWhat(n)), Effect: string(effect), Unsafe: effect == planner.EffectUnsafe}
		for _, need := range n.Needs {
			row.After = append(row.After, program.Nodes[need].ID)
		}
		if row.Unsafe {
			p.Unsafe++
		}
		p.Steps = append(p.Steps, row)
	}
	p.Graph = r.planGraph(program)
	return r.render(http.StatusOK, view.Draft(p))
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

// acceptDraft starts a run of exactly the version that was shown.
func (r *request) acceptDraft() error {
	pl, v, err := r.draftVersion()
	if err != nil {
		return err
	}
	input, err := planner.EncodeValue(strings.ReplaceAll(r.c.FormValue("intent"), "\r\n", "\n"))
	if err != nil {
		return kairos.Errorf(kairos.CodeInvalid, "the intent: %w", err)
	}
	return r.once(func() (string, error) {
		run, err := r.s.Engine.Start(r.ctx, r.who.actor(), kairos.StartRequest{Plan: pl.ID, Hash: v.Hash, Input: input, Origin: "ask"})
		if err != nil {
			return "", err
		}
		return "/runs/" + run.ID, nil
	})
}
