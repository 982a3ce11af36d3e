package step

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/run/record"
)

// window is the number of bytes of a long value on one page.
const window = 64 << 10

// Show handles requests for the page of a step. The page is for links, for printing, and for
// reading long values in parts.
func Show(r *record.Request) error {
	b, err := r.Open(r.Param("run"))
	if err != nil {
		return err
	}
	if b.Chosen, err = b.StepOf(r.Param("seq")); err != nil {
		return err
	}
	seq, err := strconv.ParseInt(r.Param("seq"), 10, 64)
	if err != nil {
		return err // StepOf has already parsed it
	}
	e := &b.Detail.Journal[seq-1]
	run := b.Detail.Run
	p := StepPage{Shell: r.Shell("runs", b.Chosen.Label()+" · "+run.PlanKey+" · "+domain.ShortID(run.ID)), Crumbs: crumbsTo(b, b.Chosen),
		RunHref: fmt.Sprintf("/runs/%s?step=%d", run.ID, b.Chosen.Seq), Inspector: inspectorPart{b}.inspector()}
	if l := p.Inspector.Log; l != nil {
		l.Topic = "" // this page has no live updates
	}
	if part := r.Query("part"); part != "" {
		blk, err := inspectorPart{b}.window(e, part)
		if err != nil {
			return err
		}
		p.Inspector.Blocks, p.Inspector.Tabs = []kit.Block{blk}, nil
	}
	tabs := inspectorPart{b}.tabs(b.Chosen, b.Chosen.Attempt(r.Query("try")))
	for i := range p.Inspector.Tabs { // links to this page
		t := &p.Inspector.Tabs[i]
		t.Href = fmt.Sprintf("/runs/%s/steps/%d?tab=%s", run.ID, b.Chosen.Seq, tabs[i])
	}
	return r.Render(http.StatusOK, Step(p))
}

// crumbsTo returns the breadcrumb of a step's page, with a link to the next step.
func crumbsTo(b *record.Record, st *record.Step) kit.Crumbs {
	at := func(st *record.Step) string { return fmt.Sprintf("/runs/%s/steps/%d", b.Detail.Run.ID, st.Seq) }
	way := kit.Crumbs{Path: append(b.WayHere(), kit.Link{Text: st.Label(), Href: at(st)})}
	if i := slices.Index(b.Steps, st); len(b.Steps) > 1 {
		way.Siblings = b.T("%s of %s", b.Number(int64(i+1)), b.Number(int64(len(b.Steps))))
		way.Next = kit.Link{Text: b.T("Next step"), Href: at(b.Steps[(i+1)%len(b.Steps)])}
	}
	return way
}

// window returns a part of a long value, as it is stored.
func (b inspectorPart) window(e *domain.Entry, part string) (kit.Block, error) {
	var j domain.RawJSON
	switch part {
	case "input":
		j = e.Input
	case "output":
		j = e.Output
	default:
		return kit.Block{}, domain.Errorf(domain.CodeNotFound, "a step has no part %q", part)
	}
	from := 0
	if at := b.Query("from"); at == "end" {
		from = max(0, (len(j)-1)/window*window)
	} else if n, err := strconv.Atoi(at); err == nil && n > 0 {
		from = min(n, len(j)) / window * window
	}
	to := min(from+window, len(j))
	start, end := from, to
	for start > 0 && start < len(j) && !utf8.RuneStart(j[start]) {
		start++
	}
	for end < len(j) && !utf8.RuneStart(j[end]) {
		end++
	}
	start, end = min(start, len(j)), min(end, len(j))
	here := fmt.Sprintf("/runs/%s/steps/%d?part=%s", b.Detail.Run.ID, e.Seq, part)
	v := kit.Block{
		ID:    part,
		Title: b.T("Bytes %s to %s of %s", b.Number(int64(min(start+1, len(j)))), b.Number(int64(end)), b.Number(int64(len(j)))),
		Text:  kit.Escape(string(j[start:end])),
		Raw:   fmt.Sprintf("/runs/%s/raw/%d/%s", b.Detail.Run.ID, e.Seq, part),
	}
	link := func(text string, at int) {
		v.More = append(v.More, kit.Link{Text: text, Href: here + "&from=" + strconv.Itoa(at)})
	}
	if from > 0 {
		link(b.T("First"), 0)
		link(b.T("Previous"), from-window)
	}
	if to < len(j) {
		link(b.T("Next"), to)
		v.More = append(v.More, kit.Link{Text: b.T("Last"), Href: here + "&from=end"})
	}
	return v, nil
}
