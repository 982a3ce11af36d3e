package planning

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// estimate returns the expected time and tokens of a skill: the measured medians once there are
// enough runs, otherwise the configured values.
func (p *Rules) estimate(s *Skill) (ms, tokens int64, measured bool) {
	if m := p.recorded[s.ID]; m.Runs >= minRecorded {
		return m.Time.Milliseconds(), m.Tokens, true
	}
	return s.EstimatedMs, s.EstimatedTokens, false
}

// totals returns the tokens of all skills, and the milliseconds of the critical path. If serially
// is true, ms is the sum over all skills.
func (p *Rules) totals(chosen []string, serially bool) (tokens, ms int64) {
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
	sum := int64(0)
	for _, id := range chosen {
		if p.byID[id] == nil {
			continue
		}
		ms = max(ms, finish(id, map[string]bool{}))
		own, t, _ := p.estimate(p.byID[id])
		tokens, sum = tokens+t, sum+own
	}
	if serially {
		ms = sum
	}
	return tokens, ms
}

// judge fills in estimates and confidence.
//
// confidence = 0.5 + 0.3·c + 0.2·m, rounded to two digits. c is the share of the request's words
// that keywords and topic explain. m is the share of steps whose estimate was measured on this
// server.
func (p *Rules) judge(plan *planner.StepPlan, r Request, a Analysis, chosen []string) {
	tokens, ms := p.totals(chosen, serial(r))
	plan.EstimatedCost, plan.EstimatedDurationMs = float64(tokens), ms
	measured := 0
	for _, id := range chosen {
		if _, _, ok := p.estimate(p.byID[id]); ok {
			measured++
		}
	}
	if measured > 0 {
		extra(plan, measuredKey, json.Number(strconv.Itoa(measured)))
	}
	plan.Plan.Confidence = confidence(share(a.matched, a.total), share(measured, len(chosen)))
}

// confidence computes the confidence in a plan; see [Rules.judge].
func confidence(explained, measured float64) float64 {
	return math.Round(100*(0.5+0.3*explained+0.2*measured)) / 100
}

func share(n, of int) float64 { return math.Min(1, float64(n)/float64(max(of, 1))) }

// measuredKey is the metadata key for the number of steps that are estimated by medians.
const measuredKey = "measuredSteps"

// Kinds of an alternative.
const (
	altCheaper = "cheaper"
	altFaster  = "faster"
)

// alternatives returns complete plans that can replace the plan: one without its optional steps if
// it is cheaper, and one without its gates if it is faster.
func (p *Rules) alternatives(r Request, a Analysis, plan *planner.StepPlan, chosen []string, optional map[string]bool) error {
	add := func(kind string, by *Rules, ids []string) error {
		alt, err := by.sequence(r, a, ids)
		if err != nil {
			return err
		}
		by.judge(alt, r, a, ids)
		extra(alt, kindKey, kind)
		bound(alt, r)
		doc, err := alt.MarshalJSON()
		if err != nil {
			return fmt.Errorf("write the %s plan: %w", kind, err)
		}
		v, err := jsonvalue.Decode(doc)
		if err != nil {
			return fmt.Errorf("read the %s plan: %w", kind, err)
		}
		plan.Plan.Alternatives = append(plan.Plan.Alternatives, v)
		return nil
	}
	lean := slices.DeleteFunc(
		slices.Clone(chosen),
		func(id string) bool { return optional[id] && !p.needed(id, chosen) && !p.guards(id, chosen) },
	)
	if tokens, _ := p.totals(lean, serial(r)); len(lean) > 0 && float64(tokens) < plan.EstimatedCost {
		if err := add(altCheaper, p, lean); err != nil {
			return err
		}
	}
	open := &Rules{skills: slices.Clone(p.skills), byID: map[string]*Skill{}, keys: p.keys, recorded: p.recorded, most: p.most}
	for i := range open.skills {
		open.skills[i].Gate = nil
		open.byID[open.skills[i].ID] = &open.skills[i]
	}
	if _, ms := open.totals(chosen, serial(r)); ms < plan.EstimatedDurationMs {
		return add(altFaster, open, chosen)
	}
	return nil
}

// kindKey is the metadata key for the kind of an alternative.
const kindKey = "kind"
