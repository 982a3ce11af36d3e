package planning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Engine contains the methods of the engine that planning uses.
type Engine interface {
	SavePlan(
		ctx context.Context,
		actor domain.Actor,
		src []byte,
		f planner.Format,
		origin, reason string,
	) (domain.Plan, domain.Version, bool, planner.Problems, error)
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	Catalog() *planner.Catalog
	// NewestVersion finds a plan by key or id, and returns it with its newest version. If the plan
	// does not exist, the error is CodeNotFound.
	NewestVersion(ctx context.Context, plan string) (domain.Plan, domain.Version, error)
	// ProposedVersion finds the newest version that a planner made after the plan's current version
	// and that was not accepted. If there is none, the error is CodeNotFound.
	ProposedVersion(ctx context.Context, plan string) (domain.Plan, domain.Version, error)
	// AcceptVersion makes a planner's version the current version of its plan.
	AcceptVersion(ctx context.Context, actor domain.Actor, plan, hash, reason string) (domain.Plan, error)
}

// Service turns planning requests into stored plans and runs.
type Service struct {
	*Supervisor
	engine Engine
	// accepted lists the tools and agents whose non-idempotent steps may start without a person's
	// acceptance.
	accepted []string
	planned  func(took time.Duration)
}

// NewService returns a service. autoAccept names the non-idempotent tools and agents whose plans
// need no acceptance.
func NewService(s *Supervisor, e Engine, autoAccept []string) *Service {
	return &Service{Supervisor: s, engine: e, accepted: autoAccept}
}

// OnPlanned sets the function that receives the duration of each planning, before a run of the plan
// starts. Set it before the first request.
func (s *Service) OnPlanned(f func(took time.Duration)) {
	s.planned = f
}

// made reports a stored plan to the function of [Service.OnPlanned]. A direct answer of an agent is
// not a plan.
func (s *Service) made(d Decision, began time.Time) {
	if s.planned != nil && d.Plan != nil {
		s.planned(time.Since(began))
	}
}

// maxQuery is the maximum size of a request's text, in bytes.
const maxQuery = 32 << 10

// Ask classifies a request, stores a plan for it, and starts a run of the plan. It does not start a
// run if the caller wants only the plan, or if a person must accept the plan first. Every plan is a
// stored version with origin and reason. If no plan is possible, the error is CodeInvalid with an
// [*Error] in its chain.
func (s *Service) Ask(ctx context.Context, actor domain.Actor, r domain.AskRequest) (domain.PlannerAnswer, error) {
	var out domain.PlannerAnswer
	began, query := time.Now(), strings.TrimSpace(r.Query)
	switch {
	case query == "":
		return out, refusal(
			refuse(
				[]violation{
					{
						rule:   "PRE-PLAN-001",
						text:   domain.Messagef("Planning request must have valid intent and available skills (the intent is empty)"),
						advice: domain.Messagef("Describe what you want"),
					},
				},
			),
		)
	case len(query)+len(r.Change)+len(r.Examples) > maxQuery:
		return out, domain.Errorf(domain.CodeTooLarge, "the request exceeds %d KiB", maxQuery>>10)
	}
	if id, text, ok := s.Directed(query); ok && r.Agent == "" {
		r.Agent, query = id, text
	}
	in := Intent{
		Query:       query,
		Agent:       r.Agent,
		Constraints: r.Constraints,
		Preferences: r.Preferences,
		Provider:    r.Provider,
		Change:      strings.TrimSpace(r.Change),
		Examples:    strings.TrimSpace(r.Examples),
		Before:      r.Before,
		OnProgress:  r.OnProgress,
	}
	if err := checkConstraints(r.Constraints); err != nil {
		return out, err
	}
	d, err := s.Route(in)
	if err != nil {
		out.Classification = d.Classification
		return out, refusal(err)
	}
	var plan *domain.PlannerPlan
	if d.Agent == "" && !r.Fresh && r.Provider == "" {
		if plan, err = s.known(ctx, s.Key(s.Request(in))); err != nil {
			return out, err
		}
	}
	if plan == nil {
		if d.Agent == "" {
			d, err = s.Make(ctx, in, d)
		}
		if err == nil && d.Plan != nil && r.Constraints.ApproveUnsafe {
			s.askFirst(d.Plan)
		}
		if err == nil {
			in.progress(domain.DraftNote{Phase: domain.PhaseStoring})
			plan, err = s.store(ctx, actor, d)
		}
		if err == nil {
			s.made(d, began)
		}
	} else {
		d.Reason = plan.Reason
	}
	out.Classification, out.Agent, out.Reason, out.Plan, out.Model, out.Usage = d.Classification, d.Agent, d.Reason, plan, d.Model, usageOf(
		d.Usage,
	)
	if err != nil {
		return out, refusal(err)
	}
	if plan.Proposed && r.Accept && actor.Role.Includes(domain.RoleAuthor) {
		if _, err := s.engine.AcceptVersion(ctx, actor, plan.ID, plan.Hash, "accepted with the request"); err != nil {
			return out, err
		}
		plan.Proposed = false
	}
	out.NeedsAcceptance = d.Agent == "" && len(plan.Unsafe) > 0 && !r.Accept
	if r.PlanOnly || out.NeedsAcceptance {
		return out, nil
	}
	input, err := jsonvalue.Encode(query)
	if err != nil {
		return out, domain.Errorf(domain.CodeInvalid, "the request: %w", err)
	}
	run, err := s.engine.Start(
		ctx,
		actor,
		domain.StartRequest{Plan: plan.ID, Hash: plan.Hash, Input: input, Session: r.Session, Origin: "ask", Receipt: r.Receipt,
			Priority: planner.RunPriority(r.Constraints.Priority),
			Limits:   domain.Limits{MaxDuration: r.Constraints.TimeLimit(), MaxTokens: int64(r.Constraints.Budget)}},
	)
	out.Run = run.ID
	return out, err
}

