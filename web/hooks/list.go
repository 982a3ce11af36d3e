package hooks

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

// list shows hooks, sorted by key.
func (s *section) list(c *ui.Context) error {
	p, err := s.listPage(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, List(p))
}

func (s *section) listPage(c *ui.Context) (ListPage, error) {
	p := ListPage{Shell: c.Shell("plans", c.T("Hooks")), Tabs: incoming.Tabs(c, incoming.Hooks), Find: strings.TrimSpace(c.Query("q")),
		EmptyText: c.T("A hook is an address to which other systems deliver events, or a directory with new files. A delivery " +
			"starts a run, or sends a signal. There is none yet.")}
	if p.Find != "" {
		p.EmptyText = c.T("No hook has a key that contains this.")
	}
	found, err := s.App.Hooks.List(c, c.Principal.Actor(), domain.HookFilter{Text: p.Find, Page: c.Page()})
	if err != nil {
		return p, err
	}
	for _, x := range found.Items {
		p.Rows = append(p.Rows, row(c, x))
	}
	if found.Next != "" {
		p.More = link.With(incoming.Hooks, url.Values{}, "q", p.Find, "after", found.Next)
	}
	if c.May(app.CreateHook) {
		p.New = incoming.Hooks + "/new"
	}
	return p, nil
}

func row(c *ui.Context, x domain.Hook) Row {
	r := Row{Name: kit.Link{Text: x.Key, Href: incoming.Hook(x.Key)}, Status: status(x), Target: target(c, x), Scheme: string(x.Scheme)}
	if d := x.Last; d != nil {
		r.Last, r.LastStatus, r.LastReason, r.LastRun = c.Time(d.ReceivedAt), outcomes[d.State], reason(c, *d), result(*d)
	}
	return r
}

// The states of a hook.
var (
	active = kit.Word("ok", "i-ok", locale.Mark("active"), true)
	paused = kit.Word("idle", "i-pause", locale.Mark("paused"), false)
)

func status(x domain.Hook) kit.Status {
	if x.Paused != nil {
		return paused
	}
	return active
}

// target returns what deliveries to a hook start or send.
func target(c *ui.Context, x domain.Hook) kit.Link {
	if x.PlanID == "" {
		return kit.Link{Text: c.T("signal %s", kit.Escape(kit.Truncate(x.Signal, 100)))}
	}
	return kit.Link{Text: x.PlanKey, Href: link.Plan(x.PlanKey)}
}

// outcomes are the statuses of deliveries.
var outcomes = map[domain.DeliveryState]kit.Status{
	domain.DeliveryAccepted:  kit.Word("ok", "i-ok", locale.Mark("accepted"), true),
	domain.DeliveryDuplicate: kit.Word("idle", "i-skip", locale.Mark("duplicate"), true),
	domain.DeliveryFiltered:  kit.Word("idle", "i-skip", locale.Mark("filtered"), true),
	domain.DeliveryRefused:   kit.Word("fail", "i-fail", locale.Mark("refused"), true),
}

// reasons explains the codes of outcomes.
var reasons = map[string]string{
	"hook.signature": locale.Mark("The sender is not verified."),
	"hook.timestamp": locale.Mark("The timestamp is too old or too new."),
	"hook.secret":    locale.Mark("The secret of the hook is not configured, or lacks hooks: true."),
	"hook.size":      locale.Mark("The body exceeds 1 MiB."),
	"hook.rate":      locale.Mark("Too many deliveries arrived at once."),
	"hook.paused":    locale.Mark("The hook was paused."),
	"hook.id":        locale.Mark("The event has no valid id."),
	"hook.filter":    locale.Mark("The filter does not select the event."),
	"hook.duplicate": locale.Mark("An event with this id was accepted before."),
	"hook.challenge": locale.Mark("Slack verified the address."),
}

// reason explains the outcome of a delivery. Errors that depend on the delivery are shown as recorded.
func reason(c *ui.Context, d domain.HookDelivery) string {
	if text, ok := reasons[d.Reason]; ok {
		return c.T(text)
	}
	return kit.Escape(kit.Truncate(d.Message, 300))
}

// result returns the run or the signal that a delivery led to.
func result(d domain.HookDelivery) kit.Link {
	switch {
	case d.Run != "":
		return kit.Link{Text: domain.ShortID(d.Run), Href: "/runs/" + d.Run}
	case d.Signal != "":
		return kit.Link{Text: domain.ShortID(d.Signal), Href: incoming.Signal(d.Signal)}
	}
	return kit.Link{}
}
