package hooks

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	part "github.com/kairosd/kairosd/web/part/run"
	"github.com/kairosd/kairosd/web/ui"
)

// states are the filters of the list of deliveries.
var states = []struct {
	key         domain.DeliveryState
	word, empty string
}{
	{"", locale.Mark("All"), locale.Mark("No delivery has arrived yet.")},
	{domain.DeliveryAccepted, locale.Mark("Accepted"), locale.Mark("No delivery was accepted.")},
	{domain.DeliveryRefused, locale.Mark("Refused"), locale.Mark("No delivery was refused.")},
	{domain.DeliveryFiltered, locale.Mark("Filtered"), locale.Mark("No delivery was filtered.")},
	{domain.DeliveryDuplicate, locale.Mark("Duplicates"), locale.Mark("No delivery was a duplicate.")},
}

// find returns the hook in the address.
func (s *section) find(c *ui.Context) (domain.Hook, error) {
	return s.App.Hooks.Get(c, c.Principal.Actor(), c.Param("hook"))
}

// hook shows one hook with its deliveries.
func (s *section) hook(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p, err := s.head(c, x)
	if err != nil {
		return err
	}
	p.Shell, p.Crumbs, p.Rules, p.Limits = c.Shell("plans", x.Key), crumbs(c, x), rules(c, x), s.limits(c, x)
	if x.Scheme == domain.HookFiles {
		p.Files = kit.Escape(x.Files)
		p.Settle = c.T("Each file is delivered once, when it has been unchanged for %s.", x.Settle.String())
	} else {
		p.Address = s.Base(c.Echo.Request()) + "/hooks/" + url.PathEscape(x.Key)
	}
	if p.Deliveries, err = s.deliveries(c, x); err != nil {
		return err
	}
	return c.Render(http.StatusOK, Hook(p))
}

// head fills in the status, the facts, the actions, and the notes of a hook.
func (s *section) head(c *ui.Context, x domain.Hook) (HookPage, error) {
	p := HookPage{Here: incoming.Hook(x.Key), Heading: x.Key, Status: status(x), Facts: facts(c, x), Actions: actions(c, x)}
	if x.Paused != nil {
		text := locale.Mark("Paused by %s at %s: deliveries are refused, and senders repeat them.")
		if x.Scheme == domain.HookFiles {
			text = locale.Mark("Paused by %s at %s: files wait until the hook is resumed.")
		}
		p.Notes = append(p.Notes, c.T(text, kit.Escape(x.Paused.By), c.Time(x.Paused.Since).Text))
		if x.Paused.Reason != "" {
			p.Notes = append(p.Notes, kit.Escape(x.Paused.Reason))
		}
	}
	warnings, err := s.App.Hooks.Warnings(c, c.Principal.Actor(), x)
	for _, w := range warnings {
		p.Notes = append(p.Notes, c.Message(w))
	}
	return p, err
}

func crumbs(c *ui.Context, x domain.Hook) kit.Crumbs {
	return kit.Crumbs{Path: []kit.Link{{Text: c.T("Hooks"), Href: incoming.Hooks}, {Text: x.Key, Href: incoming.Hook(x.Key)}}}
}

func facts(c *ui.Context, x domain.Hook) []kit.Fact {
	to := kit.Fact{Icon: "i-bolt", Term: c.T("Sends"), Text: target(c, x).Text}
	if x.PlanID != "" {
		version := c.T("current version")
		if x.Version > 0 {
			version = fmt.Sprintf("v%d", x.Version)
		}
		to = kit.Fact{Icon: "i-plan", Term: c.T("Starts"), Text: x.PlanKey + " · " + version, Href: link.Plan(x.PlanKey)}
	}
	out := []kit.Fact{
		to,
		{Term: c.T("Source"), Text: string(x.Scheme)},
		{Icon: "i-user", Term: c.T("Actor of its runs"), Text: kit.Escape(x.Actor)},
	}
	if x.Profile != "" {
		out = append(out, kit.Fact{Term: c.T("Profile"), Text: kit.Escape(x.Profile)})
	}
	if x.Secret != "" {
		out = append(out, kit.Fact{Term: c.T("Secret"), Text: kit.Escape(x.Secret), Mono: true})
	}
	if len(x.Labels) > 0 {
		out = append(out, kit.Fact{Icon: "i-tag", Term: c.T("Labels"), Text: kit.Escape(part.LabelText(x.Labels))})
	}
	return out
}

