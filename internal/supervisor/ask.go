package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// Engine is what asking needs of the engine.
type Engine interface {
	SavePlan(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, origin, reason string) (kairos.Plan, kairos.Version, bool, planner.Problems, error)
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
	Start(ctx context.Context, actor kairos.Actor, r kairos.StartRequest) (kairos.Run, error)
	Catalog() *planner.Catalog
}

// Service turns intents into stored plans and runs.
type Service struct {
	*Supervisor
	engine Engine
	// accepted are tools and agents whose steps may start unseen (ruling 41).
	accepted []string
}

// NewService makes a service. autoAccept names the unsafe tools and agents whose
// plans need nobody's acceptance.
func NewService(s *Supervisor, e Engine, autoAccept []string) *Service {
	return &Service{s, e, autoAccept}
}

// maxQuery bounds an intent, in bytes.
const maxQuery = 32 << 10

// Ask classifies an intent, stores the plan that answers it and starts a run of
// it, unless only the plan is wanted or a person has to accept it first. Every
// plan is a stored version with origin and reason. The error is CodeInvalid with
// an [*Error] in its chain when there is no plan.
func (s *Service) Ask(ctx context.Context, actor kairos.Actor, r kairos.AskRequest) (kairos.Asked, error) {
	var out kairos.Asked
	if !actor.Role.Includes(kairos.RoleOperator) {
		return out, kairos.Errorf(kairos.CodeForbidden, "asking starts runs, which needs the role operator")
	}
	query := strings.TrimSpace(r.Query)
	switch {
	case query == "":
		return out, refusal(refuse([]violation{{"PRE-PLAN-001", "Planning request must have valid intent and available skills"}}))
	case len(query) > maxQuery:
		return out, kairos.Errorf(kairos.CodeTooLarge, "the intent is longer than %d KiB", maxQuery>>10)
	}
	if id, text, ok := s.Directed(query); ok && r.Agent == "" {
		r.Agent, query = id, text
	}
	d, err := s.Decide(ctx, query, r.Agent)
	out.Classification, out.Agent, out.Reason = d.Classification, d.Agent, d.Reason
	if err != nil {
		return out, refusal(err)
	}
	src, err := document(d)
	if err != nil {
		return out, err
	}
	plan, doc, err := s.store(ctx, actor, d, src)
	if err != nil {
		return out, err
	}
	out.Plan = plan
	out.NeedsAcceptance = doc.Steps != nil && len(plan.Unsafe) > 0 && !r.Accept
	if r.PlanOnly || out.NeedsAcceptance {
		return out, nil
	}
	input, err := planner.EncodeValue(query)
	if err != nil {
		return out, kairos.Errorf(kairos.CodeInvalid, "the intent: %w", err)
	}
	run, err := s.engine.Start(ctx, actor, kairos.StartRequest{Plan: plan.ID, Hash: plan.Hash, Input: input, Session: r.Session, Origin: "ask"})
	out.Run = run.ID
	return out, err
}

// PlanRequest makes a plan for a whole request and stores it as a draft that
// nothing has started.
func (s *Service) PlanRequest(ctx context.Context, actor kairos.Actor, r kairos.PlanningRequest) (kairos.AskedPlan, error) {
	var none kairos.AskedPlan
	if !actor.Role.Includes(kairos.RoleOperator) {
		return none, kairos.Errorf(kairos.CodeForbidden, "planning stores a plan, which needs the role operator")
	}
	p, err := s.Plan(r)
	if err != nil {
		return none, refusal(err)
	}
	d := Decision{Plan: p, By: "rules", Reason: "a planning request"}
	src, err := document(d)
	if err != nil {
		return none, err
	}
	plan, _, err := s.store(ctx, actor, d, src)
	if err != nil {
		return none, err
	}
	return *plan, nil
}

// refusal is an error of planning as the engine's callers know errors.
func refusal(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		if f, is := errors.AsType[*planner.Failure](err); is {
			return &kairos.Error{Code: kairos.CodeUnavailable, Reason: f.Code, Message: f.Message, Suggestion: f.Suggestion, RetryAfter: f.RetryAfter, Cause: err}
		}
		return err
	}
	return &kairos.Error{Code: kairos.CodeInvalid, Reason: e.Code, Message: e.Message, Suggestion: e.Suggestion, Cause: e}
}

// document writes what was decided as a plan.
func document(d Decision) ([]byte, error) {
	if d.Plan != nil {
		return planner.MarshalStepsJSON(d.Plan, true)
	}
	return json.Marshal(map[string]any{"id": "ask-" + d.Agent, "name": "Ask " + d.Agent, "description": "Answers directly, without a plan.",
		"nodes": map[string]any{"answer": map[string]any{"type": "agent", "agent": d.Agent, "input": "${input}"}}})
}

// store keeps the plan as a version made by the planner, not by a person: the
// engine then trusts none of its claims (ruling 41).
func (s *Service) store(ctx context.Context, actor kairos.Actor, d Decision, src []byte) (*kairos.AskedPlan, *planner.Document, error) {
	doc, problems := s.engine.CheckPlan(src, planner.FormatJSON)
	if err := problems.Err(); err != nil {
		return nil, nil, refusal(&Error{Code: CodeNoValidPlan, Message: "Cannot create valid execution plan for request: " + err.Error(), Suggestion: "Rephrase request or make skills available"})
	}
	catalog := s.engine.Catalog()
	program, err := doc.Program(catalog)
	if err != nil {
		return nil, nil, kairos.Errorf(kairos.CodeInvalid, "the plan that was made: %w", err)
	}
	out := &kairos.AskedPlan{By: cmp.Or(d.By, "direct"), Document: doc.Canonical()}
	for i := range program.Nodes {
		n := &program.Nodes[i]
		out.Steps = append(out.Steps, describe(program, n))
		if n.Tool == "exec" || strings.Contains(string(src), "${secret.") {
			return nil, nil, refusal(forbidden)
		}
		if s.unsafe(catalog, n) {
			out.Unsafe = append(out.Unsafe, n.ID)
		}
	}
	// Whoever may ask may have the plan stored that answers; it is the planner's.
	author := actor
	author.Role = kairos.RoleAuthor
	p, v, _, _, err := s.engine.SavePlan(ctx, author, src, planner.FormatJSON, "planner", d.Reason)
	if err != nil {
		return nil, nil, err
	}
	out.ID, out.Key, out.Version, out.Hash, out.Name = p.ID, p.Key, v.Number, v.Hash, p.Name
	return out, doc, nil
}

// forbidden refuses what only a person may write into a plan (ruling 41).
var forbidden = &Error{Code: CodeNoValidPlan, Suggestion: "write the plan yourself",
	Message: "Cannot create valid execution plan for request: a plan that nobody wrote may use neither exec nor secrets"}

// unsafe reports whether a person has to accept a node before it may run.
func (s *Service) unsafe(c *planner.Catalog, n *planner.ProgramNode) bool {
	return c.EffectOf(n) == planner.EffectUnsafe && !slices.Contains(s.accepted, n.Tool) && !slices.Contains(s.accepted, n.Agent)
}

// describe is a step on one line.
func describe(p *planner.Program, n *planner.ProgramNode) string {
	who := cmp.Or(n.Agent, n.Tool, n.TypeName)
	text := fmt.Sprintf("%s: %s", n.ID, who)
	if n.Task != "" {
		text += ": " + n.Task
	}
	if len(n.Needs) > 0 && !p.Sequential {
		var names []string
		for _, i := range n.Needs {
			names = append(names, p.Nodes[i].ID)
		}
		text += " (after " + strings.Join(names, ", ") + ")"
	}
	return text
}
