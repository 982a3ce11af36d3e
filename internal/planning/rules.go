package planning

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Rules plans by rules: it maps a request to skills, orders them, and optimizes the result [001].
// It is immutable and pure: equal requests yield equal plans.
type Rules struct {
	skills []Skill
	byID   map[string]*Skill
	keys   map[string][]phrase
	// recorded contains measured medians by skill; nil means none.
	recorded map[string]Recorded
	// most is the maximum number of steps of a plan; 0 means [defaultMaxSteps].
	most int
}

// defaultMaxSteps is the maximum number of steps of a plan if the configuration sets none.
const defaultMaxSteps = 8

// With a moderation skill, content is always checked: the moderation skill guards the skill that
// writes content, whatever the configuration sets.
const (
	generateSkill = "generate_content"
	moderateSkill = "moderate_content"
)

// Recorded are medians over the runs of a skill.
type Recorded = domain.SkillMedians

// minRecorded is the number of runs from which a median replaces the configured estimate.
const minRecorded = 5

// NewRules returns a planner over skills.
func NewRules(skills []Skill) *Rules {
	p := &Rules{skills: slices.Clone(skills), byID: map[string]*Skill{}, keys: map[string][]phrase{}}
	for i := range p.skills {
		s := &p.skills[i]
		p.byID[s.ID] = s
		if s.ID == generateSkill && !slices.Contains(s.GuardedBy, moderateSkill) {
			s.GuardedBy = append(slices.Clone(s.GuardedBy), moderateSkill)
		}
		for _, lang := range slices.Sorted(maps.Keys(s.Keywords)) {
			for _, k := range s.Keywords[lang] {
				key := newPhrase(k, lang)
				p.keys[s.ID] = append(p.keys[s.ID], key)
				if lang == "es" {
					for _, form := range withEnclitics(key.words)[1:] {
						p.keys[s.ID] = append(p.keys[s.ID], exactly(form...))
					}
				}
			}
		}
	}
	return p
}

// With returns a copy of the planner that estimates with the recorded medians.
func (p *Rules) With(recorded map[string]Recorded) *Rules {
	q := *p
	q.recorded = recorded
	return &q
}

// AtMost returns a copy of the planner for plans with at most n steps.
func (p *Rules) AtMost(steps int) *Rules {
	q := *p
	q.most = steps
	return &q
}

// maxSteps returns the maximum number of steps of a plan under the constraints.
func (p *Rules) maxSteps(c Constraints) int {
	most := cmp.Or(p.most, defaultMaxSteps)
	if c.MaxSteps > 0 {
		most = min(most, c.MaxSteps)
	}
	return most
}

// Skills lists the ids of all skills in the order of the configuration.
func (p *Rules) Skills() []string {
	out := make([]string, len(p.skills))
	for i, s := range p.skills {
		out[i] = s.ID
	}
	return out
}

// Analysis is the result of analyzing a request.
type Analysis struct {
	Goal           string         `json:"goal"`
	RequiredSkills []string       `json:"requiredSkills"`
	Parameters     map[string]any `json:"parameters"`
	Complexity     float64        `json:"complexity"` // 0 to 1
	// matched are the words of the request that keywords matched, for the confidence.
	matched, total int
}

// Analyze is phase 1: goal, required skills, parameters and complexity.
//
// Complexity is min(1, 0.15·skills + 0.1·(conjunctions) + words/100), where
// conjunctions are complex indicators and the words and, then, y, luego.
func (p *Rules) Analyze(intent string) Analysis {
	goal := strings.Join(strings.Fields(intent), " ")
	w := words(fold(goal))
	a := Analysis{Goal: goal, Parameters: map[string]any{}, total: len(w)}
	matched := make([]bool, len(w))
	for _, s := range p.skills {
		asked := false
		for _, k := range p.keys[s.ID] {
			if i := k.in(w); i >= 0 {
				asked = true
				for j := range k.words {
					matched[i+j] = true
				}
			}
		}
		if asked {
			a.RequiredSkills = append(a.RequiredSkills, s.ID)
		}
	}
	a.RequiredSkills = p.withDependencies(a.RequiredSkills)
	a.Parameters = parameters(goal, p.requestsMore)
	if topic, _ := a.Parameters["topic"].(string); topic != "" {
		a.matched = len(words(fold(topic))) + 1
	}
	conjunctions := 0
	for _, phrase := range append(slices.Clone(complexIndicators), []string{"and"}, []string{"then"}, []string{"y"}, []string{"luego"}) {
		if holdsWords(w, phrase) {
			conjunctions++
		}
	}
	for _, m := range matched {
		if m {
			a.matched++
		}
	}
	a.Complexity = math.Min(1, 0.15*float64(len(a.RequiredSkills))+0.1*float64(conjunctions)+float64(len(w))/100)
	return a
}