func actions(c *ui.Context, x domain.Hook) (out []kit.Link) {
	at := incoming.Hook(x.Key)
	if !c.May(app.UpdateHook) {
		return nil
	}
	if x.Paused != nil {
		out = append(out, kit.Link{Text: c.T("Resume…"), Href: at + "/resume", Dialog: true, Primary: true})
	} else {
		out = append(out, kit.Link{Text: c.T("Pause…"), Href: at + "/pause", Dialog: true})
	}
	return append(out, kit.Link{Text: c.T("Replay…"), Href: at + "/replay"}, kit.Link{Text: c.T("Edit…"), Href: at + "/edit"},
		kit.Link{Text: c.T("Delete…"), Href: at + "/delete", Dialog: true, Danger: true})
}

// rules returns the expressions of a hook.
func rules(c *ui.Context, x domain.Hook) (out []Rule) {
	add := func(term, text, empty string) {
		if text = kit.Escape(text); text == "" {
			text = empty
		}
		if text != "" {
			out = append(out, Rule{term, text})
		}
	}
	add(c.T("Filter"), x.Filter, c.T("all events"))
	if x.PlanID != "" {
		add(c.T("Input of the run"), x.Input, c.T("the body"))
		return out
	}
	add(c.T("Signal"), x.Signal, "")
	add(c.T("Key of the signal"), x.SignalKey, "")
	add(c.T("Data of the signal"), x.Input, c.T("the body"))
	return out
}

func (s *section) limits(c *ui.Context, x domain.Hook) []string {
	if x.Scheme == domain.HookFiles {
		return []string{
			c.T("At most %s files may match.", c.Number(domain.MaxWatchedFiles)),
			c.T("Deliveries are kept for %s days. A file is recognized as long as it exists.",
				strconv.Itoa(int(domain.HookRetention.Hours()/24))),
		}
	}
	return []string{
		c.T("A delivery has at most %s.", c.Size(domain.MaxHookBody)),
		c.T("%s deliveries per second, after %s at once.", c.Number(int64(s.Rate())),
			c.Number(int64(s.Rate()*domain.HookBurst/domain.HookRate))),
		c.T("Deliveries are kept for %s days. A repeated event is recognized for the same time.",
			strconv.Itoa(int(domain.HookRetention.Hours()/24))),
	}
}

// deliveries returns a page of the deliveries to a hook.
func (s *section) deliveries(c *ui.Context, x domain.Hook) (Deliveries, error) {
	at, state := incoming.Hook(x.Key), domain.DeliveryState(c.Query("status"))
	v := Deliveries{Here: at, EmptyText: c.T(states[0].empty)}
	if x.PlanID != "" {
		v.Runs = link.List("/runs", "label.hook="+x.Key)
	}
	for _, st := range states {
		l := kit.Link{Text: c.T(st.word), Current: st.key == state,
			Href: link.With(at, url.Values{}, "status", string(st.key)) + "#deliveries"}
		if v.States = append(v.States, l); l.Current {
			v.EmptyText = c.T(st.empty)
		}
	}
	found, err := s.App.Hooks.Deliveries(c, c.Principal.Actor(), domain.DeliveryFilter{Hook: x.ID, State: state, Page: c.Page()})
	if err != nil {
		return v, err
	}
	for _, d := range found.Items {
		v.Rows = append(v.Rows, deliveryRow(c, d))
	}
	if c.May(app.ReplayDeliveries) && len(v.Rows) > 0 {
		if c.Query("choose") != "" {
			v.Replay = at + "/replay"
		} else {
			v.Choose = link.With(at, url.Values{}, "status", string(state), "after", c.Query("after"), "choose", "1") + "#deliveries"
		}
	}
	if found.Next != "" {
		v.More = link.With(at, url.Values{}, "status", string(state), "after", found.Next) + "#deliveries"
	}
	return v, nil
}

func deliveryRow(c *ui.Context, d domain.HookDelivery) DeliveryRow {
	r := DeliveryRow{ID: d.ID, Time: c.Time(d.ReceivedAt), Status: outcomes[d.State], Reason: reason(c, d),
		Event: kit.Escape(kit.Truncate(d.Event, 60)), Result: result(d), Choose: c.May(app.ReplayDeliveries) && d.CheckReplay() == nil}
	if c.May(app.GetHookDelivery) {
		r.At = kit.Link{Text: r.Time.Text, Href: incoming.Delivery(d.ID)}
	}
	if d.ReplayOf != "" {
		r.Event = c.T("replay of %s", domain.ShortID(d.ReplayOf))
	}
	return r
}
