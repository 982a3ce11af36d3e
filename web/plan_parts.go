package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/diagram"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/view"
)

// versionRows is the history of a plan: who saved what and why, how it did, and
// what still runs on it.
func (r *request) versionRows(p *view.PlanPage, pl domain.Plan, shown int, path string) error {
	versions, err := r.s.Reader.Versions(r.ctx, pl.ID)
	if err != nil {
		return err
	}
	runs, err := r.s.Reader.VersionRuns(r.ctx, pl.ID, r.s.now().AddDate(0, 0, -rateDays))
	if err != nil {
		return err
	}
	author := r.who.Role.Includes(domain.RoleAuthor)
	for _, o := range versions {
		row := view.VersionRow{Number: fmt.Sprintf("v%d", o.Number), Href: fmt.Sprintf("%s/v/%d", path, o.Number), Hash: o.Hash[:12], Author: visible(o.Author), Origin: o.Origin,
			Reason: r.planReason(o.Reason), At: r.time(o.CreatedAt), Current: o.Number == shown, InUse: o.Number == pl.Latest}
		if o.Number > 1 {
			row.Diff = fmt.Sprintf("%s/diff/%d/%d", path, o.Number-1, o.Number)
		}
		if author && !row.InUse {
			row.Restore = row.Href + "/restore"
		}
		n := runs[o.Number]
		if n.Ended > 0 {
			row.Runs = r.number(n.Ended)
			row.RunsHref = listAt("/runs", fmt.Sprintf("plan:%s v:%d since:%dd", quoted(pl.Key), o.Number, rateDays))
		}
		if done := n.Completed + n.Failed; done > 0 {
			row.Rate, row.Bad = r.display.lang.Percent(float64(n.Completed)/float64(done)), n.Failed > 0
		}
		if n.Active > 0 {
			row.Active = r.n(int(n.Active), "%s run under way", "%s runs under way")
			row.ActiveHref = listAt("/runs", fmt.Sprintf("plan:%s v:%d status:queued,running,waiting", quoted(pl.Key), o.Number))
		}
		p.Versions = append(p.Versions, row)
	}
	return nil
}

// planRights are who may do what with a plan, and what its steps may call.
func (r *request) planRights(p *view.PlanPage, pl domain.Plan, program *walk.Program) error {
	p.Rights = []view.Fact{{Term: r.t("Start, resume, fork"), Text: r.t("operators")}, {Term: r.t("Edit, restore, archive, go on with another version"), Text: r.t("authors")}}
	used := map[string][]string{}
	for i := range program.Nodes {
		if t := program.Nodes[i].Tool; t != "" {
			used[t] = append(used[t], program.Nodes[i].ID)
		}
	}
	if len(used) == 0 {
		return nil
	}
	list, err := r.s.App.Tools.List(r.ctx, r.who.actor())
	if err != nil {
		return err
	}
	permissions := map[string]string{}
	for _, t := range list {
		permissions[t.Name] = t.Permission
	}
	catalog := r.s.Engine.Catalog()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		info, known := catalog.Tools[name]
		says := value.Permissions[permissions[name]]
		switch {
		case !known:
			says = locale.Mark("This installation does not have it.")
		case info.Denied != nil && info.Denied(pl.Key):
			says = value.Permissions["deny"]
		}
		if says != "" {
			says = r.t(says)
		}
		p.Tools = append(p.Tools, view.ToolRight{Name: visible(name), Href: toolHref(name), Effect: r.effect(string(info.Effect)), Says: says, Steps: r.someSteps(used[name])})
	}
	return nil
}

// someSteps names the first steps of a list, and says how many there are besides.
func (r *request) someSteps(ids []string) string {
	const most = 20
	text := visible(strings.Join(ids[:min(len(ids), most)], ", "))
	if n := len(ids) - most; n > 0 {
		text += " " + r.n(n, "and %s more", "and %s more")
	}
	return text
}

// inputRows are the fields of an input that is an object.
func (r *request) inputRows(schema any) []view.InputRow {
	props, required, order := properties(schema)
	var out []view.InputRow
	for _, name := range order {
		p, _ := props[name].(map[string]any)
		row := view.InputRow{Name: visible(name), Required: slices.Contains(required, name)}
		row.Type, _ = p["type"].(string)
		about, _ := p["description"].(string)
		title, _ := p["title"].(string)
		row.About = visible(cmp.Or(about, title))
		if options := listOf(p["enum"]); len(options) > 0 {
			var list []string
			for _, o := range options {
				list = append(list, jsonvalue.Text(o))
			}
			row.Choice = visible(strings.Join(list, ", "))
		}
		if v, ok := p["default"]; ok {
			row.Default = visible(jsonvalue.Text(v))
		}
		out = append(out, row)
	}
	return out
}

// factLink leads to the plans of which the same is true.
func factLink(f domain.PlanFact) view.Link {
	text, q := f.Kind+":"+filter.Quote(f.Value), f.Kind+":"+filter.Quote(f.Value)
	if f.Kind == domain.FactLabel {
		text, q = f.Value, "label."+f.Value
		if strings.ContainsAny(q, " \t\"") {
			q = `"` + strings.ReplaceAll(q, `"`, "") + `"`
		}
	}
	return view.Link{Text: visible(text), Href: "/plans?" + url.Values{"q": {q}}.Encode()}
}

