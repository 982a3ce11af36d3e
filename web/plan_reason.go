package web

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/web/locale"
)

// planReasons are what kairosd itself says of why there is a version of a plan. What a
// person or a model said is shown as it was said.
var planReasons = []string{locale.Mark("skills match what is asked"), locale.Mark("the caller named the agent"), locale.Mark("a planning request"),
	locale.Mark("no rule plans it, and no model is configured to"), locale.Mark("Multi-step query requiring coordination"), locale.Mark("Single-step query, direct routing"),
	locale.Mark("Moderate complexity, planning recommended"), locale.Mark("comes with kairosd")}

var measuredReason = regexp.MustCompile(`^(\d+) of (\d+) estimates are medians of runs here$`)

// planReason is why there is a version, in the reader's language where kairosd said it.
func (r *request) planReason(text string) string {
	said, rest, more := strings.Cut(text, "; ")
	if !slices.Contains(planReasons, said) {
		return visible(text)
	}
	m := measuredReason.FindStringSubmatch(rest)
	switch {
	case m != nil:
		return r.t(said) + r.t("; %s of %s estimates are medians of runs here", m[1], m[2])
	case more:
		return visible(text)
	}
	return r.t(said)
}
