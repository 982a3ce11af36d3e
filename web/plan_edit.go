package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	plans "github.com/kairosd/kairosd/examples"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/diff/plandiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/graph"
	"github.com/kairosd/kairosd/web/view"
)

const blankPlan = `id: my-plan
name: My plan
nodes:
  greet:
    type: log
    input: "hello ${input}"
`

// newPlan is the editor of a plan that is not stored yet, empty or with a copy of
// another.
func (r *request) newPlan() error {
	p := view.PlanForm{Shell: r.shell("plans", "New plan"), Heading: r.t("New plan"), Source: blankPlan, Post: "/plans/new", Idem: newID()}
	files, err := plans.Plans()
	if err != nil {
		return fmt.Errorf("read examples: %w", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name, ".yaml")
		p.Examples = append(p.Examples, view.Link{Text: name, Href: exampleAt(name), Current: r.c.QueryParam("example") == name})
	}
	if from := r.c.QueryParam("from"); from != "" {
		pl, err := r.s.Reader.Plan(r.ctx, from)
		if err != nil {
			return err
		}
		number := pl.Latest
		if n, err := strconv.Atoi(r.c.QueryParam("v")); err == nil && n > 0 {
			number = n
		}
		v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
		if err != nil {
			return err
		}
		p.Source, p.Heading = renamed(string(v.Source), pl.Key+"-copy"), r.t("Copy of %s", visible(pl.Key))
	}
	if name := r.c.QueryParam("example"); name != "" {
		i := slices.IndexFunc(files, func(f plans.File) bool { return f.Name == name+".yaml" })
		if i < 0 {
			return domain.Errorf(domain.CodeNotFound, "there is no example %q", name)
		}
		p.Source = string(files[i].Source)
	}
	r.looked(&p)
	return r.render(http.StatusOK, view.PlanEditor(p))
}

// firstExample is the one that is offered where there is no plan yet: it decides, calls
// and asks a person.
const firstExample = "order-triage"

func exampleAt(name string) string {
	return "/plans/new?" + url.Values{"example": {name}}.Encode()
}

var idLine = regexp.MustCompile(`(?m)^id:.*$`)

// renamed gives a document another id, so that a copy never becomes a version of what it
// was copied from.
func renamed(source, id string) string {
	if planner.FormatOf("", []byte(source)) == planner.FormatJSON {
		return renamedJSON(source, id)
	}
	if !idLine.MatchString(source) {
		return "id: " + id + "\n" + source
	}
	return idLine.ReplaceAllLiteralString(source, "id: "+id)
}

func (r *request) editPlan() error {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return err
	}
	number := pl.Latest
	if n, err := strconv.Atoi(r.c.QueryParam("base")); err == nil && n > 0 {
		number = n
	}
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
	if err != nil {
		return err
	}
	p := view.PlanForm{Shell: r.shell("plans", r.t("Edit %s", pl.Key)), Heading: r.t("Edit %s v%d", pl.Key, number),
		Source: string(v.Source), Base: pl.LatestHash, BaseNumber: strconv.Itoa(pl.Latest), Post: "/plans/" + url.PathEscape(pl.Key) + "/edit", Idem: newID()}
	r.looked(&p)
	return r.render(http.StatusOK, view.PlanEditor(p))
}

// looked adds to an editor what is wrong with its text and how it looks, and says
// whether it can be stored.
func (r *request) looked(p *view.PlanForm) (doc *planner.Document, valid bool) {
	source := []byte(p.Source)
	doc, problems := r.s.Engine.CheckPlan(source, planner.FormatOf("", source))
	for _, q := range problems {
		p.Problems = append(p.Problems, r.problemRow(q))
	}
	valid = doc != nil && problems.Err() == nil
	if valid {
		if program, err := doc.Program(r.s.Engine.Catalog()); err == nil {
			effects := graph.EffectsIn(r.s.Engine.Catalog(), program)
			p.Graph = graph.Written(r.Context, &r.s.layouts, program, effects)
			lines := nodeLines(p.Source)
			for i := range p.Graph.Nodes { // a box leads to where it is written
				if n := &p.Graph.Nodes[i]; lines[n.Name] > 0 {
					n.Line, n.Href = lines[n.Name], fmt.Sprintf("#L%d", lines[n.Name])
				}
			}
			for i := range program.Nodes {
				if n := &program.Nodes[i]; effects[i] == walk.EffectUnsafe {
					row := view.ProblemRow{Code: visible(doesWhat(n)), Message: visible(n.ID)}
					if row.Line = lines[n.ID]; row.Line > 0 {
						row.Where = r.t("line %d", row.Line)
					}
					p.Unsafe = append(p.Unsafe, row)
				}
			}
		}
	}
	p.Checked, p.Valid = true, valid
	p.Choices = r.snippetChoices(r.c.FormValue("add"))
	p.Numbered = sourceLines(domain.Version{Source: source})
	return doc, valid
}