// checkConstraints rejects constraints that no plan can keep. It also checks requests that are not
// planned by rules.
func checkConstraints(c Constraints) error {
	switch {
	case c.Timeout != nil && *c.Timeout <= 0:
		return refusal(refuse([]violation{badTimeout(*c.Timeout)}))
	case c.MaxSteps < 0 || c.Budget < 0:
		return domain.Errorf(domain.CodeInvalid, "maxSteps and budget must not be negative")
	case !slices.Contains([]string{"", "low", "medium", "high"}, c.Priority):
		return domain.Errorf(domain.CodeInvalid, "the priority %q is unknown", c.Priority).Suggest("use low, medium, or high")
	}
	return nil
}

// PlanRequest makes a plan for a planning request and stores it as a draft. It starts no run. If an
// equal request already has a plan, it returns that plan, unless the request sets Fresh.
func (s *Service) PlanRequest(ctx context.Context, actor domain.Actor, r domain.PlanningRequest) (domain.PlannerPlan, error) {
	var none domain.PlannerPlan
	began := time.Now()
	if !r.Fresh {
		if plan, err := s.known(ctx, s.Key(r)); err != nil || plan != nil {
			return value(plan), err
		}
	}
	p, err := s.Plan(ctx, r)
	if err != nil {
		return none, refusal(err)
	}
	p.Defaults.OnError = s.c.OnError
	d := Decision{Plan: p, By: "rules", Reason: "a planning request"}
	plan, err := s.store(ctx, actor, d)
	if err == nil {
		s.made(d, began)
	}
	return value(plan), err
}

