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

// fixesOffered limits the problems for which kairosd tries a fix, because each fix requires a check
// of the whole plan.
const fixesOffered = 10

// word matches the name at the position of a problem.
var word = regexp.MustCompile(`^["']?([A-Za-z0-9_.$-]+)["']?`)

// fixID identifies a problem by its position and code. A fix requested for another text finds no
// match and changes nothing.
func fixID(q planner.Problem) string { return fmt.Sprintf("%d:%d:%s", q.Line, q.Column, q.Code) }

// fixOf returns the word at the position of a problem and its replacement. ok is true only if the
// replacement reduces the number of problems.
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

// replaced returns the text with the word at the position of a problem replaced by the suggestion.
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

// fix applies the fix that the form requests, and shows the editor again.
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
