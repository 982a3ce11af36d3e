package supervisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// Rules is the planner by rules: intent → skills → sequence → optimisation
// [001]. It is immutable and pure: equal requests give equal plans.
type Rules struct {
	skills []Skill
	byID   map[string]*Skill
	keys   map[string][][]string
	// recorded is what this installation has measured, by skill; nil: nothing.
	recorded map[string]Recorded
}

// Recorded are medians over the runs of a skill.
type Recorded = kairos.SkillMedians

// minRecorded is how many runs make a median worth more than the configuration.
const minRecorded = 5

// NewRules makes a planner over skills.
func NewRules(skills []Skill) *Rules {
	p := &Rules{skills: skills, byID: map[string]*Skill{}, keys: map[string][][]string{}}
	for i := range skills {
		s := &skills[i]
		p.byID[s.ID] = s
		for _, lang := range slices.Sorted(maps.Keys(s.Keywords)) {
			for _, k := range s.Keywords[lang] {
				phrase := [][]string{words(fold(k))}
				if lang == "es" {
					phrase = withEnclitics(phrase[0])
				}
				p.keys[s.ID] = append(p.keys[s.ID], phrase...)
			}
		}
	}
	return p
}

// With is the same planner, estimating by medians of what was recorded.
func (p *Rules) With(recorded map[string]Recorded) *Rules {
	q := *p
	q.recorded = recorded
	return &q
}

// Skills lists the ids of all skills in the order of the configuration.
func (p *Rules) Skills() []string {
	out := make([]string, len(p.skills))
	for i, s := range p.skills {
		out[i] = s.ID
	}
	return out
}

// Analysis is what an intent asks for.
type Analysis struct {
	Goal           string         `json:"goal"`
	RequiredSkills []string       `json:"requiredSkills"`
	Parameters     map[string]any `json:"parameters"`
	Complexity     float64        `json:"complexity"` // 0 to 1
	// matched words of the intent, for the confidence.
	matched, total int
}

