package schedules

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
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

// states are the filters of the list.
var states = []struct{ key, word, empty string }{
	{"", locale.Mark("All"), locale.Mark("A schedule starts runs of a plan at the times of a cron expression. There is none yet.")},
	{"active", locale.Mark("Active"), locale.Mark("No schedule is active.")},
	{"paused", locale.Mark("Paused"), locale.Mark("No schedule is paused.")},
	{"missed", locale.Mark("Missed slots"), locale.Mark("No missed slots wait for a decision.")},
}

// list shows schedules, sorted by key.
func (s *section) list(c *ui.Context) error {
	p, err := s.listPage(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, List(p))
}

func (s *section) listPage(c *ui.Context) (ListPage, error) {
	p := ListPage{Shell: c.Shell("plans", c.T("Schedules")), Find: strings.TrimSpace(c.Query("q")), State: c.Query("state"),
		Tabs: incoming.Tabs(c, incoming.Schedules), EmptyText: c.T(states[0].empty)}
	for _, st := range states {
		l := kit.Link{Text: c.T(st.word), Current: st.key == p.State,
			Href: link.With("/schedules", url.Values{}, "state", st.key, "q", p.Find)}
		if p.States = append(p.States, l); l.Current {
			p.EmptyText = c.T(st.empty)
		}
	}
	found, err := s.App.Schedules.List(c, c.Principal.Actor(), domain.ScheduleFilter{Text: p.Find, State: p.State, Page: c.Page()})
	if err != nil {
		return p, err
	}
	for _, x := range found.Items {
		p.Rows = append(p.Rows, row(c, x))
	}
	if found.Next != "" {
		p.More = link.With("/schedules", url.Values{}, "state", p.State, "q", p.Find, "after", found.Next)
	}
	if c.May(app.CreateSchedule) {
		p.New = "/schedules/new"
	}
	return p, nil
}

func row(c *ui.Context, x domain.Schedule) Row {
	r := Row{Name: kit.Link{Text: x.Key, Href: schedule.Address(x.Key)}, Plan: kit.Link{Text: x.PlanKey, Href: link.Plan(x.PlanKey)},
		Status: status(x), Cron: x.Cron, Zone: x.Zone, Next: c.Time(x.Next)}
	if x.Last != nil {
		slot := slotRow(c, *x.Last)
		r.Last, r.LastRun, r.LastStatus = slot.At, slot.Run, slot.Status
	}
	if m := x.Missed; m != nil {
		r.Missed = kit.Link{Text: c.N(m.Slots, "%s missed", "%s missed"), Href: schedule.Address(x.Key) + "/missed", Dialog: true}
	}
	return r
}

// The states of a schedule.
var (
	active  = kit.Word("ok", "i-ok", locale.Mark("active"), true)
	paused  = kit.Word("idle", "i-pause", locale.Mark("paused"), false)
	stopped = kit.Word("need", "i-need", locale.Mark("plan paused or archived"), false)
	missed  = kit.Word("need", "i-need", locale.Mark("missed slots"), false)
)

func status(x domain.Schedule) kit.Status {
	switch {
	case x.Missed != nil:
		return missed
	case x.Paused != nil:
		return paused
	case x.PlanStopped:
		return stopped
	}
	return active
}

// slotStatus returns the status of a slot that started no run.
var slotStatus = map[string]kit.Status{
	domain.SlotSkipped: kit.Word("idle", "i-skip", locale.Mark("skipped"), false),
	domain.SlotFailed:  kit.Word("fail", "i-fail", locale.Mark("failed"), false),
	domain.SlotStarted: kit.Word("ok", "i-ok", locale.Mark("started"), true),
}

func slotRow(c *ui.Context, slot domain.Slot) SlotRow {
	r := SlotRow{At: c.Time(slot.At), Status: slotStatus[slot.State], Reason: kit.Escape(kit.Truncate(c.Constant(slot.Reason), 300))}
	if slot.Run != "" {
		r.Run = kit.Link{Text: domain.ShortID(slot.Run), Href: "/runs/" + slot.Run}
		if slot.RunStatus != "" {
			r.Status = ui.RunStatus(slot.RunStatus, "")
		}
	}
	return r
}
