package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/event"
	"github.com/kairosd/kairosd/web/part/query"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// auditEvent serves the page of an event: the change, the request, and the event's position in the
// chain.
func (s *section) auditEvent(c *ui.Context) error {
	seq, err := strconv.ParseInt(c.Param("event"), 10, 64)
	if err != nil || seq < 1 {
		return domain.Errorf(domain.CodeNotFound, "no audit event %q", c.Param("event"))
	}
	e, err := s.App.Audit.Event(c, c.Principal.Actor(), seq)
	if err != nil {
		return err
	}
	link, err := s.App.Audit.Link(c, c.Principal.Actor(), seq)
	if err != nil {
		return err
	}
	p := s.eventPage(c, e, link)
	return c.Render(http.StatusOK, AuditEvent(p))
}

// eventPage describes an event, and links the events before and after it.
func (s *section) eventPage(c *ui.Context, e domain.AuditEvent, link domain.AuditLink) AuditEventPage {
	seq := e.Seq
	p := AuditEventPage{
		Shell:  c.Shell("audit", c.T("Audit event %s", strconv.FormatInt(seq, 10))),
		Action: e.Action,
		Result: event.Result(e.Result),
		Facts:  s.eventFacts(c, e),
		Blocks: s.auditDetail(c, e),
		Chain:  s.chainFacts(c, seq, link),
	}
	for _, entry := range e.Entries {
		p.Entries = append(p.Entries, s.auditEntry(c, e.Run, entry))
	}
	if seq > max(1, link.Cut+1) {
		p.Older = "/audit/" + strconv.FormatInt(seq-1, 10)
	}
	if seq < link.Last {
		p.Newer = "/audit/" + strconv.FormatInt(seq+1, 10)
	}
	return p
}

// eventFacts returns the fields of an event. Empty ones are left out.
func (s *section) eventFacts(c *ui.Context, e domain.AuditEvent) (facts []kit.Fact) {
	add := func(term string, l kit.Link, mono bool) {
		if l.Text != "" {
			facts = append(facts, kit.Fact{Term: term, Text: l.Text, Href: l.Href, Mono: mono})
		}
	}
	text := func(s string) kit.Link { return kit.Link{Text: kit.Escape(s)} }
	add(c.T("Number"), kit.Link{Text: strconv.FormatInt(e.Seq, 10)}, true)
	at := c.Time(e.At)
	add(c.T("Time"), kit.Link{Text: at.Title + " · " + at.UTC}, false)
	add(c.T("Person"), s.auditTerm(c, "", "actor", e.Actor), false)
	add(c.T("Action"), s.auditTerm(c, "", "action", e.Action), true)
	add(c.T("About"), c.EventObject(e), false)
	add(c.T("Object"), text(e.Object), true)
	add(c.T("Reason"), text(e.Reason), false)
	add(c.T("Source"), s.auditTerm(c, "", "source", e.Source), false)
	if e.Request.Address != "" {
		add(c.T("From address"), s.auditTerm(c, "", "ip", e.Request.Address), true)
	}
	if e.Request.ID != "" {
		add(c.T("Request"), s.auditTerm(c, "", "request", e.Request.ID), true)
	}
	if e.RunSeq > 0 {
		rows := strconv.FormatInt(e.RunSeq, 10)
		if e.FirstSeq > 0 && e.FirstSeq < e.RunSeq {
			rows = fmt.Sprintf("%d–%d", e.FirstSeq, e.RunSeq)
		}
		add(c.T("Journal rows"), kit.Link{Text: rows, Href: "/runs/" + e.Run + "?view=events"}, true)
	}
	var d struct{ Version int }
	if e.Action == "plan.version" && json.Unmarshal(e.Detail, &d) == nil && d.Version > 1 {
		add(c.T("What changed"), kit.Link{
			Text: c.T("from version %d to %d", d.Version-1, d.Version),
			Href: fmt.Sprintf("%s/diff/%d/%d", c.EventObject(e).Href, d.Version-1, d.Version),
		}, false)
	}
	return facts
}

