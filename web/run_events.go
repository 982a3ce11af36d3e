package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/view"
)

// pageEvents bounds the journal rows of one page.
const pageEvents = 500

// events are the journal's rows, by kind and in pages: the ground truth.
func (b *runPage) events() *view.Events {
	v := &view.Events{}
	kind := b.c.QueryParam("kinds")
	count := map[kairos.EntryKind]int{}
	var shown []*kairos.Entry
	for i := range b.d.Journal {
		e := &b.d.Journal[i]
		count[e.Kind]++
		if kind == "" || string(e.Kind) == kind {
			shown = append(shown, e)
		}
	}
	link := func(text, kind string, n int, current bool) {
		set := url.Values{"kinds": {kind}, "rows": nil}
		if kind == "" {
			set["kinds"] = nil
		}
		v.Kinds = append(v.Kinds, view.Link{Text: text, Count: b.number(int64(n)), Href: b.href(set), Current: current})
	}
	link(b.t("All"), "", len(b.d.Journal), kind == "")
	for _, k := range []kairos.EntryKind{kairos.EntryIntent, kairos.EntryResult, kairos.EntryWait, kairos.EntryResolve, kairos.EntrySubstep, kairos.EntryReset, kairos.EntryReplan, kairos.EntryVerb} {
		if count[k] > 0 {
			link(string(k), string(k), count[k], kind == string(k))
		}
	}
	from, to, pages := b.rowPage(len(shown), pageEvents, 0, b.href)
	for _, e := range shown[from:to] {
		v.Rows = append(v.Rows, b.event(e))
	}
	v.Pages = pages
	return v
}

func (b *runPage) event(e *kairos.Entry) view.EventRow {
	row := view.EventRow{Seq: strconv.FormatInt(e.Seq, 10), At: b.time(e.At), What: strings.TrimSpace(string(e.Kind) + " " + string(e.Status)), Where: e.Node, Who: visible(e.Actor), Text: visible(e.Reason)}
	if e.Visit > 1 {
		row.Where += fmt.Sprintf(" visit %d", e.Visit)
	}
	if e.Item >= 0 && e.Node != "" {
		row.Where += fmt.Sprintf(" [%d]", e.Item)
	}
	if e.Attempt > 1 {
		row.Where += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	if e.Failure != nil {
		row.Text = visible(e.Failure.Message)
	} else if d := decision(e.Decision); e.Final && d.To != "" {
		row.Text = "→ " + d.To
	}
	row.Text = cut(row.Text, 500)
	return row
}
