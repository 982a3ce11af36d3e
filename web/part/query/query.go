// Package query contains what lists with a filter share: the filter bar, suggestions, and time
// ranges.
package query

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// MaxSuggestions is the maximum number of suggestions.
const MaxSuggestions = 12

// Suggest renders completions of a filter: keys with their descriptions, or values of the key that
// is being typed.
func Suggest(c *ui.Context, keys []string, words map[string]string, valuesOf func(key, typed string) ([]kit.Link, error)) error {
	q := c.Query("q")
	done, last := "", q
	if i := strings.LastIndexAny(q, " \t"); i >= 0 && len(strings.Split(q[:i], `"`))%2 == 1 {
		done, last = q[:i+1], q[i+1:]
	}
	not := ""
	if strings.HasPrefix(last, "-") {
		not, last = "-", last[1:]
	}
	key, typed, hasKey := strings.Cut(last, ":")
	var out []kit.Link
	if !hasKey {
		for _, k := range keys {
			if strings.HasPrefix(k, key) {
				out = append(out, kit.Link{Text: not + k + ":", Count: c.T(words[k]), Href: done + not + k + ":"})
			}
		}
	} else {
		before, part := "", typed
		if i := strings.LastIndex(typed, ","); i >= 0 { // after a comma, another alternative
			before, part = typed[:i+1], typed[i+1:]
		}
		values, err := valuesOf(key, part)
		if err != nil {
			return err
		}
		for _, v := range values {
			out = append(out, kit.Link{Text: not + key + ":" + before + kit.Escape(v.Text), Count: v.Count,
				Href: done + not + key + ":" + before + filter.Quote(v.Text) + " "})
		}
	}
	return c.Render(http.StatusOK, kit.Suggestions(out[:min(len(out), MaxSuggestions)]))
}

// Matching returns the values that contain the typed text, first those that begin with it.
func Matching(all []kit.Link, typed string) []kit.Link {
	typed = strings.ToLower(typed)
	all = slices.DeleteFunc(all, func(l kit.Link) bool { return !strings.Contains(strings.ToLower(l.Text), typed) })
	slices.SortStableFunc(all, func(a, b kit.Link) int {
		begins := func(l kit.Link) int {
			if strings.HasPrefix(strings.ToLower(l.Text), typed) {
				return 0
			}
			return 1
		}
		return cmp.Compare(begins(a), begins(b))
	})
	return all
}

// Ranges returns links to the list at path with common values of the since: term.
func Ranges(c *ui.Context, path, q string) []kit.Link {
	rest := filter.Without(filter.Without(q, "since"), "until")
	current := ""
	for _, t := range filter.Terms(q) {
		if strings.HasPrefix(t, "since:") {
			current = t
			break
		}
	}
	out := []kit.Link{{Text: c.T("Any time"), Href: link.List(path, rest), Current: current == ""}}
	for _, d := range []string{"15m", "1h", "6h", "24h", "7d", "30d"} {
		out = append(out, kit.Link{Text: d, Href: link.List(path, strings.TrimSpace(rest+" since:"+d)), Current: current == "since:"+d})
	}
	return out
}