// Alternative stores an alternative of a planner's plan as a version of the same plan. With
// askFirst, each of its non-idempotent steps needs an approval. The version is not used until it is
// accepted.
func (s *Service) Alternative(
	ctx context.Context,
	actor domain.Actor,
	v domain.Version,
	kind string,
	askFirst bool,
) (domain.PlannerPlan, error) {
	var none domain.PlannerPlan
	doc, problems := planner.Parse(v.Canonical, planner.WithFormat(planner.FormatJSON), planner.WithLenientRules())
	if err := problems.Err(); err != nil {
		return none, fmt.Errorf("read version %s: %w", v.Hash, err)
	}
	if v.Origin != "planner" || doc.Steps == nil { // a person's version may contain anything under the planner's keys
		return none, domain.Errorf(domain.CodeInvalid, "v%d was not made by a planner: it has no alternatives", v.Number)
	}
	var kinds []string
	for _, alternative := range doc.Steps.Plan.Alternatives {
		m, _ := alternative.(map[string]any)
		meta, _ := m["metadata"].(map[string]any)
		if is, _ := meta[kindKey].(string); is != kind {
			kinds = append(kinds, is)
			continue
		}
		m = maps.Clone(m)
		m["id"] = doc.ID
		src, err := jsonvalue.Encode(m)
		if err != nil {
			return none, fmt.Errorf("write the %s plan: %w", kind, err)
		}
		whole, problems := planner.Parse(src, planner.WithFormat(planner.FormatJSON), planner.WithLenientRules())
		if err := problems.Err(); err != nil {
			return none, fmt.Errorf("read the %s plan: %w", kind, err)
		}
		whole.Steps.Defaults.OnError = doc.Steps.Defaults.OnError
		if askFirst {
			s.askFirst(whole.Steps)
		}
		plan, err := s.store(
			ctx,
			actor,
			Decision{Plan: whole.Steps, By: "rules", Reason: fmt.Sprintf("the %s alternative of v%d", kind, v.Number)},
		)
		if err != nil {
			return none, refusal(err)
		}
		return *plan, nil
	}
	if len(kinds) == 0 {
		return none, domain.Errorf(domain.CodeInvalid, "the plan has no alternatives")
	}
	return none, domain.Errorf(domain.CodeInvalid, "the plan has no alternative %q", kind).
		Suggest("choose one of: %s", strings.Join(kinds, ", "))
}

// Describe returns a stored version in the form of an answer to a planning request. The version may
// be one that can no longer run.
func (s *Service) Describe(p domain.Plan, v domain.Version) domain.PlannerPlan {
	if out, err := s.usable(p, v, nil); err == nil && out != nil {
		return *out
	}
	return domain.PlannerPlan{
		ID:       p.ID,
		Key:      p.Key,
		Version:  v.Number,
		Hash:     v.Hash,
		Name:     p.Name,
		Reason:   v.Reason,
		By:       "direct",
		Found:    true,
		Proposed: v.Hash != p.LatestHash,
		Steps:    s.Outline(v.Canonical),
		Document: v.Canonical,
	}
}

func value(p *domain.PlannerPlan) domain.PlannerPlan {
	if p == nil {
		return domain.PlannerPlan{}
	}
	return *p
}

// refusal converts an error of planning into an error that the engine's callers understand.
func refusal(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		if f, is := errors.AsType[*walk.Failure](err); is {
			return &domain.Error{
				Code:       domain.CodeUnavailable,
				Reason:     f.Code,
				Message:    f.Message,
				Suggestion: f.Suggestion,
				RetryAfter: f.RetryAfter,
				Cause:      err,
			}
		}
		return err
	}
	out := e.Refusal(domain.CodeInvalid)
	out.Cause = e
	return out
}

// document encodes a decision as a plan document.
func document(d Decision) ([]byte, error) {
	if d.Plan != nil {
		return d.Plan.Encode(planner.FormatJSON)
	}
	return json.Marshal(map[string]any{"id": "ask-" + d.Agent, "name": "Ask " + d.Agent, "description": "Answers directly, without a plan.",
		"nodes": map[string]any{"answer": map[string]any{"type": "agent", "agent": d.Agent, "input": "${input}"}}})
}

// Outline lists the steps of a plan, one per line. It returns nil for a plan that cannot be read.
func (s *Service) Outline(canonical []byte) []string {
	doc, problems := planner.Parse(canonical, planner.WithFormat(planner.FormatJSON), planner.WithLenientRules())
	if problems.Err() != nil {
		return nil
	}
	program, err := doc.Program(s.engine.Catalog())
	if err != nil {
		return nil
	}
	var out []string
	for i := range program.Nodes {
		out = append(out, describe(program, &program.Nodes[i]))
	}
	return out
}

// unsafe reports whether a person has to accept a node before it may run.
func (s *Service) unsafe(c *planner.Catalog, n *walk.ProgramNode) bool {
	return c.EffectOf(n) == walk.EffectUnsafe && !slices.Contains(s.accepted, n.Tool) && !slices.Contains(s.accepted, n.Agent)
}

// describe returns a one-line description of a step.
func describe(p *walk.Program, n *walk.ProgramNode) string {
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
		after := "after "
		if n.When == walk.WhenFirst {
			after = "after the first of "
		}
		text += " (" + after + strings.Join(names, ", ") + ")"
	}
	return text
}
