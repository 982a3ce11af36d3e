package schedules

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/link"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

const (
	shownTimes  = 10
	shownSlots  = 50
	shownMissed = 20
)

// overlapWords describe the overlap rules.
var overlapWords = map[domain.Overlap]string{
	domain.OverlapSkip:         locale.Mark("A slot starts no run while a run of an earlier slot is active."),
	domain.OverlapQueue:        locale.Mark("The run of a slot waits until the run of the earlier slot has ended."),
	domain.OverlapCancelOldest: locale.Mark("The run of a slot cancels the active run of the earlier slot."),
}

// catchUpWords describe the rules for missed slots.
var catchUpWords = map[domain.CatchUp]string{
	domain.CatchUpNone: locale.Mark("Missed slots start no runs."),
	domain.CatchUpLast: locale.Mark("Of missed slots, only the last one starts a run."),
	domain.CatchUpAll:  locale.Mark("Each missed slot starts a run, oldest first."),
	domain.CatchUpAsk:  locale.Mark("An operator decides about missed slots."),
}

// find returns the schedule in the address.
func (s *section) find(c *ui.Context) (domain.Schedule, error) {
	return s.App.Schedules.Get(c, c.Principal.Actor(), c.Param("schedule"))
}

// schedule shows one schedule.
func (s *section) schedule(c *ui.Context) error {
	p, err := s.schedulePage(c)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, Schedule(p))
}

func (s *section) schedulePage(c *ui.Context) (p SchedulePage, err error) {
	x, err := s.find(c)
	if err != nil {
		return p, err
	}
	p = SchedulePage{Shell: c.Shell("plans", x.Key), Heading: x.Key, Status: status(x), Crumbs: crumbs(c, x),
		Address: schedule.Address(x.Key), Runs: link.List("/runs", "schedule:"+x.Key), Facts: facts(c, x), Actions: actions(c, x)}
	effective, err := s.App.Schedules.CatchUp(c, c.Principal.Actor(), x)
	if err != nil {
		return p, err
	}
	p.Rules, p.Notes = []string{c.T(overlapWords[x.Overlap]), c.T(catchUpWords[effective])}, notes(c, x)
	times, err := s.App.Schedules.Next(c, c.Principal.Actor(), x.Cron, x.Zone, shownTimes)
	if err != nil {
		p.Problem = c.Sentence(err)
	}
	for _, at := range times {
		p.Times = append(p.Times, c.Time(at))
	}
	p.Input = kit.Escape(kit.Truncate(string(x.Input), 2000))
	if err := s.addMissed(c, &p, x); err != nil {
		return p, err
	}
	return p, s.addSlots(c, &p, x)
}

// notes say who changes a schedule and why no slot starts a run.
func notes(c *ui.Context, x domain.Schedule) (list []string) {
	if x.Declared {
		list = append(list, c.T("The plan declares this schedule. To change it, change the plan."))
	}
	if x.Paused != nil {
		list = append(list, c.T("Paused by %s at %s: no slot starts a run.", kit.Escape(x.Paused.By), c.Time(x.Paused.Since).Text))
		if x.Paused.Reason != "" {
			list = append(list, kit.Escape(x.Paused.Reason))
		}
	}
	if x.PlanStopped {
		list = append(list, c.T("Plan %s is paused or archived: no slot starts a run, and slots count as missed.", x.PlanKey))
	}
	return list
}

func crumbs(c *ui.Context, x domain.Schedule) kit.Crumbs {
	return kit.Crumbs{Path: []kit.Link{{Text: c.T("Schedules"), Href: "/schedules"}, {Text: x.Key, Href: schedule.Address(x.Key)}}}
}

func facts(c *ui.Context, x domain.Schedule) []kit.Fact {
	version := c.T("current version")
	if x.Version > 0 {
		version = fmt.Sprintf("v%d", x.Version)
	}
	out := []kit.Fact{
		{Icon: "i-plan", Term: c.T("Plan"), Text: x.PlanKey + " · " + version, Href: link.Plan(x.PlanKey)},
		{Icon: "i-clock", Term: c.T("Times"), Text: x.Cron + " · " + x.Zone},
		{Icon: "i-user", Term: c.T("Actor of its runs"), Text: kit.Escape(x.Actor)},
	}
	if x.Profile != "" {
		out = append(out, kit.Fact{Term: c.T("Profile"), Text: kit.Escape(x.Profile)})
	}
	if x.Jitter > 0 {
		out = append(out, kit.Fact{Term: c.T("Longest delay"), Text: kit.Duration(x.Jitter)})
	}
	return out
}

func actions(c *ui.Context, x domain.Schedule) (out []kit.Link) {
	at := schedule.Address(x.Key)
	if !c.May(app.UpdateSchedule) {
		return nil
	}
	if x.Paused != nil {
		out = append(out, kit.Link{Text: c.T("Resume…"), Href: at + "/resume", Dialog: true, Primary: true})
	} else {
		out = append(out, kit.Link{Text: c.T("Pause…"), Href: at + "/pause", Dialog: true})
	}
	out = append(out, kit.Link{Text: c.T("Start now…"), Href: "/runs/new?" + url.Values{"schedule": {x.Key}}.Encode()},
		kit.Link{Text: c.T("Backfill…"), Href: at + "/backfill"})
	if x.Declared {
		return out
	}
	return append(out, kit.Link{Text: c.T("Edit…"), Href: at + "/edit"},
		kit.Link{Text: c.T("Delete…"), Href: at + "/delete", Dialog: true, Danger: true})
}

// addMissed adds the missed slots that wait for a decision, and those that were decided.
func (s *section) addMissed(c *ui.Context, p *SchedulePage, x domain.Schedule) error {
	list, err := s.App.Schedules.Missed(c, c.Principal.Actor(), x.Key, shownMissed)
	if err != nil {
		return err
	}
	for _, m := range list {
		v := Missed{Text: schedule.Missed(c, m)}
		if m.Decision == "" {
			if c.May(app.DecideMissed) {
				v.Decide = kit.Link{Text: c.T("Decide…"), Href: schedule.Address(x.Key) + "/missed", Dialog: true}
			}
			p.Missed = &v
			continue
		}
		v.Sub = c.T(decisions[m.Decision])
		if m.DecidedBy != "" {
			v.Sub += " · " + kit.Escape(m.DecidedBy)
		}
		p.Past = append(p.Past, v)
	}
	return nil
}

// addSlots adds the slots that were due.
func (s *section) addSlots(c *ui.Context, p *SchedulePage, x domain.Schedule) error {
	var before time.Time
	if n, err := strconv.ParseInt(c.Query("before"), 10, 64); err == nil {
		before = time.Unix(n, 0)
	}
	slots, err := s.App.Schedules.Slots(c, c.Principal.Actor(), x.Key, before, shownSlots+1)
	if err != nil {
		return err
	}
	if len(slots) > shownSlots {
		slots = slots[:shownSlots]
		p.Older = link.With(schedule.Address(x.Key), url.Values{}, "before", strconv.FormatInt(slots[shownSlots-1].At.Unix(), 10))
	}
	for _, slot := range slots {
		p.Slots = append(p.Slots, slotRow(c, slot))
	}
	return nil
}
