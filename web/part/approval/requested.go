package approval

import (
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/ui"
)

// RequestedAction returns the request of an MCP client for a confirmation. Its link shows what the action would do,
// and confirms or refuses it.
func RequestedAction(c *ui.Context, q domain.RequestedAction, may bool) Request {
	at := url.Values{"action": {string(q.Action)}, "digest": {q.Digest}}
	if q.Seq > 0 {
		at.Set("at", strconv.FormatInt(q.Seq, 10))
	}
	confirm := "/runs/" + q.Run + "/confirm?" + at.Encode()
	r := Request{
		Role: "need", Kind: kit.Link{Text: c.T("MCP client · %s", kit.Escape(q.Plan)), Href: link.Plan(q.Plan)},
		Text: c.T("%s run %s · steps that run again: %d · new: %d · with side effects: %d", string(q.Action), domain.ShortID(q.Run),
			q.Again, q.New, q.Effects),
		Href: "/runs/" + q.Run, Since: c.Time(q.At), Remark: c.T("asked by %s", kit.Escape(q.By)),
	}
	if may {
		r.Href = confirm
		r.Actions = []kit.Link{{Text: c.T("Confirm or refuse…"), Href: confirm, Dialog: true}}
	}
	return r
}