// version finds the version that an address names.
func (r *request) version() (domain.Plan, domain.Version, error) {
	pl, err := r.s.Reader.Plan(r.ctx, r.c.Param("plan"))
	if err != nil {
		return pl, domain.Version{}, err
	}
	number, err := strconv.Atoi(r.c.Param("number"))
	if err != nil {
		return pl, domain.Version{}, domain.Errorf(domain.CodeNotFound, "version %q is not a number", r.c.Param("number"))
	}
	v, err := r.s.Reader.VersionByNumber(r.ctx, pl.ID, number)
	return pl, v, err
}

// planGraphFile is a version's picture as a file.
func (r *request) planGraphFile() error {
	pl, v, err := r.version()
	if err != nil {
		return err
	}
	program, err := r.s.Engine.Program(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	effects, err := r.s.Engine.Effects(r.ctx, v.Hash)
	if err != nil {
		return err
	}
	h := r.c.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s-v%d.svg\"", safeName(pl.Key), v.Number))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'")
	return r.c.Blob(http.StatusOK, "image/svg+xml", diagram.SVG(r.s.layouts.Draw(program, effects, diagram.Options{})))
}

// planSource is a version as it was written.
func (r *request) planSource() error {
	pl, v, err := r.version()
	if err != nil {
		return err
	}
	h := r.c.Response().Header()
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=\"%s-v%d.%s\"", safeName(pl.Key), v.Number, v.Format))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return r.c.Blob(http.StatusOK, "text/plain; charset=utf-8", v.Source)
}

// restorePage asks before an earlier version is made the current one.
func (r *request) restorePage() error { return r.showRestore(http.StatusOK, "") }

func (r *request) showRestore(code int, problem string) error {
	pl, v, err := r.version()
	if err != nil {
		return err
	}
	path := "/plans/" + url.PathEscape(pl.Key)
	heading := r.t("Restore v%d of %s", v.Number, visible(pl.Key))
	p := view.RestorePage{ConfirmPage: view.ConfirmPage{Shell: r.shell("plans", heading), Crumb: view.Link{Text: pl.Key, Href: path}, Heading: heading, Error: problem, Idem: newID(), NeedsReason: true,
		Post: fmt.Sprintf("%s/v/%d/restore", path, v.Number), Back: path,
		Says: r.t("v%d is the current version again: what is started from now on follows it. Runs under way keep theirs. A version is its content, so that v%d keeps its number; the audit log says who went back and why.", v.Number, v.Number),
		Facts: []view.Fact{{Term: r.t("Current now"), Text: fmt.Sprintf("v%d", pl.Latest)}, {Term: r.t("Then"), Text: fmt.Sprintf("v%d", v.Number)},
			{Term: r.t("Stored by"), Text: visible(v.Author)}, {Term: r.t("When"), Text: r.time(v.CreatedAt).Text}}},
		Base: pl.LatestHash, Diff: fmt.Sprintf("%s/diff/%d/%d", path, pl.Latest, v.Number)}
	if v.Number == pl.Latest {
		p.Says, p.Diff, p.Nothing = r.t("v%d is the current version already.", v.Number), "", true
	}
	return r.render(code, view.Restore(p))
}

func (r *request) restore() error {
	pl, v, err := r.version()
	if err != nil {
		return err
	}
	reason := strings.TrimSpace(r.c.FormValue("reason"))
	if reason == "" {
		return r.showRestore(http.StatusUnprocessableEntity, r.t("Say why: it is kept in the audit log."))
	}
	if pl, err = r.s.App.Plans.Restore(r.ctx, app.VersionChange{Meta: r.meta(), Plan: pl.ID, Number: v.Number, Base: r.c.FormValue("base"), Reason: reason}); err == nil {
		return r.to(planURL(pl))
	}
	if code := domain.CodeOf(err); code == domain.CodeStale || code == domain.CodeConflict || code == domain.CodeInvalid {
		return r.showRestore(statusOf[code], r.sentence(err))
	}
	return err
}

// acceptVersionPage asks before a version that a planner made for a program is taken into
// use.
func (r *request) acceptVersionPage() error { return r.showAcceptVersion(http.StatusOK, "") }

func (r *request) showAcceptVersion(code int, problem string) error {
	pl, v, err := r.version()
	if err != nil {
		return err
	}
	number := fmt.Sprintf("v%d", v.Number)
	p := view.ConfirmPage{Post: fmt.Sprintf("%s/v/%d/accept", planURL(pl), v.Number), Do: "accept", Heading: r.t("Accept as %s", number), Error: problem,
		Says:  r.t("Exactly this version is taken into use: from then on runs of it can be started. Accepting it starts none."),
		Facts: []view.Fact{{Term: r.t("Plan"), Text: pl.Key}, {Term: r.t("Version"), Text: number}, {Term: r.t("Digest"), Text: v.Hash, Mono: true}, {Term: r.t("Reason"), Text: r.planReason(v.Reason)}}}
	return r.confirmPlan(code, pl, p)
}

