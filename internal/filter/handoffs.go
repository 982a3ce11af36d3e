package filter

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/suggest"
)

// HandoffKeys lists the keys of the handoffs' filter.
var HandoffKeys = []string{"from", "to", "plan", "status", "since", "until"}

// ParseHandoffs parses a query of handoffs. Spaces mean AND.
func ParseHandoffs(q string, now time.Time) (f domain.HandoffFilter, problem *domain.Error) {
	if len(q) > 4096 || !utf8.ValidString(q) {
		return f, domain.Errorf(domain.CodeInvalid, "the filter is longer than 4096 characters, or not UTF-8")
	}
	for _, t := range split(q) {
		if t.not || t.value == "" {
			return f, domain.Errorf(domain.CodeInvalid, "%s: takes one value and cannot be negated", t.key)
		}
		switch t.key {
		case "from":
			f.From = t.value
		case "to":
			f.To = t.value
		case "plan":
			f.Plan = t.value
		case "status":
			if !slices.Contains(domain.HandoffStatuses, t.value) {
				e := domain.Errorf(domain.CodeInvalid, "unknown status %q", t.value)
				if near := suggest.Nearest(t.value, domain.HandoffStatuses); near != "" {
					return f, e.Suggest("did you mean status:%s?", near)
				}
				return f, e.Suggest("write one of: %s", strings.Join(domain.HandoffStatuses, ", "))
			}
			f.Status = t.value
		case "since", "until":
			at, err := Moment(t.value, now)
			if err != nil {
				return f, domain.Errorf(domain.CodeInvalid, "%s:%s is not a time", t.key, t.value).
					Suggest("write 24h, 7d or 2030-01-31T08:00")
			}
			if t.key == "since" {
				f.Since = at
			} else {
				f.Until = at
			}
		default:
			e := domain.Errorf(domain.CodeInvalid, "unknown filter %q", t.key)
			if near := suggest.Nearest(t.key, HandoffKeys); near != "" {
				return f, e.Suggest("did you mean %s:%s?", near, t.value)
			}
			return f, e.Suggest("filters: %s", strings.Join(HandoffKeys, ", "))
		}
	}
	return f, nil
}
