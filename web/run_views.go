package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/view"
)

// shownOutput bounds an output within a state; the step's own page has it whole.
const shownOutput = 16 << 10

// shownCheckpoints bounds how many are listed beside the state.
const shownCheckpoints = 300

// state is what a run knew at a checkpoint: its input and every output until then.
func (b *runPage) state() view.StateView {
	run := b.d.Run
	at := int64(-1)
	if n, err := strconv.ParseInt(b.c.QueryParam("cp"), 10, 64); err == nil && n >= 0 {
		at = n
	}
	var points []kairos.Entry
	for _, e := range b.d.Journal {
		if isCheckpoint(&e) {
			points = append(points, e)
		}
	}
	if at < 0 && len(points) > 0 {
		at = points[len(points)-1].Seq
	}
	at = max(at, 0)
	var v view.StateView
	cp := func(seq int64, text, change string) {
		v.Checkpoints = append(v.Checkpoints, view.Checkpoint{Link: view.Link{Text: text, Current: seq == at, Href: b.href(url.Values{"view": {"state"}, "cp": {strconv.FormatInt(seq, 10)}})}, Change: change})
		if seq == at {
			v.Heading = b.t("State at %s", text)
		}
	}
	cp(0, b.t("cp 0 input"), size(len(run.Input)))
	hidden := max(0, len(points)-shownCheckpoints)
	if hidden > 0 {
		v.Hidden = b.n(hidden, "%s older one is not listed; its address is cp= and its number.", "%s older ones are not listed; their address is cp= and the number.")
	}
	var latest []kairos.Entry // one per node, in order of their last change
	for i, e := range points {
		if e.Seq <= at {
			latest = slices.DeleteFunc(latest, func(o kairos.Entry) bool { return o.Node == e.Node })
			latest = append(latest, e)
		}
		if i < hidden && e.Seq != at {
			continue
		}
		name := stepName(e.Node, e.Visit)
		if e.Item >= 0 {
			name += fmt.Sprintf("[%d]", e.Item)
		}
		cp(e.Seq, b.t("cp %d after %s", e.Seq, name), size(len(e.Output)))
	}
	for i := len(latest) - 1; i >= 0; i-- { // the newest first
		e := latest[i]
		out, note := e.Output, ""
		if e.Item >= 0 { // a foreach: the list as far as it is known
			out = b.itemsUntil(e)
		}
		if len(out) > shownOutput {
			note = b.t("Too long to show here; open the step.")
			out = nil
		}
		bl := block(fmt.Sprintf("cp-%d", e.Seq), "output."+e.Node, out, fmt.Sprintf("/runs/%s/raw/%d/output", run.ID, e.Seq))
		if note != "" {
			bl.Note = note
		}
		if e.Seq == at {
			bl.Title += " · " + b.t("new here")
		}
		v.Blocks = append(v.Blocks, bl)
	}
	v.Blocks = append(v.Blocks, block("cp-input", "input", run.Input, ""))
	if v.Heading == "" {
		v.Heading = b.t("State at checkpoint %d", at)
	}
	if b.who.Role.Includes(kairos.RoleOperator) {
		v.Fork = fmt.Sprintf("/runs/%s/fork?at=%d", run.ID, at)
	}
	return v
}

// checkpoints is how many rows changed what the run knows.
func (b *runPage) checkpoints() int {
	n := 0
	for i := range b.d.Journal {
		if isCheckpoint(&b.d.Journal[i]) {
			n++
		}
	}
	return n
}

func isCheckpoint(e *kairos.Entry) bool {
	return e.Final && e.Status == kairos.NodeCompleted && e.Node != ""
}