var (
	topicStart = regexp.MustCompile(`(?i)\b(?:about|regarding|concerning|sobre|acerca de)\s+`)
	topicEnd   = regexp.MustCompile(`(?i)\s+(?:with|and then|then|followed by|including|for|using|in|con|y luego|luego|incluyendo|para|usando|en)\s|[.,;:!?]`)
)

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
			if i := indexWords(w, k); i >= 0 {
				asked = true
				for j := range k {
					matched[i+j] = true
				}
			}
		}
		if asked {
			a.RequiredSkills = append(a.RequiredSkills, s.ID)
		}
	}
	a.RequiredSkills = p.withDependencies(a.RequiredSkills)
	topic := ""
	if at := topicStart.FindStringIndex(goal); at != nil {
		topic = goal[at[1]:]
		if end := topicEnd.FindStringIndex(topic); end != nil {
			topic = topic[:end[0]]
		}
		topic = strings.TrimSpace(topic)
	}
	if topic != "" {
		a.Parameters["topic"] = topic
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

// withDependencies adds what skills depend on, in the order of the configuration.
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

// ordered lists a set in the order of the configuration; unknown ids come last.
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

// Plan makes a plan for a request, or says which rules forbid it: the error is
// an [*Error].
func (p *Rules) Plan(r Request) (*planner.StepPlan, error) {
	a := p.Analyze(r.UserIntent)
	usable := p.usable(r)
	required := int64(0)
	for _, id := range a.RequiredSkills {
		if s := p.byID[id]; s != nil {
			_, tokens, _ := p.estimate(s)
			required += tokens
		}
	}
	if broken := preconditions(r, a, usable, required); len(broken) > 0 {
		return nil, refuse(broken)
	}
	chosen, optional := p.choose(a, usable)
	chosen, err := p.fit(r, chosen, optional)
	if err != nil {
		return nil, err
	}
	plan, err := p.sequence(r, a, chosen)
	if err != nil {
		return nil, err
	}
	p.judge(plan, a, chosen)
	p.alternatives(r, a, plan, chosen, optional)
	if problems := CheckPlan(plan, &r); len(problems) > 0 {
		return nil, refuse(asViolations(problems))
	}
	bound(plan, r.Constraints)
	return plan, nil
}

// usable are the skills that may be planned now (ruling 35).
func (p *Rules) usable(r Request) map[string]bool {
	out := map[string]bool{}
	for _, id := range r.SystemContext.AvailableSkills {
		s := p.byID[id]
		if s == nil {
			continue
		}
		exhausted := false
		for _, name := range []string{id, s.Tool, s.Agent} {
			if l, ok := r.SystemContext.RateLimits[name]; ok && name != "" && l.Remaining <= 0 {
				exhausted = true
			}
		}
		out[id] = !exhausted
	}
	return out
}

// choose is phase 2: what is required, what that implies and what so complex an
// intent deserves. What was not asked for is optional.
func (p *Rules) choose(a Analysis, usable map[string]bool) (chosen []string, optional map[string]bool) {
	set, optional := map[string]bool{}, map[string]bool{}
	for _, id := range a.RequiredSkills {
		set[id] = true
	}
	add := func(id string) {
		if usable[id] && !set[id] && !slices.ContainsFunc(p.withDependencies([]string{id}), func(d string) bool { return !usable[d] }) {
			for _, d := range p.withDependencies([]string{id}) {
				if !set[d] {
					set[d], optional[d] = true, true
				}
			}
		}
	}
	for _, s := range p.skills {
		if len(a.RequiredSkills) > 0 && s.MinComplexity > 0 && a.Complexity >= s.MinComplexity {
			add(s.ID)
		}
	}
	for grown := true; grown; {
		before := len(set)
		for _, id := range p.ordered(set) {
			for _, implied := range p.byID[id].Implies {
				add(implied)
			}
		}
		grown = len(set) > before
	}
	return p.ordered(set), optional
}

// fit drops optional skills, the last first, until the plan keeps its bounds.
func (p *Rules) fit(r Request, chosen []string, optional map[string]bool) ([]string, error) {
	c := r.Constraints
	over := func() bool {
		tokens, ms := p.totals(chosen)
		return c.MaxSteps > 0 && len(chosen) > c.MaxSteps || c.Budget > 0 && float64(tokens) > c.Budget || c.Timeout != nil && float64(ms) > *c.Timeout
	}
	for over() {
		drop := -1
		for i := len(chosen) - 1; i >= 0; i-- {
			if optional[chosen[i]] && !p.needed(chosen[i], chosen) {
				drop = i
				break
			}
		}
		if drop < 0 {
			break
		}
		chosen = slices.Delete(slices.Clone(chosen), drop, drop+1)
	}
	if c.MaxSteps > 0 && len(chosen) > c.MaxSteps {
		return nil, refuse([]violation{{"POST-PLAN-004", fmt.Sprintf("Plan must respect all constraints (%d steps are needed, %d are allowed)", len(chosen), c.MaxSteps)}})
	}
	return chosen, nil
}

// needed reports whether a chosen skill depends on id.
func (p *Rules) needed(id string, chosen []string) bool {
	return slices.ContainsFunc(chosen, func(c string) bool { return slices.Contains(p.byID[c].DependsOn, id) })
}

// sequence is phases 3 and 4: a stable topological order, dependencies only
// where they carry something, data wired by reference, retries.
func (p *Rules) sequence(r Request, a Analysis, chosen []string) (*planner.StepPlan, error) {
	plan := newPlan(a.Goal)
	ids := map[string]string{}
	left := slices.Clone(chosen)
	for len(left) > 0 {
		at := slices.IndexFunc(left, func(id string) bool {
			return !slices.ContainsFunc(p.before(id, chosen), func(d string) bool { return ids[d] == "" })
		})
		if at < 0 {
			return nil, refuse([]violation{{"INV-PLAN-002", fmt.Sprintf("the dependencies of %s form a cycle", strings.Join(left, ", "))}})
		}
		s := p.byID[left[at]]
		left = slices.Delete(left, at, at+1)
		n := len(plan.Steps) + 1
		step := planner.Step{ID: fmt.Sprintf("step-%d", n), Order: n, SkillID: s.ID, Params: p.params(s, a, r, ids, chosen), Retry: cmp.Or(s.Retry, &defaultRetry)}
		if s.Agent != "" {
			step.Task = cmp.Or(s.Description, s.ID) // an agent is told what to do, a tool is not
		}
		for _, d := range p.before(s.ID, chosen) {
			step.Dependencies = append(step.Dependencies, ids[d])
		}
		if g := s.Gate; g != nil && ids[g.Skill] != "" {
			step.Condition = &planner.StepCondition{Type: "custom", Expr: strings.ReplaceAll(g.Expr, "result", fmt.Sprintf("output[%q]", ids[g.Skill]))}
		}
		if r.SystemContext.SystemLoad >= 0.9 && n > 1 { // no parallel steps under load (ruling 35)
			if last := fmt.Sprintf("step-%d", n-1); !slices.Contains(step.Dependencies, last) {
				step.Dependencies = append(step.Dependencies, last)
			}
		}
		ids[s.ID] = step.ID
		plan.Steps = append(plan.Steps, step)
	}
	return plan, nil
}

// before are the chosen skills that must have run before a skill: those it
// depends on and the one that gates it.
func (p *Rules) before(id string, chosen []string) []string {
	s := p.byID[id]
	var out []string
	for _, c := range chosen {
		if c != id && (slices.Contains(s.DependsOn, c) || s.Gate != nil && s.Gate.Skill == c) {
			out = append(out, c)
		}
	}
	return out
}

// params fills a step's parameters: what it consumes from the step that produces
// it, then preferences, then what the intent says, then defaults.
func (p *Rules) params(s *Skill, a Analysis, r Request, ids map[string]string, chosen []string) map[string]any {
	out := maps.Clone(s.Defaults)
	if out == nil {
		out = map[string]any{}
	}
	for name := range s.Params {
		if v, ok := a.Parameters[name]; ok {
			out[name] = v
		} else if name == "topic" {
			out[name] = a.Goal // an intent that names no topic is one itself
		}
		if v, ok := r.UserContext.Preferences[name]; ok {
			out[name] = v
		}
	}
	for _, name := range s.Consumes {
		for _, id := range slices.Backward(chosen) {
			if step := ids[id]; step != "" && slices.Contains(p.byID[id].Produces, name) {
				out[name] = step + ".result"
			}
		}
	}
	return out
}

// estimate is what a skill is expected to take: medians of this installation
// once there are enough runs, else the configuration.
func (p *Rules) estimate(s *Skill) (ms, tokens int64, measured bool) {
	if m := p.recorded[s.ID]; m.Runs >= minRecorded {
		return m.Time.Milliseconds(), m.Tokens, true
	}
	return s.EstimatedMs, s.EstimatedTokens, false
}

// totals are the tokens of all skills and the milliseconds of the critical path.
func (p *Rules) totals(chosen []string) (tokens, ms int64) {
	end := map[string]int64{}
	var finish func(id string, seen map[string]bool) int64
	finish = func(id string, seen map[string]bool) int64 {
		if v, ok := end[id]; ok {
			return v
		}
		if seen[id] {
			return 0 // a cycle is reported by sequence
		}
		seen[id] = true
		start := int64(0)
		for _, d := range p.before(id, chosen) {
			start = max(start, finish(d, seen))
		}
		own, _, _ := p.estimate(p.byID[id])
		end[id] = start + own
		return end[id]
	}
	for _, id := range chosen {
		ms = max(ms, finish(id, map[string]bool{}))
		_, t, _ := p.estimate(p.byID[id])
		tokens += t
	}
	return tokens, ms
}

// judge fills in estimates and confidence.
//
// confidence = 0.5 + 0.3·c + 0.2·m, rounded to two digits, where c is the share
// of the intent's words that keywords and topic explain, and m the share of
// steps whose estimate was measured here.
func (p *Rules) judge(plan *planner.StepPlan, a Analysis, chosen []string) {
	tokens, ms := p.totals(chosen)
	plan.EstimatedCost, plan.EstimatedDurationMs = float64(tokens), ms
	measured := 0
	for _, id := range chosen {
		if _, _, ok := p.estimate(p.byID[id]); ok {
			measured++
		}
	}
	if measured > 0 {
		plan.Plan.Extra = map[string]any{measuredKey: json.Number(strconv.Itoa(measured))}
	}
	share := func(n, of int) float64 { return math.Min(1, float64(n)/float64(max(of, 1))) }
	plan.Plan.Confidence = math.Round(100*(0.5+0.3*share(a.matched, a.total)+0.2*share(measured, len(chosen)))) / 100
}

// measuredKey is where metadata says how many steps are estimated by medians.
const measuredKey = "measuredSteps"

// alternatives are the same plan without its optional steps, if that is cheaper,
// and without its gates, if that is faster.
func (p *Rules) alternatives(r Request, a Analysis, plan *planner.StepPlan, chosen []string, optional map[string]bool) {
	add := func(kind string, ids []string, tokens, ms int64) {
		skills := make([]any, len(ids))
		for i, id := range ids {
			skills[i] = id
		}
		plan.Plan.Alternatives = append(plan.Plan.Alternatives, map[string]any{"kind": kind, "skills": skills, "estimatedCost": tokens, "estimatedDurationMs": ms})
	}
	lean := slices.DeleteFunc(slices.Clone(chosen), func(id string) bool { return optional[id] && !p.needed(id, chosen) })
	if tokens, ms := p.totals(lean); len(lean) > 0 && float64(tokens) < plan.EstimatedCost {
		add("cheaper", lean, tokens, ms)
	}
	open := &Rules{skills: slices.Clone(p.skills), byID: map[string]*Skill{}, recorded: p.recorded}
	for i := range open.skills {
		open.skills[i].Gate = nil
		open.byID[open.skills[i].ID] = &open.skills[i]
	}
	if tokens, ms := open.totals(chosen); ms < plan.EstimatedDurationMs {
		add("faster", chosen, tokens, ms)
	}
}