// requestsMore reports whether a clause begins with a request for a skill that the text before it does
// not request.
func (p *Rules) requestsMore(before, clause string) bool {
	w, earlier := words(fold(clause)), words(fold(before))
	begins, more := false, false
	for _, s := range p.skills {
		for _, k := range p.keys[s.ID] {
			at := k.in(w)
			begins = begins || at == 0
			more = more || at >= 0 && !slices.ContainsFunc(p.keys[s.ID], func(k phrase) bool { return k.in(earlier) >= 0 })
		}
	}
	return begins && more
}

// withDependencies adds the dependencies of skills, in the order of the configuration.
func (p *Rules) withDependencies(ids []string) []string {
	need := map[string]bool{}
	var add func(id string)
	add = func(id string) {
		if need[id] {
			return
		}
		need[id] = true
		if s := p.byID[id]; s != nil {
			for _, d := range s.DependsOn {
				add(d)
			}
		}
	}
	for _, id := range ids {
		add(id)
	}
	return p.ordered(need)
}

// ordered sorts a set in the order of the configuration. Unknown ids come last.
func (p *Rules) ordered(set map[string]bool) []string {
	var out []string
	for _, s := range p.skills {
		if set[s.ID] {
			out = append(out, s.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(set)) {
		if p.byID[id] == nil {
			out = append(out, id)
		}
	}
	return out
}

// Plan makes a plan for a request. The error is an [*Error] with the violated rules.
func (p *Rules) Plan(r Request) (*planner.StepPlan, error) {
	a := p.Analyze(r.UserIntent)
	usable, why := p.usable(r)
	chosen, optional := p.choose(a, usable)
	needed := slices.DeleteFunc(slices.Clone(chosen), func(id string) bool { return optional[id] })
	tokens, _ := p.totals(needed, false)
	if broken := preconditions(r, a, usable, why, tokens); len(broken) > 0 {
		return nil, refuse(broken)
	}
	chosen, dropped, err := p.fit(r, chosen, optional)
	if err != nil {
		return nil, err
	}
	plan, err := p.sequence(r, a, chosen)
	if err != nil {
		return nil, err
	}
	p.judge(plan, r, a, chosen)
	if len(dropped) > 0 {
		list := make([]any, len(dropped))
		for i, id := range dropped {
			list[i] = id
		}
		extra(plan, droppedKey, list)
	}
	if err := p.alternatives(r, a, plan, chosen, optional); err != nil {
		return nil, err
	}
	if problems := CheckPlan(plan, &r); len(problems) > 0 {
		return nil, refuse(asViolations(problems))
	}
	bound(plan, r)
	return plan, nil
}

// droppedKey is the metadata key for the skills that were dropped to keep the plan's limits.
const droppedKey = "dropped"

// usable returns the skills that may be planned now, and for each other skill the reason why not.
func (p *Rules) usable(r Request) (usable map[string]bool, why map[string]string) {
	usable, why = map[string]bool{}, map[string]string{}
	for _, id := range r.SystemContext.AvailableSkills {
		s := p.byID[id]
		if s == nil {
			continue
		}
		for _, name := range s.resources() {
			if l, ok := r.SystemContext.RateLimits[name]; ok && l.Remaining <= 0 {
				why[id] = fmt.Sprintf("the rate limit of %s is used up", name)
			} else if reason, ok := r.SystemContext.Unavailable[name]; ok && name != id {
				why[id] = fmt.Sprintf("%s: %s", name, reason)
			} else if ok {
				why[id] = reason
			}
		}
		usable[id] = why[id] == ""
	}
	return usable, why
}

// choose is phase 2. It adds to the required skills the ones that guard them, the ones that these
// imply, and the ones for the request's complexity. Skills that were neither requested nor guard
// another skill are optional.
func (p *Rules) choose(a Analysis, usable map[string]bool) (chosen []string, optional map[string]bool) {
	set, optional := map[string]bool{}, map[string]bool{}
	for _, id := range a.RequiredSkills {
		set[id] = true
	}
	add := func(id string, free bool) {
		needs := p.withDependencies([]string{id})
		if slices.ContainsFunc(needs, func(d string) bool { return !usable[d] }) {
			return
		}
		for _, d := range needs {
			if !set[d] {
				set[d], optional[d] = true, free
			} else if !free {
				optional[d] = false
			}
		}
	}
	guard := func() {
		for grown := true; grown; {
			before := len(set)
			for _, id := range p.ordered(set) {
				if s := p.byID[id]; s != nil {
					for _, g := range s.GuardedBy {
						add(g, optional[id])
					}
				}
			}
			grown = len(set) > before
		}
	}
	guard()
	for _, s := range p.skills {
		if len(a.RequiredSkills) > 0 && s.MinComplexity > 0 && a.Complexity >= s.MinComplexity && !set[s.ID] {
			add(s.ID, true)
		}
	}
	for grown := true; grown; {
		before := len(set)
		for _, id := range p.ordered(set) {
			if s := p.byID[id]; s != nil {
				for _, implied := range s.Implies {
					if !set[implied] {
						add(implied, true)
					}
				}
			}
		}
		guard()
		grown = len(set) > before
	}
	return p.ordered(set), optional
}

// fit drops optional skills until the plan keeps its limits: first the skills added for complexity,
// then the last of those that another skill implies.
func (p *Rules) fit(r Request, chosen []string, optional map[string]bool) (kept, dropped []string, err error) {
	c, most := r.Constraints, p.maxSteps(r.Constraints)
	over := func() []violation {
		var out []violation
		tokens, ms := p.totals(chosen, serial(r))
		if len(chosen) > most {
			out = append(out, tooManySteps(len(chosen), most))
		}
		if c.Budget > 0 && float64(tokens) > c.Budget {
			out = append(out, tooManyTokens("POST-PLAN-004", float64(tokens), c.Budget))
		}
		if c.Timeout != nil && float64(ms) > *c.Timeout {
			out = append(out, tooSlow(float64(ms), *c.Timeout))
		}
		for _, name := range slices.Sorted(maps.Keys(r.SystemContext.RateLimits)) {
			l, calls := r.SystemContext.RateLimits[name], int64(0)
			for _, id := range chosen {
				if slices.Contains(p.byID[id].resources(), name) {
					calls++
				}
			}
			if calls > l.Remaining {
				out = append(
					out,
					violation{
						rule: "POST-PLAN-004",
						text: domain.Messagef(
							"Plan must respect all constraints (%d calls of %s are needed, %d are left)",
							calls,
							name,
							l.Remaining,
						),
						advice: domain.Messagef(
							"Wait until the rate limit of %s is renewed, or simplify the request",
							name,
						),
						resource: true,
					},
				)
			}
		}
		return out
	}
	for broken := over(); len(broken) > 0; broken = over() {
		drop := p.droppable(chosen, optional)
		if drop == "" {
			return nil, nil, refuse(broken)
		}
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(id string) bool { return id == drop })
		dropped = append(dropped, drop)
	}
	return chosen, dropped, nil
}

// droppable returns the optional skill to drop first, or "" if there is none.
func (p *Rules) droppable(chosen []string, optional map[string]bool) string {
	best, rank := "", -1
	for i, id := range chosen {
		if !optional[id] || p.needed(id, chosen) || p.guards(id, chosen) {
			continue
		}
		at := i // of skills that no other skill implies, the last is dropped first
		for _, o := range chosen {
			if implied := slices.Index(p.byID[o].Implies, id); implied >= 0 {
				at = max(at, implied)
			}
		}
		if p.byID[id].MinComplexity > 0 {
			at += len(p.skills) + len(chosen)
		}
		if at > rank {
			best, rank = id, at
		}
	}
	return best
}

// guards reports whether a skill guards a chosen one.
func (p *Rules) guards(id string, chosen []string) bool {
	return slices.ContainsFunc(chosen, func(c string) bool { return slices.Contains(p.byID[c].GuardedBy, id) })
}
