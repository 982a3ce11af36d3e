package schedules

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

// backfillPage shows the slots of a range that would start runs.
func (s *section) backfillPage(c *ui.Context) error { return s.showBackfill(c, http.StatusOK, "") }

func (s *section) showBackfill(c *ui.Context, code int, problem string) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p := BackfillPage{Crumbs: crumbs(c, x), Heading: c.T("Backfill %s", x.Key), Here: schedule.Address(x.Key) + "/backfill",
		Back: schedule.Address(x.Key),
		Idem: kit.NewID(), From: c.Field("from"), To: c.Field("to"), Zone: x.Zone, Error: problem, Rate: c.Field("rate"),
		Canary: c.Field("canary") != ""}
	p.Shell, p.Post = c.Shell("plans", p.Heading), p.Here
	if p.From == "" {
		return c.Render(code, Backfill(p))
	}
	req, err := rangeOf(c, x)
	if err == nil {
		var pre app.BackfillPreview
		if pre, err = s.App.Schedules.PreviewBackfill(c, c.Principal.Actor(), req); err == nil {
			preview(c, &p, pre)
		}
	}
	if says, ok := c.Refused(err); err != nil && ok {
		p.Error, code = says, http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	return c.Render(code, Backfill(p))
}

// preview adds the slots that the backfill would run.
func preview(c *ui.Context, p *BackfillPage, pre app.BackfillPreview) {
	n := len(pre.Slots)
	p.Previewed, p.Slots = n > 0, strconv.Itoa(n)
	p.Button = c.N(n, "Run %s slot", "Run %s slots")
	p.Sentence = c.T("No slot in this range needs a run.")
	if n > 0 {
		p.Sentence = c.N(n, "%s run starts, for the slot of %s.", "%s runs start, oldest first, for the slots from %s to %s.",
			slotsOf(c, pre.Slots)...)
	}
	if pre.Started > 0 {
		p.Sentence += " " + c.N(pre.Started, "%s slot has a run and is left out.", "%s slots have a run and are left out.")
	}
}

func slotsOf(c *ui.Context, slots []time.Time) []any {
	if len(slots) == 1 {
		return []any{c.Time(slots[0]).Text}
	}
	return []any{c.Time(slots[0]).Text, c.Time(slots[len(slots)-1]).Text}
}

// rangeOf reads the range of the form, in the time zone of the schedule.
func rangeOf(c *ui.Context, x domain.Schedule) (app.Backfill, error) {
	req := app.Backfill{Meta: c.Meta(), Schedule: x.Key, Canary: c.Field("canary") != "", Reason: strings.TrimSpace(c.Field("reason"))}
	zone, err := time.LoadLocation(x.Zone)
	if err != nil {
		return req, domain.Errorf(domain.CodeInvalid, "the time zone %s does not exist", x.Zone)
	}
	for field, to := range map[string]*time.Time{"from": &req.From, "to": &req.To} {
		text := c.Field(field)
		if text == "" {
			continue
		}
		if *to, err = time.ParseInLocation("2006-01-02T15:04", text, zone); err != nil {
			return req, domain.Errorf(domain.CodeInvalid, "%q is not a date and time", kit.Truncate(text, 40)).
				Suggest("write 2030-01-31T02:30")
		}
	}
	if text := c.Field("rate"); text != "" {
		if req.Rate, err = strconv.Atoi(text); err != nil {
			return req, domain.Errorf(domain.CodeInvalid, "%q is not a number of slots per minute", kit.Truncate(text, 40))
		}
	}
	return req, nil
}

// backfill runs the slots of the preview.
func (s *section) backfill(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	req, err := rangeOf(c, x)
	if err == nil {
		if n, wrong := strconv.Atoi(c.Field("slots")); wrong == nil {
			req.Digest = n
		}
		var b domain.Bulk
		if b, err = s.App.Schedules.Backfill(c, req); err == nil {
			return c.RedirectTo("/bulk/" + b.ID)
		}
	}
	if domain.CodeOf(err) == domain.CodeStale {
		return s.showBackfill(c, http.StatusConflict, c.Sentence(err))
	}
	if says, ok := c.Refused(err); ok {
		return s.showBackfill(c, http.StatusUnprocessableEntity, says)
	}
	return err
}
