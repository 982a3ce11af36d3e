package planning

import (
	"cmp"
	"fmt"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// askPrefix begins the ids of approval steps that precede another step.
const askPrefix = "ask-"

// askFirst adds an approval step before every non-idempotent step. The step runs only after a
// person approves, and is skipped after a rejection. The approval step takes over the step's
// dependencies and condition.
func (s *Service) askFirst(p *planner.StepPlan) {
	src, err := p.MarshalJSON()
	if err != nil {
		return // the caller gets the error when it stores the plan
	}
	doc, problems := s.engine.CheckPlan(src, planner.FormatJSON)
	if problems.Err() != nil {
		return // the caller gets the error when it stores the plan
	}
	catalog := s.engine.Catalog()
	program, err := doc.Program(catalog)
	if err != nil {
		return // the caller gets the error when it stores the plan
	}
	unsafe := map[string]bool{}
	for i := range program.Nodes {
		if n := &program.Nodes[i]; s.unsafe(catalog, n) {
			unsafe[n.ID] = true
		}
	}
	var steps []planner.Step
	for _, st := range p.Steps {
		if unsafe[st.ID] {
			does := cmp.Or(st.SkillID, st.AgentID, st.Tool)
			if st.Task != "" {
				does += ": " + st.Task
			}
			question := planner.Step{
				ID:           askPrefix + st.ID,
				Order:        len(steps) + 1,
				Tool:         walk.TypeApproval,
				Dependencies: st.Dependencies,
				Condition:    st.Condition,
				OnReject:     string(walk.OnRejectContinue),
				Params:       map[string]any{"message": fmt.Sprintf("May %s run? What it does cannot be repeated (%s).", st.ID, does)},
			}
			steps = append(steps, question)
			if !program.Sequential {
				st.Dependencies = []string{question.ID}
			}
			st.Condition = &planner.StepCondition{Type: "custom", Expr: fmt.Sprintf("output[%q].approved == true", question.ID)}
		}
		st.Order = len(steps) + 1
		steps = append(steps, st)
	}
	p.Steps = steps
}
