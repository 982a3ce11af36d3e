package filter

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/suggest"
)

// PlanKeys lists the keys of a filter of plans in the order of the help.
var PlanKeys = []string{domain.FactTool, domain.FactAgent, domain.FactSecret, domain.FactOwner, domain.FactExpose}

// ParsePlans parses a filter of plans. All of tool:, agent:, secret:, owner:, expose: and
// label.key=value must apply to the plan. Other words must be part of its name or key.
func ParsePlans(q string) (f domain.PlanFilter, problem *domain.Error) {
	if problem := readable(q); problem != nil {
		return f, problem
	}
	var words []string
	for _, t := range split(q) {
		switch label, ok := strings.CutPrefix(t.value, "label."); {
		case t.not:
			return f, domain.Errorf(domain.CodeInvalid, "filters of plans do not support exclusions").Suggest("remove the dash")
		case t.key == "" && ok:
			if k, _, found := strings.Cut(label, "="); !found || k == "" {
				return f, domain.Errorf(domain.CodeInvalid, "invalid label: use label.key=value")
			}
			f.Facts = append(f.Facts, domain.PlanFact{Kind: domain.FactLabel, Value: label})
		case t.key == "":
			words = append(words, t.value)
		case !slices.Contains(PlanKeys, t.key):
			return f, unknownKey(t, PlanKeys)
		case t.value == "":
			return f, domain.Errorf(domain.CodeInvalid, "%s: requires a value", t.key)
		default:
			f.Facts = append(f.Facts, domain.PlanFact{Kind: t.key, Value: t.value})
		}
	}
	if len(f.Facts) > maxTerms {
		return f, domain.Errorf(domain.CodeInvalid, "the filter has more than %d terms", maxTerms)
	}
	f.Text = strings.Join(words, " ")
	return f, nil
}

// maxTerms is the maximum number of terms of a filter of plans or steps.
const maxTerms = 20

func unknownKey(t term, known []string) *domain.Error {
	e := domain.Errorf(domain.CodeInvalid, "unknown filter %q", t.key)
	if near := suggest.Nearest(t.key, known); near != "" {
		return e.Suggest("did you mean %s:%s?", near, t.value)
	}
	return e.Suggest("filters: %s", strings.Join(known, ", "))
}
