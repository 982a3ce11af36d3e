// Package handoffs contains the view of the handoffs between agents in a run.
package handoffs

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	words "github.com/kairosd/kairosd/web/part/handoff"

	"github.com/kairosd/kairosd/internal/handoff"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/run/record"
	"github.com/kairosd/kairosd/web/run/step"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	// pageHandoffs is the number of handoffs of a page.
	pageHandoffs = 50
	// shownContext is the maximum size of a displayed context in bytes.
	shownContext = 2000
)

// handoffsPart builds the handoffs view.
type handoffsPart struct{ *record.Record }

// Of returns the handoffs view of a run.
func Of(b *record.Record) (*Handoffs, error) { return handoffsPart{b}.handoffs() }

// handoffs returns the handoffs as a table and a sequence diagram, and the calls and messages of
// the agents.
func (b handoffsPart) handoffs() (*Handoffs, error) {
	list, err := b.Reader.Handoffs(b.Context, b.Detail.Run.ID)
	if err != nil {
		return nil, err
	}
	said, err := b.Reader.Conversation(b.Context, b.Detail.Run.ID)
	if err != nil {
		return nil, err
	}
	v := &Handoffs{Conversation: conversationPart(b).build(said.Messages)}
	type pair struct{ from, to string }
	open := map[pair]bool{} // a handoff in the opposite direction is a return
	run := handoff.In(b.Detail, said.Messages)
	for _, h := range list {
		d := run.Of(h, b.Site.Now())
		back := open[pair{h.To, h.From}]
		delete(open, pair{h.To, h.From})
		if !back {
			open[pair{h.From, h.To}] = true
		}
		row := HandoffRow{
			Seq:     h.Seq,
			Keys:    words.KeysOf(words.PassedOn(d)),
			Hash:    words.ShortHash(d),
			Tools:   kit.EscapeAll(d.Tools),
			At:      b.Time(h.At),
			From:    kit.Escape(h.From),
			To:      kit.Escape(h.To),
			Reason:  words.Reason(b.Context, h.Reason),
			Context: kit.Escape(kit.Truncate(words.PassedOn(d), shownContext)),
			Size:    b.Size(d.Size),
			Back:    back,
			Result: words.Status(
				d.Status,
			),
			Open:   d.Status == "open",
			Took:   kit.Duration(time.Duration(d.TookMs) * time.Millisecond),
			Cost:   value.Cost(b.Context, d.Usage.Cost),
			Href:   b.handoffHref(h.ID),
			Chosen: h.ID == b.Query("handoff"),
		}
		if h.Context != "" {
			row.Context = kit.Escape(kit.Truncate(h.Context, shownContext))
		}
		if st := b.StepAt(h.Seq, h.Node); st != nil {
			row.Step = b.StepLink(st)
		}
		v.Rows = append(v.Rows, row)
		if row.Chosen {
			v.Chosen = &step.Inspector{Detail: words.Of(b.Context, d, b.Engine.Catalog())}
		}
	}
	for _, h := range run.Refused() {
		v.Rows = append(v.Rows, b.refused(h))
	}
	slices.SortStableFunc(v.Rows, func(x, y HandoffRow) int { return cmp.Compare(x.Seq, y.Seq) })
	chosen := slices.IndexFunc(v.Rows, func(r HandoffRow) bool { return r.Chosen })
	from, to, pages := ui.RowPage(b.Context, len(v.Rows), pageHandoffs, chosen, b.Href)
	v.Rows, v.Pages = v.Rows[from:to], pages
	v.Pages.Swaps = true
	var passes []words.Pass
	for _, r := range v.Rows {
		label := r.From + " → " + r.To + ", " + r.Reason
		if r.Refused != "" {
			label += ", " + b.T(r.Result.Word) + ": " + r.Refused
		}
		passes = append(passes, words.Pass{From: r.From, To: r.To, Reason: cmp.Or(r.Refused, r.Reason), Href: r.Href, Label: label,
			Refused: r.Refused != "", Back: r.Back, Open: r.Open, Chosen: r.Chosen})
	}
	v.Sequence = words.Draw(passes)
	return v, nil
}

// refused returns the row of a rejected handoff.
func (b handoffsPart) refused(h handoff.Refused) HandoffRow {
	row := HandoffRow{
		Seq:     h.Seq,
		At:      b.Time(h.At),
		From:    kit.Escape(h.From),
		To:      kit.Escape(h.To),
		Reason:  words.Reason(b.Context, h.Reason),
		Context: kit.Escape(kit.Truncate(h.Explanation, shownContext)),
		Result:  words.Status("refused"),
		Refused: kit.Escape(kit.Truncate(h.Failure.Message, 300)) + " (" + h.Failure.Code + ")",
	}
	if st := b.StepAt(h.Seq, h.Node); st != nil {
		row.Step = b.StepLink(st)
		row.Href = row.Step.Href
	}
	return row
}

// handoffHref returns the address of this page with the details of a handoff.
func (b handoffsPart) handoffHref(id string) string {
	return b.Href(url.Values{"view": {"handoffs"}, "handoff": {id}, "step": nil, "node": nil, "try": nil, "tab": nil}) + "#inspector"
}