func (r *request) acceptVersion() error {
	pl, v, err := r.version()
	if err != nil {
		return err
	}
	_, err = r.s.App.Plans.Accept(r.ctx, app.VersionChange{Meta: r.meta(), Plan: pl.ID, Number: v.Number, Reason: strings.TrimSpace(r.c.FormValue("reason"))})
	if code := domain.CodeOf(err); code == domain.CodeStale || code == domain.CodeConflict {
		return r.showAcceptVersion(statusOf[code], r.sentence(err))
	} else if err != nil {
		return err
	}
	return r.to(planURL(pl))
}

// draftOf leads to the draft of a version that waits to be accepted, if it has one, or
// else to where it is accepted.
func (r *request) draftOf(p *view.PlanPage, pl domain.Plan, v domain.Version) error {
	p.Draft = pl.Stage == domain.StageDraft
	if !p.Draft && !isProposed(pl, v) || pl.Archived {
		return nil
	}
	d, err := r.s.Drafts.DraftOfVersion(r.ctx, v.Hash)
	switch {
	case err == nil:
		p.DraftHref = "/plans/drafts/" + d.ID
	case domain.CodeOf(err) != domain.CodeNotFound:
		return err
	case r.may(app.AcceptPlan):
		p.Actions = append(p.Actions, view.Link{Text: r.t("Accept as %s…", fmt.Sprintf("v%d", v.Number)), Href: fmt.Sprintf("%s/v/%d/accept", planURL(pl), v.Number), Dialog: true})
	}
	return nil
}

// markLines is up to how many lines a document is marked up: beyond it, marks
// would be most of what the browser lays out. It is also how many lines of a document
// one page shows.
const markLines = 1000

// sourceLines is a document, marked up line by line.
func sourceLines(v domain.Version) [][]view.SourceSpan {
	lines := strings.Split(strings.TrimRight(visible(string(v.Source)), "\n"), "\n")
	out := make([][]view.SourceSpan, len(lines))
	for i, l := range lines {
		if out[i] = []view.SourceSpan{{Text: l}}; len(lines) <= markLines {
			out[i] = highlight(l)
		}
	}
	return out
}

// highlight marks up a line of YAML or JSON: keys, texts, numbers and words,
// comments and references. It is for reading: what is not understood stays plain.
func highlight(line string) []view.SourceSpan {
	var out []view.SourceSpan
	add := func(class, text string) {
		if text == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].Class == class {
			out[n-1].Text += text
			return
		}
		out = append(out, view.SourceSpan{Class: class, Text: text})
	}
	for rest := line; rest != ""; {
		c := rest[0]
		switch {
		case c == '#' && (len(rest) == len(line) || strings.HasSuffix(line[:len(line)-len(rest)], " ")):
			add("c", rest)
			return out
		case c == '"' || c == '\'':
			n := quotedEnd(rest)
			if key := strings.HasPrefix(strings.TrimLeft(rest[n:], " "), ":"); key && c == '"' {
				add("k", rest[:n])
			} else {
				addText(add, rest[:n])
			}
			rest = rest[n:]
		case strings.ContainsRune(" \t{}[],", rune(c)), c == ':' && (len(rest) == 1 || rest[1] == ' '):
			add("", rest[:1])
			rest = rest[1:]
		case c == '-' && (len(rest) == 1 || rest[1] == ' '):
			add("", rest[:1])
			rest = rest[1:]
		default:
			n := strings.IndexAny(rest, "{}[],")
			if n < 0 || strings.HasPrefix(rest, "${") || strings.Contains(rest[:n], "$") {
				n = len(rest)
			}
			if k := strings.Index(rest[:n], ":"); k > 0 && (k+1 == len(rest) || rest[k+1] == ' ') && !strings.ContainsAny(rest[:k], "\"'") {
				add("k", rest[:k])
				add("", ":")
				rest = rest[k+1:]
				continue
			}
			if k := strings.Index(rest[:n], " #"); k >= 0 {
				n = k + 1
			}
			word := strings.TrimSpace(rest[:n])
			switch _, err := strconv.ParseFloat(word, 64); {
			case err == nil, word == "true", word == "false", word == "null", word == "~":
				add("n", rest[:n])
			default:
				addText(add, rest[:n])
			}
			rest = rest[n:]
		}
	}
	return out
}

// addText adds a text with its references marked up.
func addText(add func(class, text string), s string) {
	for s != "" {
		i := strings.Index(s, "${")
		j := -1
		if i >= 0 {
			j = strings.Index(s[i:], "}")
		}
		if i < 0 || j < 0 {
			add("s", s)
			return
		}
		add("s", s[:i])
		add("v", s[i:i+j+1])
		s = s[i+j+1:]
	}
}

// quotedEnd is where a quoted text ends that a string begins with.
func quotedEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && s[0] == '"':
			i++
		case s[i] == s[0]:
			return i + 1
		}
	}
	return len(s)
}
