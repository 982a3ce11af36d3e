package filter

import (
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
)

// PlanKeys are the keys of a filter of plans, in the order in which help shows
// them.
var PlanKeys = []string{kairos.FactTool, kairos.FactAgent, kairos.FactSecret, kairos.FactOwner}

// ParsePlans reads a filter of plans: tool:, agent:, secret:, owner: and label.key=value are
// all true of a plan, other words are in its name or key (UI 3.3.6).
func ParsePlans(q string) (f kairos.PlanFilter, problem *kairos.Error) {
	if problem := readable(q); problem != nil {
		return f, problem
	}
	var words []string
	for _, t := range split(q) {
		switch label, ok := strings.CutPrefix(t.value, "label."); {
		case t.not:
			return f, kairos.Errorf(kairos.CodeInvalid, "a filter of plans cannot exclude").Suggest("write it without the dash")
		case t.key == "" && ok:
			if k, _, found := strings.Cut(label, "="); !found || k == "" {
				return f, kairos.Errorf(kairos.CodeInvalid, "a label is written label.key=value")
			}
			f.Facts = append(f.Facts, kairos.PlanFact{Kind: kairos.FactLabel, Value: label})
		case t.key == "":
			words = append(words, t.value)
		case !slices.Contains(PlanKeys, t.key):
			return f, unknownKey(t, PlanKeys)
		case t.value == "":
			return f, kairos.Errorf(kairos.CodeInvalid, "%s: needs a value", t.key)
		default:
			f.Facts = append(f.Facts, kairos.PlanFact{Kind: t.key, Value: t.value})
		}
	}
	if len(f.Facts) > maxTerms {
		return f, kairos.Errorf(kairos.CodeInvalid, "the filter has more than %d terms", maxTerms)
	}
	f.Text = strings.Join(words, " ")
	return f, nil
}

// maxTerms bounds a filter of plans or steps.
const maxTerms = 20

func unknownKey(t term, known []string) *kairos.Error {
	e := kairos.Errorf(kairos.CodeInvalid, "unknown filter %q", t.key)
	if near := nearest(t.key, known); near != "" {
		return e.Suggest("did you mean %s:%s?", near, t.value)
	}
	return e.Suggest("filters: %s", strings.Join(known, ", "))
}
