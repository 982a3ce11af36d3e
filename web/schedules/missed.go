package schedules

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

// decisions are the confirmations of decisions about missed slots.
var decisions = map[domain.CatchUp]string{
	domain.CatchUpNone: locale.Mark("none was run"),
	domain.CatchUpLast: locale.Mark("the last one was run"),
	domain.CatchUpAll:  locale.Mark("all were run"),
}

// missedPage asks which missed slots start runs, and shows the consequence of each answer.
func (s *section) missedPage(c *ui.Context) error { return s.askMissed(c, http.StatusOK, "") }

func (s *section) askMissed(c *ui.Context, code int, problem string) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p := MissedPage{Crumbs: crumbs(c, x), Heading: c.T("Missed slots of %s", x.Key), Post: schedule.Address(x.Key) + "/missed",
		Back: schedule.Address(x.Key),
		Idem: kit.NewID(), Error: problem, Text: c.T("No missed slots wait for a decision.")}
	p.Shell = c.Shell("plans", p.Heading)
	if m := x.Missed; m != nil {
		p.Text, p.ID, p.Slots = schedule.Missed(c, *m)+".", m.ID, strconv.Itoa(m.Slots)
		p.Choices = []Choice{
			{string(domain.CatchUpNone), c.T("Run none"), c.T("No run starts. The schedule continues with its next slot.")},
			{string(domain.CatchUpLast), c.T("Run the last one"), c.T("1 run starts, for the slot of %s.", c.Time(m.Last).Text)},
		}
		if m.Slots > 1 {
			p.Choices = append(p.Choices, Choice{string(domain.CatchUpAll), c.T("Run all"),
				c.T("%s runs start, oldest first, one after the other.", c.Number(int64(m.Slots)))})
		}
	}
	return c.Render(code, DecideMissed(p))
}

// decide runs none, the last, or all of the missed slots.
func (s *section) decide(c *ui.Context) error {
	n, err := strconv.Atoi(c.Field("slots"))
	if err != nil {
		n = 0 // any number
	}
	b, err := s.App.Schedules.DecideMissed(c, app.MissedDecision{Meta: c.Meta(), Schedule: c.Param("schedule"), Missed: c.Field("missed"),
		Slots: n, Decision: domain.CatchUp(c.Field("decision")), Reason: strings.TrimSpace(c.Field("reason"))})
	if domain.CodeOf(err) == domain.CodeStale || domain.CodeOf(err) == domain.CodeConflict {
		return s.askMissed(c, http.StatusConflict, c.Sentence(err))
	}
	if err != nil {
		return err
	}
	if b.ID != "" {
		return c.RedirectTo("/bulk/" + b.ID)
	}
	return c.RedirectTo(schedule.Address(c.Param("schedule")))
}
