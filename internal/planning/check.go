package planning

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// Broken is a violated postcondition or invariant of a plan.
type Broken struct {
	Rule string `json:"rule"` // such as POST-PLAN-001
	Text string `json:"text"`

	message, advice domain.Message
	resource        bool
}

// CheckPlan checks the postconditions POST-PLAN-001 to 003 and the invariant INV-PLAN-002 of a step
// plan. If r is not nil, it also checks POST-PLAN-004. It does not check INV-PLAN-001, which
// compares two plans of one request.
func CheckPlan(p *planner.StepPlan, r *Request) []Broken {
	var out []Broken
	add := func(rule, format string, args ...any) {
		out = append(out, Broken{Rule: rule, Text: fmt.Sprintf(format, args...), message: domain.Messagef(format, args...)})
	}
	order := map[string]int{}
	whole := len(p.Steps) > 0
	for _, s := range p.Steps {
		order[s.ID] = s.Order
		if s.SkillID == "" && s.AgentID == "" && s.Tool == "" || s.Order < 0 {
			whole = false
		}
	}
	if !whole {
		add("POST-PLAN-001", "Plan must have at least one valid step")
	}
	var unknown, late []string
	for _, s := range p.Steps {
		for _, d := range s.Dependencies {
			before, ok := order[d]
			switch {
			case !ok:
				unknown = append(unknown, d)
			case before >= s.Order:
				late = append(late, fmt.Sprintf("%s before %s", d, s.ID))
			}
		}
	}
	if len(unknown) > 0 {
		add("POST-PLAN-002", "All step dependencies must reference valid steps (unknown: %s)", strings.Join(unknown, ", "))
	}
	if len(late) > 0 {
		add("POST-PLAN-003", "Step dependencies must be executed before dependent steps (%s)", strings.Join(late, ", "))
	}
	if r != nil {
		var over []violation
		c := r.Constraints
		if c.MaxSteps > 0 && len(p.Steps) > c.MaxSteps {
			over = append(over, tooManySteps(len(p.Steps), c.MaxSteps))
		}
		if c.Timeout != nil && float64(p.EstimatedDurationMs) > *c.Timeout {
			over = append(over, tooSlow(float64(p.EstimatedDurationMs), *c.Timeout))
		}
		if c.Budget > 0 && p.EstimatedCost > c.Budget {
			over = append(over, tooManyTokens("POST-PLAN-004", p.EstimatedCost, c.Budget))
		}
		for _, v := range over {
			out = append(out, Broken{Rule: v.rule, Text: v.text.String(), message: v.text, advice: v.advice, resource: v.resource})
		}
	}
	if cyclic(p) {
		add("INV-PLAN-002", "Plan must have no cyclic dependencies")
	}
	return out
}

// cyclic reports whether the dependencies of the plan contain a cycle.
func cyclic(p *planner.StepPlan) bool {
	needs := map[string][]string{}
	for _, s := range p.Steps {
		needs[s.ID] = s.Dependencies
	}
	const open, done = 1, 2
	state := map[string]int{}
	type frame struct {
		id   string
		next int
	}
	for _, s := range p.Steps {
		stack := []frame{{id: s.ID}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == 0 {
				if state[f.id] == done {
					stack = stack[:len(stack)-1]
					continue
				}
				state[f.id] = open
			}
			if f.next == len(needs[f.id]) {
				state[f.id] = done
				stack = stack[:len(stack)-1]
				continue
			}
			d := needs[f.id][f.next]
			f.next++
			if state[d] == open {
				return true
			}
			stack = append(stack, frame{id: d})
		}
	}
	return false
}

func asViolations(list []Broken) []violation {
	out := make([]violation, len(list))
	for i, b := range list {
		out[i] = violation{b.Rule, b.message, b.advice, b.resource}
	}
	return out
}

// known returns the newest version of the plan of an equal request, or nil if there is no such
// version that can still run.
func (s *Service) known(ctx context.Context, key string) (*domain.PlannerPlan, error) {
	p, v, err := s.engine.NewestVersion(ctx, key)
	return s.usable(p, v, err)
}

// usable converts a stored version into the answer to a request. It returns nil if the version does
// not exist or can no longer run.
func (s *Service) usable(p domain.Plan, v domain.Version, err error) (*domain.PlannerPlan, error) {
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case p.Archived:
		return nil, nil
	}
	doc, problems := s.engine.CheckPlan(v.Source, planner.Format(v.Format))
	if problems.Err() != nil || doc.Steps == nil {
		return nil, nil // a tool, agent, or skill of the plan is not configured any more
	}
	out, err := s.examine(doc, v.ByPerson)
	if err != nil {
		return nil, nil
	}
	out.ID, out.Key, out.Version, out.Hash, out.Name, out.Reason, out.Found = p.ID, p.Key, v.Number, v.Hash, p.Name, v.Reason, true
	out.Proposed = v.Hash != p.LatestHash
	switch {
	case v.ByPerson:
		out.By = "person"
	case doc.Steps.Steps[0].SkillID != "":
		out.By = "rules"
	default:
		out.By = "model"
	}
	return out, nil
}