// itemsUntil is the outputs of a foreach visit up to a row, as a list; nil when
// it is too long to show.
func (b *runPage) itemsUntil(last kairos.Entry) kairos.RawJSON {
	var values []any
	length := 0
	for _, e := range b.d.Journal {
		if e.Seq > last.Seq {
			break
		}
		if e.Node != last.Node || e.Visit != last.Visit || e.Item < 0 || e.Item > 1000 || !e.Final || e.Status != kairos.NodeCompleted {
			continue
		}
		if length += len(e.Output); length > shownOutput {
			return nil
		}
		v, err := planner.DecodeValue(e.Output)
		if err != nil {
			return nil
		}
		for len(values) <= e.Item {
			values = append(values, nil)
		}
		values[e.Item] = v
	}
	j, err := planner.EncodeValue(values)
	if err != nil {
		return nil
	}
	return j
}

func stepName(node string, visit int) string {
	if visit > 1 {
		return fmt.Sprintf("%s#%d", node, visit)
	}
	return node
}

// cut shortens a text at a rune, saying so.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// alike counts the failed runs that failed as this one did.
const alikeCap = 1000

// whyLinks are what to look at beside a failure: the same one in other runs, and
// the last run that went well.
func (b *runPage) whyLinks() ([]view.Link, error) {
	run := b.d.Run
	if run.Status != kairos.RunFailed || run.Error == nil {
		return nil, nil
	}
	var out []view.Link
	q := fmt.Sprintf("status:failed plan:%s node:%s error:%s", filter.Quote(run.PlanKey), filter.Quote(run.Error.Node), filter.Quote(run.Error.Code))
	n, err := b.s.Reader.RunsCount(b.ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunFailed}, PlanKey: run.PlanKey, Node: run.Error.Node, ErrorCode: run.Error.Code}, alikeCap)
	if err != nil {
		return nil, err
	}
	if n > 1 {
		out = append(out, view.Link{Text: b.n(n, "Same failure: %s run", "Same failure: %s runs"), Href: "/runs?q=" + url.QueryEscape(q)})
	}
	good, err := b.s.Reader.Runs(b.ctx, kairos.RunFilter{Statuses: []kairos.RunStatus{kairos.RunCompleted}, PlanKey: run.PlanKey, Page: kairos.Page{Limit: 1}})
	if err != nil {
		return nil, err
	}
	if len(good.Items) > 0 {
		out = append(out, view.Link{Text: b.t("Compare with the last success"), Href: "/runs/compare?" + url.Values{"a": {run.ID}, "b": {good.Items[0].ID}}.Encode()})
	}
	return out, nil
}

// summary is a text to send on, with times in both forms; secrets were masked
// before anything was stored.
func (b *runPage) summary() string {
	run := b.d.Run
	st := runStatus(run.Status, run.WaitReason)
	lines := []string{fmt.Sprintf("%s: %s v%d, run %s", b.t(st.Word), run.PlanKey, run.Version, run.ID)}
	if run.Headline != "" {
		lines = append(lines, visible(run.Headline))
	}
	if run.Error != nil {
		lines = append(lines, fmt.Sprintf("%s: %s", run.Error.Code, visible(cut(run.Error.Message, 500))))
	}
	for _, m := range []struct {
		word string
		at   view.Time
	}{{b.t("Started"), b.time(run.CreatedAt)}, {b.t("Ended"), b.time(run.EndedAt)}} {
		if m.at.UTC != "" {
			lines = append(lines, fmt.Sprintf("%s: %s · %s", m.word, m.at.Title, m.at.UTC))
		}
	}
	scheme := "http://"
	if b.s.TLS {
		scheme = "https://"
	}
	return strings.Join(append(lines, scheme+b.c.Request().Host+"/runs/"+run.ID), "\n")
}

