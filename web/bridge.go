package web

import (
	"net/url"
	"time"

	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/part/approval"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/handoff"
	"github.com/kairosd/kairosd/web/part/query"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// What pages without a folder of their own take from the kit and from link, under the
// names that they know it by.

func word(key, icon, w string, final bool) kit.Status { return kit.Word(key, icon, w, final) }
func took(d time.Duration) string                     { return kit.Took(d) }
func visible(s string) string                         { return kit.Visible(s) }
func visibleAll(list []string) []string               { return kit.VisibleAll(list) }
func begun(text string) string                        { return kit.Begun(text) }
func plural(n int, one, many string) string           { return kit.Plural(n, one, many) }
func cut(s string, n int) string                      { return kit.Cut(s, n) }
func about(d time.Duration) string                    { return kit.About(d) }
func safeName(s string) string                        { return kit.SafeName(s) }
func newID() string                                   { return kit.NewID() }

func listAt(path, q string) string { return link.List(path, q) }
func with(path string, keep url.Values, change ...string) string {
	return link.With(path, keep, change...)
}
func agentHref(id string) string  { return link.Agent(id) }
func toolHref(name string) string { return link.Tool(name) }

func (r *request) t(text string, args ...any) string { return r.T(text, args...) }
func (r *request) n(n int, one, other string, args ...any) string {
	return r.N(n, one, other, args...)
}
func (r *request) number(n int64) string                       { return r.Number(n) }
func (r *request) time(t time.Time) kit.Time                   { return r.Time(t) }
func (r *request) ago(d time.Duration) string                  { return r.Ago(d) }
func (r *request) size(n int) string                           { return r.Size(n) }
func (r *request) said(text string) string                     { return r.Said(text) }
func (r *request) saidInside(text string) string               { return r.SaidInside(text) }
func (r *request) sentence(err error) string                   { return r.Sentence(err) }
func (r *request) refused(err error) (problem string, ok bool) { return r.Refused(err) }
func (r *request) htmx() bool                                  { return r.HTMX() }
func (r *request) target() string                              { return r.Target() }
func (r *request) page() domain.Page                           { return r.Page() }
func (r *request) lists() []kit.Link                           { return r.Lists() }
func (r *request) may(op app.Operation) bool                   { return r.May(op) }
func (r *request) meta() app.Meta                              { return r.Meta() }
func (r *request) to(address string) error                     { return r.To(address) }
func (r *request) once(f func() (string, error)) error         { return r.Once(f) }
func (r *request) shell(section, title string) kit.Shell       { return r.Shell(section, title) }
func (r *request) render(code int, page templ.Component) error { return r.Render(code, page) }
func (r *request) setDisplay() error                           { return r.SetDisplay() }
func (r *request) filterProblem(problem *domain.Error) (says, suggests string) {
	return r.FilterProblem(problem)
}

func (r *request) headline(run domain.Run) string      { return part.Headline(r.Context, run) }
func (r *request) statusOf(run domain.Run) kit.Status  { return part.Status(r.Context, run) }
func (r *request) scheduled(run domain.Run) bool       { return part.Scheduled(r.Context, run) }
func (r *request) consequence(p domain.Preview) string { return part.Consequence(r.Context, p) }
func (r *request) expectation(e *domain.Expected, n int) string {
	return part.Expectation(r.Context, e, n)
}
func (r *request) rowPage(total, size, row int, href func(url.Values) string) (from, to int, p kit.RowPages) {
	return ui.RowPage(r.Context, total, size, row, href)
}
func handoffStatus(s string) kit.Status               { return handoff.Status(s) }
func (r *request) handoffReason(code string) string   { return handoff.Reason(r.Context, code) }
func stepName(node string, visit int) string          { return kit.StepName(node, visit) }
func percent(f float64) string                        { return kit.Percent(f) }
func pretty(j domain.RawJSON) string                  { return value.Pretty(j) }
func jsonOf(s string) (domain.RawJSON, error)         { return form.JSON(s) }
func callOf(e *domain.Entry) (what string, ok bool)   { return part.Call(e) }
func labelText(labels map[string]string) string       { return part.LabelText(labels) }
func labelsOf(text string) (map[string]string, error) { return part.ParseLabels(text) }

// cards are what is shown of approvals.
func (s *Server) cards() approval.Ports {
	return approval.Ports{Forecasts: s.Engine, TwoPeople: s.TwoPeople, People: s.People}
}

func groupTerms(g domain.FailureRef) string { return filter.Failures(g) }

func (r *request) runRows(list []domain.Run) []part.Row {
	return part.Rows{Programs: r.s.Engine}.Of(r.Context, list)
}

func (r *request) headlineOf(status domain.RunStatus, reason domain.WaitReason, text string) string {
	return r.HeadlineOf(status, reason, text)
}

func runStatus(s domain.RunStatus, reason domain.WaitReason) kit.Status {
	return ui.RunStatus(s, reason)
}

func stepStatus(s domain.NodeStatus) kit.Status { return ui.StepStatus(s) }

func refusedWith(err error) int { return ui.RefusedWith(err) }

// statusOf maps a code to the status that browsers get.
var statusOf = ui.StatusOf

func cutBlock(b kit.Block, s string) kit.Block { return value.Text(b, s) }
func addressesIn(text string) []string         { return value.Addresses(text) }
func (r *request) block(id, title string, j domain.RawJSON, raw string) kit.Block {
	return value.Block(r.display.lang, id, title, j, raw)
}
func (r *request) jsonDiff(a, z domain.RawJSON) (lines []kit.DiffLine, note string) {
	return value.Diff(r.display.lang, a, z)
}

func (r *request) rangesAt(path, q string) []kit.Link { return query.Ranges(r.Context, path, q) }

func (r *request) effect(e string) string   { return value.Effect(r.Context, e) }
func (r *request) cost(cost float64) string { return value.Cost(r.Context, cost) }
func shortened(s string) string             { return kit.Shorten(s) }
