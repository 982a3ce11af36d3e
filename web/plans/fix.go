package plans

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/ui"
)

// fixesOffered bounds the problems of a text for which a fix is tried: each is checked.
const fixesOffered = 10

// word is a name at the place of a problem, or the value after its key.
var word = regexp.MustCompile(`^["']?([A-Za-z0-9_.$-]+)["']?`)

// fixID names a problem by its place and its code, so that a fix of another text changes nothing.
func fixID(q planner.Problem) string { return fmt.Sprintf("%d:%d:%s", q.Line, q.Column, q.Code) }

// fixOf is the word that solves a problem if it replaces the word at its place. Only a change that
// removes the problem and adds none counts.
func (s *section) fixOf(source string, problems planner.Problems, i int) (from, to string, ok bool) {
	if i >= fixesOffered {
		return "", "", false
	}
	fixed, from, to, ok := replaced(source, problems[i])
	if !ok {
		return "", "", false
	}
	_, left := s.Engine.CheckPlan([]byte(fixed), planner.FormatOf("", []byte(fixed)))
	return from, to, len(left) < len(problems)
}

// replaced is a text with the word of a problem replaced by the suggested one.
func replaced(source string, q planner.Problem) (fixed, from, to string, ok bool) {
	if q.Suggestion.Text != "did you mean %s?" || len(q.Suggestion.Args) != 1 || q.Line < 1 || q.Column < 1 {
		return "", "", "", false
	}
	to, isText := q.Suggestion.Args[0].(string)
	lines := strings.Split(source, "\n")
	if !isText || q.Line > len(lines) || q.Column > len(lines[q.Line-1]) {
		return "", "", "", false
	}
	line := lines[q.Line-1]
	m := word.FindStringSubmatchIndex(line[q.Column-1:])
	if m == nil {
		return "", "", "", false
	}
	start, end := q.Column-1+m[2], q.Column-1+m[3]
	from = line[start:end]
	lines[q.Line-1] = line[:start] + to + line[end:]
	return strings.Join(lines, "\n"), from, to, from != to
}

// fix applies the fix that a form names, and returns to the editor.
func (s *section) fix(c *ui.Context, p *PlanForm) error {
	_, problems := s.Engine.CheckPlan([]byte(p.Source), formatOf(p))
	for _, q := range problems {
		if fixID(q) != c.Field("fix") {
			continue
		}
		if fixed, _, _, ok := replaced(p.Source, q); ok {
			p.Source = fixed
			s.check(c, p)
			return c.Render(http.StatusOK, PlanEditor(*p))
		}
	}
	return domain.Errorf(domain.CodeConflict, "the text has changed: check it again")
}