var severityWords = map[planner.Severity]string{planner.SeverityError: locale.Mark("error"), planner.SeverityWarning: locale.Mark("warning")}

func (r *request) problemRow(q planner.Problem) view.ProblemRow {
	row := view.ProblemRow{Severity: r.t(severityWords[q.Severity]), Code: q.Code, Node: visible(cut(q.Node, 160)), Headline: r.problemHeadline(q), Message: visible(q.Message), Suggestion: visible(q.Suggestion), Line: q.Line}
	if q.Line > 0 {
		row.Where = r.t("line %d, column %d", q.Line, q.Column)
	}
	return row
}

var nodeLine = regexp.MustCompile(`^[ \t{,-]*(?:["']?id["']?\s*:\s*)?["']?([A-Za-z0-9_][A-Za-z0-9_-]*)["']?\s*(?::|,|\}|$)`)

// nodesBegin is the line of the key below which the nodes or steps of a plan stand.
var nodesBegin = regexp.MustCompile(`^(?:(?:nodes|steps)|[ \t]*"(?:nodes|steps)")[ \t]*:`)

// nodeLines are the lines on which a text names a node first: as a key of nodes, or as
// the id of a step. Other keys may be there too; what does not stand there as it is, is
// not.
func nodeLines(source string) map[string]int {
	lines := strings.Split(source, "\n")
	start := slices.IndexFunc(lines, nodesBegin.MatchString)
	indent := -1 // of the keys of nodes; steps are told by their ids
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
			continue // within a node
		}
		if m := nodeLine.FindStringSubmatch(l); m != nil && out[m[1]] == 0 {
			out[m[1]] = i + 1
		}
	}
	return out
}

// checkPlan is the part of the editor beside the text: what is wrong with it, and
// its picture out of band.
func (r *request) checkPlan() error {
	p := view.PlanForm{Shell: r.shell("plans", "Plan"), Heading: r.t("Plan"), Source: r.typedSource(), Post: "/plans/new", Idem: newID()}
	r.looked(&p)
	if !r.htmx() {
		return r.render(http.StatusOK, view.PlanEditor(p))
	}
	return r.render(http.StatusOK, view.PlanChecked(p))
}

// typedSource is the text of the editor; browsers send CRLF line ends.
func (r *request) typedSource() string {
	return strings.ReplaceAll(r.c.FormValue("source"), "\r\n", "\n")
}

// savePlan checks a document and stores it, or tries it, or adds a step to it;
// whatever is wrong with it is shown all at once, and what was typed stays.
func (r *request) savePlan() error {
	source := r.typedSource()
	format := planner.FormatOf("", []byte(source))
	p := view.PlanForm{Shell: r.shell("plans", "Plan"), Heading: r.t("Plan"), Source: source, Reason: r.c.FormValue("reason"), Base: r.c.FormValue("base"), BaseNumber: r.c.FormValue("basen"),
		Post: r.c.Request().URL.Path, Idem: newID(), TryInput: r.c.FormValue("try_input")}
	if key := r.c.Param("plan"); key != "" {
		p.Heading = r.t("Edit %s", key)
	}
	again := func(code int) error {
		r.looked(&p)
		return r.render(code, view.PlanEditor(p))
	}
	switch r.c.FormValue("do") {
	case "add":
		var err error
		if p.Snippet, err = r.snippet(source, r.c.FormValue("add")); err != nil {
			p.Trouble = r.sentence(err)
			return again(http.StatusUnprocessableEntity)
		}
		return again(http.StatusOK)
	case "check":
		if _, valid := r.looked(&p); !valid {
			return r.render(http.StatusUnprocessableEntity, view.PlanEditor(p))
		}
		return r.render(http.StatusOK, view.PlanEditor(p))
	case "try":
		return r.tryPlan(&p, format)
	}
	doc, valid := r.looked(&p)
	if !valid {
		return r.render(http.StatusUnprocessableEntity, view.PlanEditor(p))
	}
	stored, err := r.s.App.Plans.Store(r.ctx, app.PlanDocument{Meta: r.meta(), Source: []byte(source), Format: format, Origin: "upload", Reason: r.c.FormValue("reason"), Base: p.Base})
	switch domain.CodeOf(err) {
	case "":
		return r.to(fmt.Sprintf("%s/v/%d", planURL(stored.Plan), stored.Version.Number))
	case domain.CodeStale:
	default:
		return err
	}
	return r.savedMeanwhile(&p, doc, format, err)
}