// examine describes the side effects of a plan. It rejects secrets and exec in a plan without a
// human author.
func (s *Service) examine(doc *planner.Document, byPerson bool) (*domain.PlannerPlan, error) {
	catalog := s.engine.Catalog()
	program, err := doc.Program(catalog)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the generated plan: %w", err)
	}
	out := &domain.PlannerPlan{Document: doc.Canonical()}
	if !byPerson && strings.Contains(string(doc.Source), "${secret.") {
		return nil, forbidden
	}
	for i := range program.Nodes {
		n := &program.Nodes[i]
		out.Steps = append(out.Steps, describe(program, n))
		if err := s.mayUse(doc.ID, n); err != nil && !byPerson {
			return nil, err
		}
		if s.unsafe(catalog, n) {
			out.Unsafe = append(out.Unsafe, n.ID)
		}
	}
	return out, nil
}

// store stores the plan as a version with the origin "planner". The engine therefore ignores the
// side-effect classes that the version claims.
func (s *Service) store(ctx context.Context, actor domain.Actor, d Decision) (*domain.PlannerPlan, error) {
	if d.Plan != nil {
		same, err := s.unchanged(ctx, d.Plan)
		if err != nil {
			return nil, err
		}
		if same != nil {
			same.Usage = usageOf(d.Usage)
			return same, nil
		}
		d.Plan.Plan.CreatedAt = time.Now().UTC().Format(time.RFC3339)
	}
	src, err := document(d)
	if err != nil {
		return nil, err
	}
	doc, problems := s.engine.CheckPlan(src, planner.FormatJSON)
	if err := problems.Err(); err != nil {
		return nil, refusal(noPlan(domain.Messagef("%s", err), rephrase()))
	}
	out, err := s.examine(doc, false)
	if err != nil {
		return nil, refusal(err)
	}
	// The planner is the author, so that everyone who may request the plan can have it stored.
	author := actor
	author.Role = domain.RoleAuthor
	p, v, _, _, err := s.engine.SavePlan(ctx, author, src, planner.FormatJSON, "planner", d.Reason)
	if err != nil {
		return nil, err
	}
	out.ID, out.Key, out.Version, out.Hash, out.Name, out.Reason, out.By = p.ID, p.Key, v.Number, v.Hash, p.Name, v.Reason, cmp.Or(
		d.By,
		"direct",
	)
	if d.Plan == nil { // requests that this agent answers directly share one version
		out.Reason = d.Reason
	}
	out.Usage, out.Proposed = usageOf(d.Usage), v.Hash != p.LatestHash
	return out, nil
}

// unchanged finds a version with the same content as a new plan. It compares the current version,
// and the newest version that was not accepted. It ignores times.
func (s *Service) unchanged(ctx context.Context, p *planner.StepPlan) (*domain.PlannerPlan, error) {
	old, err := s.known(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if same, err := s.same(old, p); err != nil || same != nil {
		return same, err
	}
	plan, v, err := s.engine.ProposedVersion(ctx, p.ID)
	if old, err = s.usable(plan, v, err); err != nil {
		return nil, err
	}
	return s.same(old, p)
}

// same returns a stored plan if it has the same content as p, and nil otherwise.
func (s *Service) same(old *domain.PlannerPlan, p *planner.StepPlan) (*domain.PlannerPlan, error) {
	if old == nil {
		return nil, nil
	}
	doc, problems := planner.Parse(old.Document, planner.WithFormat(planner.FormatJSON), planner.WithLenientRules())
	if problems.Err() != nil || doc.Steps == nil {
		return nil, nil
	}
	timeless := *doc.Steps
	timeless.Plan.CreatedAt = ""
	before, err := timeless.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("write plan %s: %w", p.ID, err)
	}
	now, err := p.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	if !bytes.Equal(before, now) {
		return nil, nil
	}
	return old, nil
}

// forbidden rejects secrets and exec, which only a person may write into a plan.
var forbidden = noPlan(
	domain.Messagef("a generated plan cannot use exec or secrets"),
	domain.Messagef("write the plan yourself"),
)

// mayUse rejects what a plan without a human author may not use: exec, and tools that its requester
// may not use. The configuration defines what runs of that plan may use.
func (s *Service) mayUse(plan string, n *walk.ProgramNode) error {
	switch {
	case n.Tool == "exec":
		return forbidden
	case n.Tool != "" && s.c.Denied != nil && s.c.Denied(plan, n.Tool):
		return noPlan(domain.Messagef("the tool %q is denied in runs of plan %s", n.Tool, plan),
			domain.Messagef("allow it under tools.permissions or tools.plans of the configuration"))
	}
	return nil
}
