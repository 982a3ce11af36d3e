package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// reasons are kairosd's own reasons for a version of a plan. Other reasons come from a person or a
// model, and are not translated.
var reasons = []string{locale.Mark("skills match the request"), locale.Mark("the caller named the agent"),
	locale.Mark(
		"a planning request",
	), locale.Mark("no planning rule matches, and no planning model is configured"), locale.Mark("Multi-step query requiring coordination"),
	locale.Mark("Single-step query, direct routing"), locale.Mark("Moderate complexity, planning recommended"),
	locale.Mark("example plan of kairosd")}

var measuredReason = regexp.MustCompile(`^(\d+) of (\d+) estimates are medians of runs here$`)

// Reason returns the reason for a version of a plan, translated if it is kairosd's own.
func Reason(c *ui.Context, text string) string {
	said, rest, more := strings.Cut(text, "; ")
	if !slices.Contains(reasons, said) {
		return kit.Escape(text)
	}
	m := measuredReason.FindStringSubmatch(rest)
	switch {
	case m != nil:
		return c.T(said) + c.T("; %s of %s estimates are medians of runs here", m[1], m[2])
	case more:
		return kit.Escape(text)
	}
	return c.T(said)
}