// tryPlan starts a dry run of the text, without saving it.
func (r *request) tryPlan(p *view.PlanForm, format planner.Format) error {
	var input domain.RawJSON
	if typed := p.TryInput; strings.TrimSpace(typed) != "" {
		var err error
		if input, err = jsonOf(typed); err != nil { // plain text is an input too
			if input, err = jsonvalue.Encode(typed); err != nil {
				return err
			}
		}
	}
	text := sha256.Sum256([]byte(p.Source + "\x00" + p.TryInput)) // another text is tried anew
	err := r.onceOf(":try:"+hex.EncodeToString(text[:]), func() (string, error) {
		run, _, err := r.s.Engine.TryPlan(r.ctx, r.who.actor(), []byte(p.Source), format, input)
		return "/runs/" + run.ID, err
	})
	if domain.CodeOf(err) == domain.CodeInvalid {
		p.Trouble = r.sentence(err)
		r.looked(p)
		return r.render(http.StatusUnprocessableEntity, view.PlanEditor(*p))
	}
	return err
}

// savedMeanwhile shows what was typed beside what somebody else has saved since:
// saving again is on top of what is there now (P44).
func (r *request) savedMeanwhile(p *view.PlanForm, doc *planner.Document, format planner.Format, why error) error {
	pl, err := r.s.Reader.Plan(r.ctx, doc.ID)
	if err != nil {
		return err
	}
	p.Stale = r.sentence(why)
	now, err := r.s.Reader.VersionByHash(r.ctx, pl.LatestHash)
	if err != nil {
		return err
	}
	if began, err := r.s.Reader.VersionByHash(r.ctx, p.Base); err == nil {
		if began.Number < pl.Latest {
			p.StaleDiff = fmt.Sprintf("/plans/%s/diff/%d/%d", url.PathEscape(pl.Key), began.Number, pl.Latest)
		}
		typed := domain.Version{Source: []byte(p.Source), Format: string(cmp.Or(format, planner.FormatYAML))}
		p.Theirs, p.Yours = diffLines(plandiff.Versions(began, now)), diffLines(plandiff.Versions(began, typed))
		p.Began, p.Now = fmt.Sprintf("v%d", began.Number), fmt.Sprintf("v%d", now.Number)
	} else if domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	p.Base, p.BaseNumber = pl.LatestHash, strconv.Itoa(pl.Latest)
	return r.render(http.StatusConflict, view.PlanEditor(*p))
}

// diffLines are the lines of a difference as pages show them.
func diffLines(d plandiff.Diff) []view.DiffLine {
	classes := map[plandiff.Sign]string{plandiff.Plus: "ins", plandiff.Minus: "del", plandiff.Cut: "sub"}
	out := make([]view.DiffLine, len(d.Lines))
	for i, l := range d.Lines {
		out[i] = view.DiffLine{Sign: string(l.Sign), Text: visible(l.Text), Class: classes[l.Sign]}
	}
	return out
}

// renamedJSON gives a JSON text another id; what cannot be read stays as it is, and is
// said to be wrong beside it.
func renamedJSON(source, id string) string {
	dec := json.NewDecoder(strings.NewReader(source))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return source
	}
	first, empty := int(dec.InputOffset()), !dec.More()
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return source
		}
		if end := int(dec.InputOffset()); key == "id" {
			return source[:end-len(value)] + strconv.Quote(id) + source[end:]
		}
	}
	rest := source[first:]
	gap := rest[:len(rest)-len(strings.TrimLeft(rest, " \t\r\n"))]
	if empty {
		return source[:first] + gap + `"id": ` + strconv.Quote(id) + rest
	}
	return source[:first] + gap + `"id": ` + strconv.Quote(id) + "," + cmp.Or(gap, " ") + rest[len(gap):]
}
