package hooks

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/ui"
)

// replayable are the statuses of deliveries that a replay can select.
var replayable = []struct {
	state domain.DeliveryState
	word  string
}{
	{domain.DeliveryRefused, locale.Mark("refused")},
	{domain.DeliveryFiltered, locale.Mark("filtered")},
	{domain.DeliveryAccepted, locale.Mark("accepted: they start another run, or send another signal")},
}

// replayPage shows what a replay of the chosen or selected deliveries would do.
func (s *section) replayPage(c *ui.Context) error { return s.showReplay(c, http.StatusOK, "") }

func (s *section) showReplay(c *ui.Context, code int, problem string) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	at := incoming.Hook(x.Key)
	p := ReplayPage{Crumbs: crumbs(c, x), Heading: c.T("Replay deliveries to %s", x.Key), Here: at + "/replay",
		Post: at + "/replay", Back: at, Idem: kit.NewID(), Error: problem,
		Zone: c.Display.Zone.String(), Since: c.Field("since"), Rate: c.Field("rate"),
		Canary: c.Field("canary") != "", CanCanary: x.PlanID != ""}
	p.Shell = c.Shell("plans", p.Heading)
	req, err := selection(c, x)
	p.Chosen, p.Status = req.Deliveries, string(req.State)
	for _, r := range replayable {
		p.State = append(p.State, kit.Option{Value: string(r.state), Text: c.T(r.word), Selected: r.state == req.State})
	}
	if err == nil {
		var pre app.ReplayPreview
		if pre, err = s.App.Hooks.PreviewReplay(c, c.Principal.Actor(), req); err == nil {
			preview(c, &p, pre)
		}
	}
	if says, ok := c.Refused(err); err != nil && ok {
		p.Error, code = says, http.StatusUnprocessableEntity
	} else if err != nil {
		return err
	}
	return c.Render(code, Replay(p))
}

// preview adds the deliveries that the replay would repeat.
func preview(c *ui.Context, p *ReplayPage, pre app.ReplayPreview) {
	n := len(pre.Deliveries)
	p.Previewed, p.Digest, p.CanCanary = n > 0, pre.Digest, p.CanCanary && n > 1
	p.Sentence = c.T("No delivery is selected. A replay leaves out events that were accepted later.")
	if n == 0 {
		return
	}
	p.Button = c.N(n, "Replay %s delivery", "Replay %s deliveries")
	times := []any{c.Time(pre.First).Text}
	if n > 1 {
		times = append(times, c.Time(pre.Last).Text)
	}
	p.Sentence = c.N(n, "%s delivery is replayed, received at %s.", "%s deliveries are replayed, oldest first, received from %s to %s.",
		times...)
}

// selection reads the selected deliveries of the form.
func selection(c *ui.Context, x domain.Hook) (app.Replay, error) {
	req := app.Replay{Meta: c.Meta(), Hook: x.Key, State: domain.DeliveryState(c.Field("status")), Canary: c.Field("canary") != "",
		Reason: strings.TrimSpace(c.Field("reason")), Digest: c.Field("digest")}
	if err := c.Echo.Request().ParseForm(); err != nil {
		return req, domain.Errorf(domain.CodeInvalid, "the form cannot be read: %w", err)
	}
	req.Deliveries = c.Echo.Request().Form["delivery"]
	known := false
	for _, r := range replayable {
		known = known || r.state == req.State
	}
	if req.State == "" {
		req.State = domain.DeliveryRefused
	} else if !known {
		return req, domain.Errorf(domain.CodeInvalid, "deliveries with the status %q cannot be replayed",
			kit.Truncate(string(req.State), 40))
	}
	if text := c.Field("since"); text != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", text, c.Display.Zone)
		if err != nil {
			return req, domain.Errorf(domain.CodeInvalid, "%q is not a date and time", kit.Truncate(text, 40)).
				Suggest("write 2030-01-31T02:30")
		}
		req.Since = at
	}
	if text := c.Field("rate"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return req, domain.Errorf(domain.CodeInvalid, "%q is not a number of deliveries per minute", kit.Truncate(text, 40))
		}
		req.Rate = n
	}
	return req, nil
}

// replay repeats the deliveries of the preview.
func (s *section) replay(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	req, err := selection(c, x)
	if err == nil {
		var b domain.Bulk
		if b, err = s.App.Hooks.Replay(c, req); err == nil {
			return c.RedirectTo("/bulk/" + b.ID)
		}
	}
	if code := domain.CodeOf(err); code == domain.CodeStale || code == domain.CodeConflict {
		return s.showReplay(c, http.StatusConflict, c.Sentence(err))
	}
	if says, ok := c.Refused(err); ok {
		return s.showReplay(c, http.StatusUnprocessableEntity, says)
	}
	return err
}
