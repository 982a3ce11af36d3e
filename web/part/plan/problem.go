package plan

import (
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

var severityWords = map[planner.Severity]string{
	planner.SeverityError:   locale.Mark("error"),
	planner.SeverityWarning: locale.Mark("warning"),
}

// Problem returns the row of a problem in the user's language.
func Problem(c *ui.Context, q planner.Problem) kit.ProblemRow {
	row := kit.ProblemRow{Severity: c.T(severityWords[q.Severity]), Code: q.Code, Node: kit.Escape(kit.Truncate(q.Node, 160)),
		Message: c.Message(q.Message), Suggestion: c.Message(q.Suggestion), Line: q.Line}
	if q.Line > 0 {
		row.Where = c.T("line %d, column %d", q.Line, q.Column)
	}
	return row
}
