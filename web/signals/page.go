package signals

import (
	"net/http"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/form"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

func crumbs(c *ui.Context) kit.Crumbs {
	return kit.Crumbs{Path: []kit.Link{{Text: c.T("Signals"), Href: incoming.Signals}}}
}

// signal shows one signal with the waits that it ended.
func (s *section) signal(c *ui.Context) error {
	p, err := s.signalPage(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, Signal(p))
}

func (s *section) signalPage(c *ui.Context) (p SignalPage, err error) {
	x, err := s.App.Signals.Get(c, c.Principal.Actor(), c.Param("signal"))
	if err != nil {
		return p, err
	}
	heading := kit.Escape(kit.Truncate(x.Name, 100))
	p = SignalPage{Shell: c.Shell("plans", heading), Crumbs: crumbs(c),
		Address: incoming.Signal(x.ID), Heading: heading, Status: statuses[x.Status], Text: explain(c, x),
		Data: value.Block(c.Display.Lang, "data", c.T("Data"), x.Data, "")}
	add := func(term, text string) {
		if text != "" {
			p.Facts = append(p.Facts, kit.Fact{Term: term, Text: text})
		}
	}
	add(c.T("Key"), kit.Escape(x.Key))
	add(c.T("Sent"), c.Time(x.CreatedAt).Text)
	add(c.T("Sent by"), kit.Escape(x.Actor))
	add(c.T("Source"), kit.Escape(x.Source))
	if x.All {
		add(c.T("Ends"), c.T("all waits"))
	} else {
		add(c.T("Ends"), c.T("one wait"))
	}
	if x.Status != domain.SignalMatched || x.All {
		add(c.T("Kept until"), c.Time(x.ExpiresAt).Text)
	}
	for _, m := range x.Matches {
		p.Matches = append(p.Matches, MatchRow{Run: kit.Link{Text: domain.ShortID(m.Run), Href: "/runs/" + m.Run},
			Step: kit.StepName(m.Node, m.Visit), At: c.Time(m.At)})
	}
	return p, nil
}

// explain explains the status of a signal.
func explain(c *ui.Context, x domain.Signal) string {
	switch x.Status {
	case domain.SignalWaiting:
		return c.T("No step waits for this signal yet. It ends the first wait that begins before %s.", c.Time(x.ExpiresAt).Text)
	case domain.SignalUnmatched:
		return c.T("No step waited for this signal until %s. It has no effect.", c.Time(x.ExpiresAt).Text)
	}
	return ""
}

// newPage shows the form that sends a signal. The query of the address can fill in fields.
func (s *section) newPage(c *ui.Context) error { return s.showNew(c, http.StatusOK, "") }

func (s *section) showNew(c *ui.Context, code int, problem string) error {
	heading := c.T("Send a signal")
	p := SendPage{Shell: c.Shell("plans", heading), Crumbs: crumbs(c), Heading: heading, Post: incoming.Signals + "/new",
		Back: incoming.Signals, Idem: kit.NewID(), Error: problem, Name: c.Field("name"), Key: c.Field("key"), Data: c.Field("data"),
		Keep: c.Field("keep"), All: c.Field("all") != ""}
	return c.Render(code, Send(p))
}

// send sends the signal of the form.
func (s *section) send(c *ui.Context) error {
	req, err := typed(c)
	if err == nil {
		var x domain.Signal
		if x, err = s.App.Signals.Send(c, req); err == nil {
			return c.RedirectTo(incoming.Signal(x.ID))
		}
	}
	if says, ok := c.Refused(err); ok {
		return s.showNew(c, http.StatusUnprocessableEntity, says)
	}
	if domain.CodeOf(err) == domain.CodeTooLarge {
		return s.showNew(c, http.StatusUnprocessableEntity, c.Sentence(err))
	}
	return err
}

// typed reads the signal of the form.
func typed(c *ui.Context) (app.NewSignal, error) {
	req := app.NewSignal{Meta: c.Meta(), Name: strings.TrimSpace(c.Field("name")), Key: strings.TrimSpace(c.Field("key")),
		All: c.Field("all") != ""}
	if text := c.Field("data"); strings.TrimSpace(text) != "" {
		data, err := form.JSON(text)
		if err != nil {
			return req, domain.Errorf(domain.CodeInvalid, "the data is not JSON: %w", err)
		}
		req.Data = data
	}
	if text := strings.TrimSpace(c.Field("keep")); text != "" {
		d, err := walk.ParseDuration(text)
		if err != nil || d <= 0 {
			return req, domain.Errorf(domain.CodeInvalid, "%q is not a duration", kit.Truncate(text, 40)).Suggest("write 30m, 12h, or 7d")
		}
		req.Lifetime = d.Truncate(time.Microsecond)
	}
	return req, nil
}
