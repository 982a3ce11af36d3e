package plans

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// checkPlan serves the fragment with the problems of the text. It includes the source and the graph
// as out-of-band swaps.
func (s *section) checkPlan(c *ui.Context) error {
	p := PlanForm{Shell: c.Shell("plans", "Plan"), Heading: c.T("Plan"), Source: typedSource(c), Post: "/plans/new", Idem: kit.NewID()}
	s.check(c, &p)
	if !c.HTMX() {
		return c.Render(http.StatusOK, PlanEditor(p))
	}
	return c.Render(http.StatusOK, PlanChecked(p))
}

// typedSource returns the text of the editor with LF line ends. Browsers send CRLF.
func typedSource(c *ui.Context) string { return strings.ReplaceAll(c.Field("source"), "\r\n", "\n") }

// check validates the text of an editor, and fills in its problems and its graph. It sets p.Valid
// if the text can be stored.
func (s *section) check(c *ui.Context, p *PlanForm) *planner.Document {
	source := []byte(p.Source)
	doc, problems := s.Engine.CheckPlan(source, planner.FormatOf("", source))
	for i, q := range problems {
		row := PlanProblem{ProblemRow: plan.Problem(c, q), Error: q.Severity == planner.SeverityError}
		if from, to, ok := s.fixOf(p.Source, problems, i); ok {
			row.Fix, row.Change = fixID(q), kit.Escape(from+" → "+to)
		}
		p.Problems = append(p.Problems, row)
	}
	p.Checked, p.Valid = true, doc != nil && problems.Err() == nil
	if p.Valid {
		if program, err := doc.Program(s.Engine.Catalog()); err == nil {
			s.draw(c, p, program)
		}
	}
	p.Choices = s.snippetChoices(c, c.Field("add"))
	p.Numbered = plan.Lines(domain.Version{Source: source})
	return doc
}

// draw fills in the graph and the list of non-idempotent steps. The boxes of the graph link to
// their lines in the text.
func (s *section) draw(c *ui.Context, p *PlanForm, program *walk.Program) {
	effects := graph.EffectsIn(s.Engine.Catalog(), program)
	p.Graph = graph.Written(c, s.Layouts, program, effects)
	p.Graph.Least = "1" // no minimum width: scale to the column
	lines := nodeLines(p.Source)
	for i := range p.Graph.Nodes {
		if n := &p.Graph.Nodes[i]; lines[n.Name] > 0 {
			n.Line, n.Href = lines[n.Name], fmt.Sprintf("#L%d", lines[n.Name])
		}
	}
	for i, s := range graph.Steps(program) {
		n := s.Node
		if effects[i] != walk.EffectUnsafe {
			continue
		}
		row := PlanProblem{ProblemRow: kit.ProblemRow{Code: kit.Escape(plan.ActionOf(n)), Message: kit.Escape(s.Path), Line: lines[n.ID]}}
		if row.Line > 0 {
			row.Where = c.T("line %d", row.Line)
		}
		p.Unsafe = append(p.Unsafe, row)
	}
}

var nodeLine = regexp.MustCompile(`^[ \t{,-]*(?:["']?id["']?\s*:\s*)?["']?([A-Za-z0-9_][A-Za-z0-9_-]*)["']?\s*(?::|,|\}|$)`)

// nodesBegin matches the line of the key that contains the nodes or steps of a plan.
var nodesBegin = regexp.MustCompile(`^(?:(?:nodes|steps)|[ \t]*"(?:nodes|steps)")[ \t]*:`)

// nodeLines returns the line number of the first mention of each node: its key under nodes, or its
// id in steps. The text is matched by line and not parsed, so the map may contain other keys, and
// lacks nodes in an unusual notation.
func nodeLines(source string) map[string]int {
	lines := strings.Split(source, "\n")
	start := slices.IndexFunc(lines, nodesBegin.MatchString)
	indent := -1 // of the keys under nodes; -1 until the first key
	out := map[string]int{}
	for i, l := range lines {
		text := strings.TrimLeft(l, " \t")
		if i <= start || text == "" || text[0] == '#' {
			continue
		}
		if indent < 0 {
			indent = len(l) - len(text)
		}
		if start >= 0 && strings.Contains(lines[start], "nodes") && len(l)-len(text) != indent {
			continue // a key inside a node
		}
		if m := nodeLine.FindStringSubmatch(l); m != nil && out[m[1]] == 0 {
			out[m[1]] = i + 1
		}
	}
	return out
}
