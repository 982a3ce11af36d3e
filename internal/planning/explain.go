package planning

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Explain returns the reasons for the steps of a plan and its assumptions: from the rules, or from
// the model that made the step.
func (s *Service) Explain(_ context.Context, intent string, canonical []byte) domain.PlanExplanation {
	var doc struct {
		Metadata struct {
			MeasuredSteps       int
			Reasons             map[string]string
			Assumptions, Wanted []string
			Dropped             []string
		}
		Steps []struct {
			ID, SkillID, AgentID string
			Params               map[string]any
		}
	}
	out := domain.PlanExplanation{Reasons: map[string]domain.StepReason{}}
	if v, err := jsonvalue.Decode(canonical); err != nil {
		return out
	} else if raw, err := jsonvalue.Encode(v); err != nil || json.Unmarshal(raw, &doc) != nil {
		return out // the graph contains its own descriptions
	}
	chosen := map[string]bool{}
	for _, st := range doc.Steps {
		chosen[st.SkillID] = true
	}
	out.ModelAssumptions, out.Wanted, out.Dropped = doc.Metadata.Assumptions, doc.Metadata.Wanted, doc.Metadata.Dropped
	skilled := 0
	for _, st := range doc.Steps {
		skill := s.rules.byID[st.SkillID]
		if before, ok := strings.CutPrefix(st.ID, askPrefix); ok {
			out.Reasons[st.ID] = domain.StepReason{Kind: domain.ReasonAsk, By: before}
			continue
		}
		if why := doc.Metadata.Reasons[st.ID]; why != "" {
			out.Reasons[st.ID] = domain.StepReason{Kind: domain.ReasonModel, By: why}
		}
		if skill == nil {
			if st.AgentID != "" {
				skilled++
			}
			continue
		}
		skilled++
		out.Reasons[st.ID] = s.rules.why(skill, intent, chosen)
		for _, name := range slices.Sorted(maps.Keys(skill.Defaults)) {
			if v, ok := st.Params[name]; ok && jsonvalue.Text(v) == jsonvalue.Text(skill.Defaults[name]) {
				out.Assumed = append(out.Assumed, domain.Assumption{Step: st.ID, Name: name, Value: jsonvalue.Text(v)})
			}
		}
	}
	out.Unmeasured = max(skilled-doc.Metadata.MeasuredSteps, 0)
	catalog := s.engine.Catalog()
	for _, id := range s.rules.Analyze(intent).RequiredSkills {
		skill := s.rules.byID[id]
		if skill == nil || chosen[id] {
			continue
		}
		_, tool := catalog.Tools[skill.Tool]
		_, agent := catalog.Agents[skill.Agent]
		if skill.Tool != "" && !tool && skill.Tool != "set" || skill.Agent != "" && !agent {
			out.Unusable = append(out.Unusable, id)
		}
	}
	return out
}

// why returns the reason for a skill in a plan with the chosen skills.
func (p *Rules) why(s *Skill, intent string, chosen map[string]bool) domain.StepReason {
	w := words(fold(strings.Join(strings.Fields(intent), " ")))
	var matched []string
	for _, k := range p.keys[s.ID] {
		if i := k.in(w); i >= 0 {
			matched = append(matched, strings.Join(w[i:i+len(k.words)], " "))
		}
	}
	if len(matched) > 0 {
		return domain.StepReason{Kind: domain.ReasonAsked, By: strings.Join(slices.Compact(slices.Sorted(slices.Values(matched))), ", ")}
	}
	for _, o := range p.skills {
		if chosen[o.ID] && slices.Contains(o.DependsOn, s.ID) {
			return domain.StepReason{Kind: domain.ReasonNeeded, By: o.ID}
		}
	}
	for _, o := range p.skills {
		if chosen[o.ID] && slices.Contains(o.GuardedBy, s.ID) {
			return domain.StepReason{Kind: domain.ReasonGuards, By: o.ID}
		}
	}
	for _, o := range p.skills {
		if chosen[o.ID] && slices.Contains(o.Implies, s.ID) {
			return domain.StepReason{Kind: domain.ReasonImplied, By: o.ID}
		}
	}
	return domain.StepReason{Kind: domain.ReasonComplex}
}
