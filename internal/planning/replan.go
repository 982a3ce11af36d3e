package planning

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/planning/prompts"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// maxShown is the maximum length of a result in the prompt, in runes.
const maxShown = 1000

// Replan plans the remaining steps of a plan that cannot continue. In a step plan, completed and
// waiting steps stay, and new steps follow. In a graph, the failed step becomes a task of an agent.
// Rules plan skills, without the failed one. The model plans everything else.
func (s *Service) Replan(ctx context.Context, r domain.ReplanRequest) (domain.Replanned, error) {
	var out domain.Replanned
	if err := s.mayRequest(ctx, r.Run.Actor); err != nil {
		return out, err
	}
	doc, problems := planner.Parse(r.Version.Source, planner.WithFormat(planner.Format(r.Version.Format)), planner.WithLenientRules())
	if doc == nil {
		return out, fmt.Errorf("read the plan: %w", problems.Err())
	}
	if doc.Graph != nil {
		return s.replanGraph(ctx, r, doc.Graph)
	}
	p, keep := doc.Steps, keeps(r)
	tail, reason, err := s.tailByRules(ctx, r, p, keep)
	if err != nil {
		var g Generated
		g, err = s.tailByModel(ctx, r, p, err)
		out.Usage = usageOf(g.Usage)
		if err != nil {
			return out, err
		}
		tail, reason = g.Plan.Steps, g.Reasoning
	}
	next := *p
	for _, st := range p.Steps {
		for i := range tail {
			if st.ID == r.Node {
				tail[i].OnError = cmp.Or(tail[i].OnError, st.OnError) // it may be replanned again
			}
		}
	}
	next.Steps = graft(p.Steps, keep, done(r), tail)
	if broken := CheckPlan(&next, nil); len(broken) > 0 {
		return out, refuse(asViolations(broken))
	}
	src, err := next.Encode(planner.FormatJSON)
	if err != nil {
		return out, fmt.Errorf("write the new plan: %w", err)
	}
	out.Source, out.Reason = src, reasonOf(r, reason)
	added := map[string]bool{}
	for _, st := range next.Steps {
		added[st.ID] = !keep[st.ID]
	}
	out.Unsafe, err = s.judgeTail(src, added, next.Steps[len(next.Steps)-len(tail):])
	return out, err
}

// mayRequest rejects a replan for a person who may no longer start runs, because it is new work in
// the name of the person who started the run.
func (s *Service) mayRequest(ctx context.Context, name string) error {
	if s.c.Role == nil {
		return nil
	}
	role, err := s.c.Role(ctx, name)
	if err != nil {
		return fmt.Errorf("the effects of %s: %w", name, err)
	}
	if !role.Includes(domain.RoleOperator) {
		return noPlan(domain.Messagef("%s started the run, and is no longer permitted to start runs", name),
			domain.Messagef("rerun or fork it yourself"))
	}
	return nil
}

func reasonOf(r domain.ReplanRequest, reason string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s failed (%s); %s", r.Node, r.Failure.Message, reason), "; ")
}

func usageOf(u llm.Usage) domain.Usage {
	return domain.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, Cost: u.Cost}
}

// keeps returns the nodes that stay: completed and waiting ones.
func keeps(r domain.ReplanRequest) map[string]bool {
	keep := done(r)
	for _, id := range r.Open {
		keep[id] = true
	}
	for _, st := range r.Settled {
		keep[st.Node] = true
	}
	delete(keep, r.Node)
	return keep
}

// done returns the completed nodes.
func done(r domain.ReplanRequest) map[string]bool {
	m := map[string]bool{}
	for _, st := range r.Settled {
		if st.Status == domain.NodeCompleted {
			m[st.Node] = true
		}
	}
	return m
}

