package planning_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// storedPlans is an engine that keeps plans in memory. The newest version of a plan is last.
type storedPlans struct {
	checker
	versions map[string][]domain.Version
	archived map[string]bool
}

func (s *storedPlans) SavePlan(
	_ context.Context,
	actor domain.Actor,
	src []byte,
	f planner.Format,
	origin, reason string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	doc, problems := s.CheckPlan(src, f)
	if err := problems.Err(); err != nil {
		return domain.Plan{}, domain.Version{}, false, problems, err
	}
	list := s.versions[doc.ID]
	v := domain.Version{
		PlanKey:  doc.ID,
		Number:   len(list) + 1,
		Hash:     fmt.Sprintf("%s-%d", doc.Hash, len(list)),
		Source:   src,
		Format:   string(f),
		Origin:   origin,
		ByPerson: origin != "planner",
		Reason:   reason,
		Author:   actor.Name,
	}
	s.versions[doc.ID], s.archived[doc.ID] = append(list, v), false
	p, v, err := s.NewestVersion(context.Background(), doc.ID)
	return p, v, true, nil, err
}

func (s *storedPlans) NewestVersion(_ context.Context, key string) (domain.Plan, domain.Version, error) {
	list := s.versions[key]
	if len(list) == 0 {
		return domain.Plan{}, domain.Version{}, domain.Errorf(domain.CodeNotFound, "no plan %s", key)
	}
	v := list[len(list)-1]
	return domain.Plan{ID: "id of " + key, Key: key, Archived: s.archived[key], Latest: v.Number, LatestHash: v.Hash}, v, nil
}

// In this fake, every version is current.
func (s *storedPlans) ProposedVersion(_ context.Context, key string) (domain.Plan, domain.Version, error) {
	return domain.Plan{}, domain.Version{}, domain.Errorf(domain.CodeNotFound, "nothing is proposed for %s", key)
}

func (s *storedPlans) AcceptVersion(context.Context, domain.Actor, string, string, string) (domain.Plan, error) {
	return domain.Plan{}, nil
}

// An equal request finds its plan for any requester, spacing, and order of skills, unless the
// request is fresh.
func TestAnEqualRequestFindsItsPlan(t *testing.T) {
	t.Parallel()
	catalog := &planner.Catalog{Agents: map[string]planner.AgentInfo{}, Skills: map[string]planner.SkillInfo{}}
	for _, sk := range blog() {
		catalog.Agents[sk.Agent] = planner.AgentInfo{Effect: walk.EffectIdempotent}
		catalog.Skills[sk.ID] = planner.SkillInfo{Agent: sk.Agent}
	}
	e := &storedPlans{checker{catalog}, map[string][]domain.Version{}, map[string]bool{}}
	recorded := domain.SkillMedians{}
	service := func(skills []planning.Skill) *planning.Service {
		return planning.NewService(
			planning.New(
				planning.Config{
					Skills:   skills,
					Recorded: func(context.Context, string, string) (planning.Recorded, error) { return recorded, nil },
				},
			),
			e,
			nil,
		)
	}
	s := service(blog())
	ana := domain.Actor{Name: "ana", Role: domain.RoleOperator}
	plan := func(s *planning.Service, r planning.Request) domain.PlannerPlan {
		t.Helper()
		p, err := s.PlanRequest(t.Context(), ana, r)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := plan(s, request("Create a post about tea", all...))
	if first.Found || first.Version != 1 || first.By != "rules" {
		t.Fatalf("%+v", first)
	}
	same := request(" Create  a post about tea\n", all[3], all[2], all[1], all[0], all[0])
	same.UserContext.UserID, same.UserContext.SessionID = "eve", "s1"
	if p := plan(s, same); !p.Found || p.Hash != first.Hash || p.By != "rules" || p.Reason != first.Reason {
		t.Errorf("an equal request: %+v", p)
	}
	other := request("Create a post about tea", all...)
	other.UserContext.Preferences = map[string]any{"tone": "dry"}
	if p := plan(s, other); p.Found || p.Key == first.Key {
		t.Errorf("with another tone: %+v", p)
	}
	fresh := request("Create a post about tea", all...)
	fresh.Fresh = true
	if p := plan(s, fresh); p.Version != 1 || p.Hash != first.Hash {
		t.Errorf("planned anew to the same: %+v", p)
	}
	recorded = domain.SkillMedians{Runs: 5, Time: time.Second, Tokens: 7}
	if p := plan(s, request("Create a post about tea", all...)); p.Version != 1 {
		t.Errorf("a plan that is found is as it was: %+v", p)
	}
	if p := plan(s, fresh); p.Found || p.Version != 2 || p.Key != first.Key {
		t.Errorf("planned anew with other estimates: %+v", p)
	}
	// A version that a person edited is returned as the plan.
	v := e.versions[first.Key][1]
	v.Number, v.Hash, v.ByPerson, v.Origin = 3, "edited", true, "upload"
	e.versions[first.Key] = append(e.versions[first.Key], v)
	if p := plan(s, request("Create a post about tea", all...)); !p.Found || p.Hash != "edited" || p.By != "person" {
		t.Errorf("after an edit: %+v", p)
	}
	// An archived plan, a plan that cannot run any more, and a plan made with other skills are not
	// found.
	e.archived[first.Key] = true
	if p := plan(s, request("Create a post about tea", all...)); p.Found || p.Version != 4 {
		t.Errorf("after it was archived: %+v", p)
	}
	changed := blog()
	changed[0].Description = "Write with care."
	if p := plan(service(changed), request("Create a post about tea", all...)); p.Found || p.Key == first.Key {
		t.Errorf("with another skill: %+v", p)
	}
	delete(catalog.Skills, "moderate_content")
	if p, err := s.PlanRequest(t.Context(), ana, request("Create a post about tea", all...)); err == nil {
		t.Errorf("a plan that cannot run: %+v", p)
	}
}
