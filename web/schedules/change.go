package schedules

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/part/schedule"
	"github.com/kairosd/kairosd/web/ui"
)

// confirm shows a form that changes a schedule, and asks for a reason.
func (s *section) confirm(c *ui.Context, x domain.Schedule, path string, p kit.ConfirmPage) error {
	at := schedule.Address(x.Key)
	p.Crumbs, p.Back, p.Post, p.Idem = crumbs(c, x), at, at+path, kit.NewID()
	p.Shell = c.Shell("plans", p.Heading)
	return c.Render(http.StatusOK, kit.Confirm(p))
}

func (s *section) pausePage(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	return s.confirm(c, x, "/pause", kit.ConfirmPage{Heading: c.T("Pause %s", x.Key),
		Text: c.T("No slot starts a run until you resume the schedule, and none counts as missed. Active runs continue.")})
}

func (s *section) resumePage(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	return s.confirm(c, x, "/resume", kit.ConfirmPage{Heading: c.T("Resume %s", x.Key),
		Text: c.T("The schedule continues with its next slot. Slots during the pause start no runs.")})
}

func (s *section) deletePage(c *ui.Context) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	return s.confirm(c, x, "/delete", kit.ConfirmPage{Heading: c.T("Delete %s", x.Key), Danger: true,
		Text: c.T("No slot starts a run any more, and the list of its slots is deleted. Its runs stay. This cannot be undone.")})
}

func (s *section) pause(c *ui.Context) error { return s.change(c, s.App.Schedules.Pause) }

func (s *section) resume(c *ui.Context) error { return s.change(c, s.App.Schedules.Resume) }

func (s *section) change(c *ui.Context, do func(context.Context, app.ScheduleChange) (domain.Schedule, error)) error {
	x, err := do(c, s.requested(c))
	if err != nil {
		return err
	}
	return c.RedirectTo(schedule.Address(x.Key))
}

func (s *section) delete(c *ui.Context) error {
	if _, err := s.App.Schedules.Delete(c, s.requested(c)); err != nil {
		return err
	}
	return c.RedirectTo("/schedules")
}

// requested returns the change that a form requests.
func (s *section) requested(c *ui.Context) app.ScheduleChange {
	return app.ScheduleChange{Meta: c.Meta(), Schedule: c.Param("schedule"), Rev: revision(c),
		Reason: strings.TrimSpace(c.Field("reason"))}
}

// revision returns the revision of the schedule when the form was shown. 0 means any.
func revision(c *ui.Context) int64 {
	n, err := strconv.ParseInt(c.Field("rev"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