// graft appends a tail to the steps that stay, with ids that the plan has never used. A plan
// without dependencies keeps none, and its steps run in order. In any other plan, a new step
// without its own dependencies depends on the new step before it. The first new step depends on all
// completed steps.
func graft(old []planner.Step, keep, done map[string]bool, tail []planner.Step) []planner.Step {
	used, sequential, last := map[string]bool{}, true, 0
	var steps []planner.Step
	var roots []string
	for _, st := range old {
		used[st.ID] = true
		sequential = sequential && len(st.Dependencies) == 0
		if keep[st.ID] {
			steps = append(steps, st)
			last = max(last, st.Order)
			if done[st.ID] {
				roots = append(roots, st.ID)
			}
		}
	}
	names, n := map[string]string{}, len(old)
	for _, st := range tail {
		for n++; used[fmt.Sprintf("step-%d", n)]; n++ {
			continue
		}
		names[st.ID] = fmt.Sprintf("step-%d", n)
	}
	previous := ""
	for _, st := range tail {
		st.ID, last = names[st.ID], last+1
		st.Order = last
		st.Params = renamed(st.Params, names)
		var needs []string
		for _, d := range st.Dependencies {
			needs = append(needs, cmp.Or(names[d], d))
		}
		if c := st.Condition; c != nil && c.Expr != "" {
			st.Condition = &planner.StepCondition{Type: c.Type, Expr: renamedText(c.Expr, names), Unknown: c.Unknown}
		}
		switch {
		case sequential:
			needs = nil
		case len(needs) == 0 && previous != "":
			needs = []string{previous}
		case len(needs) == 0:
			needs = roots
		}
		st.Dependencies, previous = needs, st.ID
		steps = append(steps, st)
	}
	return steps
}

// renamed replaces step ids in references of the form `<id>.result…`.
func renamed(params map[string]any, names map[string]string) map[string]any {
	if params == nil {
		return nil
	}
	out := make(map[string]any, len(params))
	for k, v := range params {
		if text, ok := v.(string); ok {
			if id, rest, found := strings.Cut(text, ".result"); found && names[id] != "" && (rest == "" || rest[0] == '.') {
				v = names[id] + ".result" + rest
			}
		}
		out[k] = v
	}
	return out
}

// renamedText replaces step ids in an expression that the rules generated.
func renamedText(expr string, names map[string]string) string {
	var pairs []string
	for old, id := range names {
		pairs = append(pairs, fmt.Sprintf("output[%q]", old), fmt.Sprintf("output[%q]", id))
	}
	return strings.NewReplacer(pairs...).Replace(expr)
}

// tailByRules plans the request again without the failed skill, and returns the steps that are not
// completed.
func (s *Service) tailByRules(
	ctx context.Context,
	r domain.ReplanRequest,
	p *planner.StepPlan,
	keep map[string]bool,
) ([]planner.Step, string, error) {
	if s.c.Mode == ByModel {
		return nil, "", fmt.Errorf("planning rules are disabled")
	}
	failed, have := "", map[string]string{} // skill → its completed or waiting step
	for _, st := range p.Steps {
		if st.SkillID == "" {
			return nil, "", fmt.Errorf("step %s names no skill", st.ID)
		}
		if st.ID == r.Node {
			failed = st.SkillID
		}
		if keep[st.ID] {
			have[st.SkillID] = st.ID
		}
	}
	usable := slices.DeleteFunc(s.rules.Skills(), func(id string) bool { return id == failed })
	fresh, err := s.Plan(ctx, Request{UserIntent: intentOf(r, p), SystemContext: SystemContext{AvailableSkills: usable}})
	if err != nil {
		return nil, "", err
	}
	// A completed step replaces the new step with the same skill.
	names := map[string]string{}
	for _, st := range fresh.Steps {
		names[st.ID] = cmp.Or(have[st.SkillID], "new-"+st.ID)
	}
	var tail []planner.Step
	for _, st := range fresh.Steps {
		if have[st.SkillID] != "" {
			continue
		}
		st.ID, st.Params = names[st.ID], renamed(st.Params, names)
		for i, d := range st.Dependencies {
			st.Dependencies[i] = names[d]
		}
		if c := st.Condition; c != nil {
			st.Condition = &planner.StepCondition{Type: c.Type, Expr: renamedText(c.Expr, names), Unknown: c.Unknown}
		}
		tail = append(tail, st)
	}
	return tail, "replanned without the skill " + failed, nil
}

// tailByModel requests the remaining steps from the model.
func (s *Service) tailByModel(ctx context.Context, r domain.ReplanRequest, p *planner.StepPlan, refused error) (Generated, error) {
	if s.c.Mode == ByRules || s.c.Generator == nil {
		return Generated{}, refused
	}
	var left []string
	keep, failed := keeps(r), r.Node
	for _, st := range p.Steps {
		switch what := cmp.Or(st.Task, st.SkillID, st.Tool); {
		case st.ID == r.Node:
			failed = what
		case !keep[st.ID]:
			left = append(left, what)
		}
	}
	return s.ask(ctx, s.c.Generator, r, intentOf(r, p), failed, left)
}

