package signals

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/ui"
)

// states are the filters of the list.
var states = []struct {
	key         domain.SignalStatus
	word, empty string
}{
	{"", locale.Mark("All"),
		locale.Mark("A signal is a named event with data. It ends the wait of a step with the same name. There is none yet.")},
	{domain.SignalWaiting, locale.Mark("Kept"), locale.Mark("No signal is kept for a step that may wait for it later.")},
	{domain.SignalMatched, locale.Mark("Matched"), locale.Mark("No signal has ended a wait.")},
	{domain.SignalUnmatched, locale.Mark("Unmatched"), locale.Mark("No signal has expired without a wait.")},
}

// statuses are the statuses of signals.
var statuses = map[domain.SignalStatus]kit.Status{
	domain.SignalWaiting:   kit.Word("idle", "i-clock", locale.Mark("kept"), false),
	domain.SignalMatched:   kit.Word("ok", "i-ok", locale.Mark("matched"), true),
	domain.SignalUnmatched: kit.Word("need", "i-need", locale.Mark("unmatched"), true),
}

// shownRuns is the maximum number of runs in a row.
const shownRuns = 3

// list shows signals, newest first.
func (s *section) list(c *ui.Context) error {
	p, err := s.listPage(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, List(p))
}

func (s *section) listPage(c *ui.Context) (ListPage, error) {
	p := ListPage{Shell: c.Shell("plans", c.T("Signals")), Tabs: incoming.Tabs(c, incoming.Signals), Find: strings.TrimSpace(c.Query("q")),
		State: c.Query("status"), EmptyText: c.T(states[0].empty)}
	for _, st := range states {
		l := kit.Link{Text: c.T(st.word), Current: string(st.key) == p.State,
			Href: link.With(incoming.Signals, url.Values{}, "status", string(st.key), "q", p.Find)}
		if p.States = append(p.States, l); l.Current {
			p.EmptyText = c.T(st.empty)
		}
	}
	if p.Find != "" {
		p.EmptyText = c.T("No signal has a name that contains this.")
	}
	found, err := s.App.Signals.List(c, c.Principal.Actor(), domain.SignalFilter{Text: p.Find, Status: domain.SignalStatus(p.State),
		Page: c.Page()})
	if err != nil {
		return p, err
	}
	for _, x := range found.Items {
		p.Rows = append(p.Rows, row(c, x))
	}
	if found.Next != "" {
		p.More = link.With(incoming.Signals, url.Values{}, "status", p.State, "q", p.Find, "after", found.Next)
	}
	if c.May(app.SendSignal) {
		p.New = incoming.Signals + "/new"
	}
	return p, nil
}

func row(c *ui.Context, x domain.Signal) Row {
	r := Row{Name: kit.Link{Text: kit.Escape(kit.Truncate(x.Name, 80)), Href: incoming.Signal(x.ID)},
		Key: kit.Escape(kit.Truncate(x.Key, 80)), Status: statuses[x.Status], Source: kit.Escape(x.Source), Sent: c.Time(x.CreatedAt)}
	if x.Status == domain.SignalWaiting {
		r.Expiry = c.Time(x.ExpiresAt)
	}
	for i, m := range x.Matches {
		if i == shownRuns {
			r.More = c.N(len(x.Matches)-shownRuns, "and %s more", "and %s more")
			break
		}
		r.Runs = append(r.Runs, kit.Link{Text: domain.ShortID(m.Run), Href: "/runs/" + m.Run})
	}
	return r
}

// waits shows the steps that wait for a signal, by its name.
func (s *section) waits(c *ui.Context) error {
	p, err := s.waitsPage(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, Waits(p))
}

func (s *section) waitsPage(c *ui.Context) (WaitsPage, error) {
	p := WaitsPage{Shell: c.Shell("plans", c.T("Waiting steps")), Tabs: incoming.Tabs(c, incoming.Waits),
		Find:      strings.TrimSpace(c.Query("q")),
		EmptyText: c.T("No step waits for a signal.")}
	if p.Find != "" {
		p.EmptyText = c.T("No step waits for a signal whose name contains this.")
	}
	found, err := s.App.Signals.Waits(c, c.Principal.Actor(), domain.WaitFilter{Text: p.Find, Page: c.Page()})
	if err != nil {
		return p, err
	}
	for _, w := range found.Items {
		r := WaitRow{Name: kit.Escape(kit.Truncate(w.Name, 80)), Key: kit.Escape(kit.Truncate(w.Key, 80)),
			Run: kit.Link{Text: domain.ShortID(w.Run), Href: "/runs/" + w.Run}, Plan: kit.Link{Text: w.Plan, Href: link.Plan(w.Plan)},
			Step: kit.StepName(w.Node, w.Visit), Since: c.Time(w.Since)}
		if !w.Due.IsZero() {
			r.Due = c.Time(w.Due)
		}
		if c.May(app.SendSignal) {
			r.Send = kit.Link{Text: c.T("Send…"), Href: incoming.Send(w.Name, w.Key), Dialog: true}
		}
		p.Rows = append(p.Rows, r)
	}
	if found.Next != "" {
		p.More = link.With(incoming.Waits, url.Values{}, "q", p.Find, "after", found.Next)
	}
	return p, nil
}