// compare puts two runs side by side and names the first step at which they
// part.
func (r *request) compare() error {
	var runs [2]kairos.RunDetail
	var lists [2][]*step
	for i, key := range []string{"a", "b"} {
		found, err := r.s.Reader.FindRun(r.ctx, r.c.QueryParam(key))
		if err != nil {
			return err
		}
		if runs[i], err = r.s.Engine.Detail(r.ctx, found.ID); err != nil {
			return err
		}
		lists[i] = stepsOf(runs[i].Run, runs[i].Journal)
	}
	a, b := runs[0].Run, runs[1].Run
	p := view.ComparePage{Shell: r.shell("runs", r.t("Compare %s with %s", kairos.ShortID(a.ID), kairos.ShortID(b.ID))), First: r.t("No step differs.")}
	for i, side := range []*view.CompareSide{&p.A, &p.B} {
		run := runs[i].Run
		*side = view.CompareSide{Run: view.Link{Text: kairos.ShortID(run.ID), Href: "/runs/" + run.ID}, Status: runStatus(run.Status, run.WaitReason)}
	}
	fact := func(name, x, y string) {
		p.Facts = append(p.Facts, view.CompareRow{Name: name, A: visible(x), B: visible(y), Differs: x != y})
	}
	fact(r.t("Status"), r.t(p.A.Status.Word), r.t(p.B.Status.Word))
	fact(r.t("Plan"), fmt.Sprintf("%s v%d", a.PlanKey, a.Version), fmt.Sprintf("%s v%d", b.PlanKey, b.Version))
	fact(r.t("Input"), cut(string(a.Input), 300), cut(string(b.Input), 300))
	fact(r.t("Started by"), a.Actor, b.Actor)
	p.Facts = append(p.Facts, view.CompareRow{Name: r.t("Started"), A: r.time(a.CreatedAt).Text, B: r.time(b.CreatedAt).Text})
	fact(r.t("Steps"), strconv.FormatInt(a.Steps, 10), strconv.FormatInt(b.Steps, 10))
	r.compareSteps(&p, a, b, lists)
	return r.render(http.StatusOK, view.Compare(p))
}

// compareRows bounds how many steps are compared on one page.
const compareRows = 1000

func (r *request) compareSteps(p *view.ComparePage, a, b kairos.Run, lists [2][]*step) {
	others := map[string]*step{}
	for _, st := range lists[1] {
		others[st.label()] = st
	}
	cell := func(run kairos.Run, st *step) (string, string, view.Status) {
		if st == nil {
			return r.t("not there"), "", view.Status{}
		}
		return took(st.ended.Sub(st.started)), fmt.Sprintf("/runs/%s?step=%d#inspector", run.ID, st.seq), stepStatus(st.status)
	}
	first := true
	add := func(x, y *step, name string) {
		row := view.CompareRow{Name: name, Differs: true}
		row.A, row.HrefA, row.StatusA = cell(a, x)
		row.B, row.HrefB, row.StatusB = cell(b, y)
		why := r.t("only one of them has it")
		if x != nil && y != nil {
			switch {
			case x.status != y.status:
				why = r.t("it is %s in one and %s in the other", r.t(stepStatus(x.status).Word), r.t(stepStatus(y.status).Word))
			case chosenEdge(x) != chosenEdge(y):
				why = r.t("it went to %s in one and to %s in the other", chosenEdge(x), chosenEdge(y))
			case string(x.last.Output) != string(y.last.Output):
				why = r.t("its output differs")
			default:
				row.Differs = false
			}
		}
		if row.Differs && first {
			first, row.First = false, true
			p.First = r.t("They part at %s: %s", name, why)
		}
		p.Steps = append(p.Steps, row)
	}
	for _, st := range lists[0][:min(len(lists[0]), compareRows)] {
		other := others[st.label()]
		delete(others, st.label())
		add(st, other, st.label())
	}
	for _, st := range lists[1] {
		if others[st.label()] != nil && len(p.Steps) < 2*compareRows {
			add(nil, st, st.label())
		}
	}
}

// chosenEdge is where a step led.
func chosenEdge(st *step) string {
	if st.final == nil {
		return ""
	}
	return decision(st.final.Decision).To
}