// ask requests a plan from a model. If the answer names one agent, the tail has one step.
func (s *Service) ask(
	ctx context.Context,
	model *Generator,
	r domain.ReplanRequest,
	intent, failed string,
	left []string,
) (Generated, error) {
	var results []string
	for _, st := range r.Settled {
		if st.Status == domain.NodeCompleted {
			results = append(results, fmt.Sprintf("%s: %s", cmp.Or(st.Task, st.Node), shown(st.Output)))
		}
	}
	informed := *model
	s.inform(&informed, s.withState(Request{}))
	g, err := informed.Generate(ctx, prompts.Replan(intent, results, failed+": "+r.Failure.Message, left))
	if err == nil && g.Plan == nil {
		g.Plan = &planner.StepPlan{Steps: []planner.Step{{ID: "step-1", Order: 1, AgentID: g.Direct, Task: failed}}}
	}
	return g, err
}

// shown formats a result for the prompt.
func shown(raw domain.RawJSON) string {
	text := string(raw)
	if v, err := jsonvalue.Decode(raw); err == nil {
		text = jsonvalue.Text(v)
	}
	if runes := []rune(text); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return text
}

// intentOf returns the purpose of the plan: the run's input if it is a text, otherwise the plan's
// description.
func intentOf(r domain.ReplanRequest, p *planner.StepPlan) string {
	var text string
	if json.Unmarshal(r.Run.Input, &text) == nil && strings.TrimSpace(text) != "" {
		return text
	}
	return cmp.Or(p.Description, p.Name, p.ID)
}

// replanGraph replaces a failed node with a task of an agent.
func (s *Service) replanGraph(ctx context.Context, r domain.ReplanRequest, g *planner.Graph) (domain.Replanned, error) {
	var out domain.Replanned
	if s.c.Mode == ByRules || s.c.Generator == nil {
		return out, noPlan(
			domain.Messagef("no planning model is configured"),
			domain.Messagef("configure a planning model"),
		)
	}
	model := *s.c.Generator
	model.MaxSteps = 1
	p := &planner.StepPlan{ID: g.ID, Name: g.Name, Description: g.Description}
	made, err := s.ask(ctx, &model, r, intentOf(r, p), r.Node, nil)
	out.Usage = usageOf(made.Usage)
	if err != nil {
		return out, err
	}
	step := made.Plan.Steps[0]
	next := *g
	next.Nodes = make(map[string]planner.Node, len(g.Nodes))
	for key, n := range g.Nodes {
		if cmp.Or(n.ID, key) == r.Node {
			n.Type, n.Agent, n.Tool, n.Plan, n.Plans, n.Do = walk.TypeAgent, step.AgentID, "", "", nil, nil
			n.Effect, n.Metadata = "", nil
			n.Input = step.Task + "\n\nWhat came before:\n${last}"
		}
		next.Nodes[key] = n
	}
	if out.Source, err = next.Encode(planner.FormatJSON); err != nil {
		return out, fmt.Errorf("write the new plan: %w", err)
	}
	out.Reason = reasonOf(r, made.Reasoning)
	out.Unsafe, err = s.judgeTail(out.Source, map[string]bool{r.Node: true}, []planner.Step{step})
	return out, err
}

// judgeTail checks the nodes that are new.
func (s *Service) judgeTail(src []byte, added map[string]bool, steps []planner.Step) (unsafe []string, err error) {
	for _, st := range steps {
		if raw, err := json.Marshal(st); err != nil || strings.Contains(string(raw), "${secret.") {
			return nil, forbidden
		}
	}
	doc, problems := s.engine.CheckPlan(src, planner.FormatJSON)
	if err := problems.Err(); err != nil {
		return nil, noPlan(domain.Messagef("%s", err), rephrase())
	}
	catalog := s.engine.Catalog()
	program, err := doc.Program(catalog)
	if err != nil {
		return nil, fmt.Errorf("the generated plan: %w", err)
	}
	for i := range program.Nodes {
		n := &program.Nodes[i]
		switch {
		case !added[n.ID]:
		case s.mayUse(doc.ID, n) != nil:
			return nil, s.mayUse(doc.ID, n)
		case s.unsafe(catalog, n):
			unsafe = append(unsafe, n.ID)
		}
	}
	return unsafe, nil
}
