package planning_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/planning"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// A replan is made in the name of the person who started the run. It is rejected if that person may
// no longer start runs, or if it uses a tool that runs of the plan may not call.
func TestReplansKeepTheRightsOfTheRun(t *testing.T) {
	t.Parallel()
	skills := []planning.Skill{
		{ID: "fetch", Keywords: map[string][]string{"en": {"fetch"}}, Tool: "broken"},
		{ID: "post", Keywords: map[string][]string{"en": {"post"}}, Tool: "http"},
	}
	catalog := &planner.Catalog{
		Tools: map[string]planner.ToolInfo{
			"broken": {Effect: walk.EffectRead},
			"http":   {Effect: walk.EffectRead},
			"exec":   {Effect: walk.EffectUnsafe},
		},
		Skills: map[string]planner.SkillInfo{"fetch": {Tool: "broken"}, "post": {Tool: "http"}},
	}
	p := &planner.StepPlan{
		ID: "p",
		Steps: []planner.Step{
			{ID: "a", Order: 1, SkillID: "fetch", Params: map[string]any{}},
			{ID: "b", Order: 2, SkillID: "fetch", Params: map[string]any{}},
		},
	}
	unknown := errors.New("the list of users cannot be read")
	for name, c := range map[string]struct {
		role   domain.Role
		err    error
		denied string // plan and tool
		says   string
	}{
		"an operator":                 {domain.RoleOperator, nil, "", ""},
		"somebody who may only look":  {domain.RoleViewer, nil, "", "ana started the run, and is no longer permitted to start runs"},
		"somebody who is gone":        {"", nil, "", "ana started the run, and is no longer permitted to start runs"},
		"nobody can say":              {"", unknown, "", unknown.Error()},
		"a tool that is denied here":  {domain.RoleAdmin, nil, "p http", `the tool "http" is denied in runs of plan p`},
		"a tool that is denied there": {domain.RoleAdmin, nil, "q http", ""},
	} {
		s := planning.NewService(planning.New(planning.Config{Skills: skills,
			Denied: func(plan, tool string) bool { return plan+" "+tool == c.denied },
			Role: func(_ context.Context, who string) (domain.Role, error) {
				if who != "ana" {
					t.Errorf("%s: asked for %q", name, who)
				}
				return c.role, c.err
			}}), checker{catalog}, nil)
		r := asked(t, p, "b", "a")
		r.Run.Actor, r.Run.Input = "ana", domain.RawJSON(`"post it"`)
		out, err := s.Replan(t.Context(), r)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %s", name, err, out.Source)
		}
		if e, ok := planning.AsError(err); err != nil && c.err == nil && (!ok || e.Suggestion == "") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