func (s *section) auditEntry(c *ui.Context, run string, e domain.Entry) kit.EventRow {
	row := kit.EventRow{
		Seq:   strconv.FormatInt(e.Seq, 10),
		Event: strings.TrimSpace(string(e.Kind) + " " + string(e.Status)),
		Step:  kit.Escape(e.Node),
		Actor: kit.Escape(e.Actor),
		At:    c.Time(e.At),
		Text:  kit.Escape(kit.Truncate(e.Reason, 300)),
		Href:  fmt.Sprintf("/runs/%s/steps/%d", run, e.Seq),
	}
	if e.Failure != nil {
		row.Text = kit.Escape(kit.Truncate(e.Failure.Message, 300))
	}
	if e.Node == "" {
		row.Href = ""
	}
	return row
}

// auditDetail returns the change if the event contains the previous values. Otherwise it returns
// the detail of the event as recorded.
func (s *section) auditDetail(c *ui.Context, e domain.AuditEvent) []kit.Block {
	if len(e.Detail) == 0 {
		return nil
	}
	var out []kit.Block
	before, after, rest := domain.SplitDetail(e.Detail)
	if before != nil || after != nil {
		lines, note := value.Diff(c.Display.Lang, before, after)
		out = append(out, kit.Block{ID: "changed", Title: c.T("What changed"), Diff: lines, Note: note})
	}
	if rest != nil {
		out = append(out, value.Block(c.Display.Lang, "detail", c.T("Detail"), rest, ""))
	}
	return out
}

// chainFacts returns the position of an event in the chain: the link that covers it, and the range
// of events in that link.
func (s *section) chainFacts(c *ui.Context, seq int64, l domain.AuditLink) []kit.Fact {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	out := []kit.Fact{{Term: c.T("Position"), Text: c.T("event %s of %s", number(seq), number(l.Last))}}
	if l.Mac == "" {
		return append(out, kit.Fact{Term: c.T("Link of the chain"), Text: c.T("its commit is being written")})
	}
	covered := c.T("events %s to %s, made with the commit of event %s", number(l.Before+1), number(l.Seq), number(l.Seq))
	if l.Before+1 == l.Seq {
		covered = c.T("this event alone, made with its commit")
	}
	out = append(
		out,
		kit.Fact{Term: c.T("Covered by"), Text: covered, Href: "/audit/" + number(l.Seq)},
		kit.Fact{Term: c.T("HMAC of the link"), Text: l.Mac, Mono: true},
	)
	if l.BeforeMac != "" {
		f := kit.Fact{Term: c.T("Link before"), Text: c.T("event %s", number(l.Before)) + " · " + l.BeforeMac, Mono: true}
		if l.Before > l.Cut {
			f.Href = "/audit/" + number(l.Before)
		}
		out = append(out, f)
	} else {
		out = append(out, kit.Fact{Term: c.T("Link before"), Text: c.T("none: the chain begins here")})
	}
	return out
}

// auditValues returns the values for a key of the filter that contain the typed text.
func (s *section) auditValues(c *ui.Context, key, typed string) ([]kit.Link, error) {
	var all []kit.Link
	add := func(values ...string) {
		for _, v := range values {
			if !slices.ContainsFunc(all, func(l kit.Link) bool { return l.Text == v }) {
				all = append(all, kit.Link{Text: v})
			}
		}
	}
	switch key {
	case "action":
		add("run.*", "plan.*", "user.*", "store.*")
		add(domain.AuditActions...)
	case "result":
		add(filter.AuditResults...)
	case "source":
		add(filter.AuditSources...)
	case "since", "until":
		add("15m", "1h", "6h", "24h", "7d", "30d")
	case "actor", "ip", "request", "object", "run": // values that occur in the newest events
		list, err := s.App.Audit.List(
			c,
			c.Principal.Actor(),
			domain.AuditFilter{Exclude: domain.AuditExclusion{Actors: excluded(key)}, Page: domain.Page{Limit: 200}},
		)
		if err != nil {
			return nil, err
		}
		if key == "actor" {
			add(c.Principal.Name, domain.System.Name)
		}
		for _, e := range list.Items {
			if v := map[string]string{"actor": e.Actor, "ip": e.Request.Address, "request": e.Request.ID, "object": e.Object,
				"run": e.Run}[key]; v != "" {
				add(v)
			}
		}
	}
	return query.Matching(all, typed), nil
}

// excluded returns the actors whose events are ignored for suggestions of a key. The engine's
// events contain no requests and few objects that users search for.
func excluded(key string) []string {
	if key == "run" || key == "actor" {
		return nil
	}
	return []string{domain.System.Name}
}
