package web

import (
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/view"
)

// window is how much of a long value one page shows.
const window = 64 << 10

// stepPage is a step as a page of its own: to link to, to print, and to read long
// values on, part by part.
func (r *request) stepPage() error {
	b, err := r.openRun(r.c.Param("run"))
	if err != nil {
		return err
	}
	if b.chosen, err = b.stepOf(r.c.Param("seq")); err != nil {
		return err
	}
	seq, err := strconv.ParseInt(r.c.Param("seq"), 10, 64)
	if err != nil {
		return err // stepOf has read it
	}
	e := &b.d.Journal[seq-1]
	if _, err := b.why(); err != nil {
		return err
	}
	run := b.d.Run
	p := view.StepPage{Shell: r.shell("runs", b.chosen.label()+" · "+run.PlanKey+" · "+domain.ShortID(run.ID)), Run: domain.ShortID(run.ID),
		RunHref: fmt.Sprintf("/runs/%s?step=%d", run.ID, b.chosen.seq), Plan: run.PlanKey, Inspector: b.inspector()}
	p.Inspector.Page = ""
	if l := p.Inspector.Log; l != nil {
		l.Topic = "" // this page stands still
	}
	if part := r.c.QueryParam("part"); part != "" {
		blk, err := b.window(e, part)
		if err != nil {
			return err
		}
		p.Inspector.Blocks, p.Inspector.Tabs = []view.Block{blk}, nil
	}
	for i := range p.Inspector.Tabs { // stay on this page
		t := &p.Inspector.Tabs[i]
		t.Href = fmt.Sprintf("/runs/%s/steps/%d?tab=%s", run.ID, b.chosen.seq, b.tabs(b.chosen, b.attempt(b.chosen))[i])
	}
	return r.render(http.StatusOK, view.Step(p))
}

// window is a part of a long value as it is stored.
func (b *runPage) window(e *domain.Entry, part string) (view.Block, error) {
	var j domain.RawJSON
	switch part {
	case "input":
		j = e.Input
	case "output":
		j = e.Output
	default:
		return view.Block{}, domain.Errorf(domain.CodeNotFound, "a step has no part %q", part)
	}
	from := 0
	if at := b.c.QueryParam("from"); at == "end" {
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
	here := fmt.Sprintf("/runs/%s/steps/%d?part=%s", b.d.Run.ID, e.Seq, part)
	v := view.Block{ID: part, Title: b.t("Bytes %s to %s of %s", b.number(int64(min(start+1, len(j)))), b.number(int64(end)), b.number(int64(len(j)))), Text: visible(string(j[start:end])),
		Raw: fmt.Sprintf("/runs/%s/raw/%d/%s", b.d.Run.ID, e.Seq, part)}
	link := func(text string, at int) {
		v.More = append(v.More, view.Link{Text: text, Href: here + "&from=" + strconv.Itoa(at)})
	}
	if from > 0 {
		link(b.t("First"), 0)
		link(b.t("Previous"), from-window)
	}
	if to < len(j) {
		link(b.t("Next"), to)
		v.More = append(v.More, view.Link{Text: b.t("Last"), Href: here + "&from=end"})
	}
	return v, nil
}
