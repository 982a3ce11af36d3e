package hooks

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/part/value"
	"github.com/kairosd/kairosd/web/ui"
)

// delivery shows one delivery with its headers and its body.
func (s *section) delivery(c *ui.Context) error {
	d, err := s.App.Hooks.Delivery(c, c.Principal.Actor(), c.Param("delivery"))
	if err != nil {
		return err
	}
	heading := c.T("Delivery %s", domain.ShortID(d.ID))
	at := incoming.Hook(d.Hook)
	p := DeliveryPage{Shell: c.Shell("plans", heading), Heading: heading, Status: outcomes[d.State], Reason: reason(c, d),
		Crumbs: kit.Crumbs{Path: []kit.Link{{Text: c.T("Hooks"), Href: incoming.Hooks}, {Text: d.Hook, Href: at}}}}
	if c.May(app.ReplayDeliveries) && d.CheckReplay() == nil {
		p.Actions = []kit.Link{{Text: c.T("Replay…"), Href: at + "/replay?" + url.Values{"delivery": {d.ID}}.Encode()}}
	}
	p.Facts = deliveryFacts(c, d)
	if d.Remote != "" || d.Body != "" {
		p.Blocks = []kit.Block{body(c, d)}
	}
	if len(d.Headers) > 0 {
		headers, err := jsonvalue.Encode(headersOf(d))
		if err != nil {
			return err
		}
		p.Blocks = append(p.Blocks, value.Block(c.Display.Lang, "headers", c.T("Headers without credentials"), headers, ""))
	}
	return c.Render(http.StatusOK, Delivery(p))
}

func headersOf(d domain.HookDelivery) map[string]any {
	out := map[string]any{}
	for name, v := range d.Headers {
		out[name] = v
	}
	return out
}

// body shows the body: as JSON if it is JSON, and otherwise as text.
func body(c *ui.Context, d domain.HookDelivery) kit.Block {
	switch {
	case d.Body == "" && !d.Verified:
		return kit.Block{ID: "body", Title: c.T("Body"), Text: "—",
			Explanation: c.T("kairosd stores the body only if the sender was verified.")}
	case d.Body == "" && d.State == domain.DeliveryDuplicate:
		return kit.Block{ID: "body", Title: c.T("Body"), Text: "—", Explanation: c.T("The body is stored with the accepted delivery.")}
	}
	raw := domain.RawJSON(d.Body)
	if _, err := jsonvalue.Decode(raw); err != nil {
		text, err := jsonvalue.Encode(kit.Truncate(d.Body, 64<<10))
		if err != nil {
			return kit.Block{ID: "body", Title: c.T("Body"), Text: "—"}
		}
		raw = text
	}
	return value.Block(c.Display.Lang, "body", c.T("Body"), raw, "")
}

// deliveryFacts returns the fields of a delivery. Empty ones are left out.
func deliveryFacts(c *ui.Context, d domain.HookDelivery) (out []kit.Fact) {
	add := func(term, text, href string) {
		if text != "" {
			out = append(out, kit.Fact{Term: term, Text: text, Href: href})
		}
	}
	at := c.Time(d.ReceivedAt)
	add(c.T("Received"), at.Text+" · "+at.UTC, "")
	if made := result(d); d.Run != "" {
		add(c.T("Run"), made.Text, made.Href)
	} else {
		add(c.T("Signal"), made.Text, made.Href)
	}
	if d.ReplayOf != "" {
		add(c.T("Replay of"), domain.ShortID(d.ReplayOf), incoming.Delivery(d.ReplayOf))
	}
	add(c.T("Event id"), kit.Escape(cmp.Or(d.Event, d.Key)), "")
	if d.State != domain.DeliveryAccepted {
		add(c.T("Code"), kit.Escape(d.Reason), "")
	}
	add(c.T("Sender"), kit.Escape(d.Remote), "")
	if d.Remote == "" { // a file
		add(c.T("Size"), c.Size(d.Size), "")
		return out
	}
	if d.Verified {
		add(c.T("Verified"), c.T("yes"), "")
	} else {
		add(c.T("Verified"), c.T("no"), "")
	}
	add(c.T("Size"), c.Size(d.Size), "")
	return out
}
