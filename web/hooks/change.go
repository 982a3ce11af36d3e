package hooks

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/incoming"
	"github.com/kairosd/kairosd/web/ui"
)

// confirm shows a form that changes the hook in the address, and asks for a reason.
func (s *section) confirm(c *ui.Context, path string, fill func(domain.Hook) kit.ConfirmPage) error {
	x, err := s.find(c)
	if err != nil {
		return err
	}
	p, at := fill(x), incoming.Hook(x.Key)
	p.Crumbs, p.Back, p.Post, p.Idem = crumbs(c, x), at, at+path, kit.NewID()
	p.Shell = c.Shell("plans", p.Heading)
	return c.Render(http.StatusOK, kit.Confirm(p))
}

func (s *section) pausePage(c *ui.Context) error {
	return s.confirm(c, "/pause", func(x domain.Hook) kit.ConfirmPage {
		return kit.ConfirmPage{Heading: c.T("Pause %s", x.Key),
			Text: c.T(pauseText(x))}
	})
}

func pauseText(x domain.Hook) string {
	if x.Scheme == domain.HookFiles {
		return locale.Mark("New files wait until the hook is resumed. Active runs continue.")
	}
	return locale.Mark("Deliveries are refused with the status 503, so that most senders repeat them later. Active runs continue.")
}

func (s *section) resumePage(c *ui.Context) error {
	return s.confirm(c, "/resume", func(x domain.Hook) kit.ConfirmPage {
		return kit.ConfirmPage{Heading: c.T("Resume %s", x.Key),
			Text: c.T("The hook accepts deliveries again, and files that arrived meanwhile. You can replay those that it refused.")}
	})
}

func (s *section) deletePage(c *ui.Context) error {
	return s.confirm(c, "/delete", func(x domain.Hook) kit.ConfirmPage {
		return kit.ConfirmPage{Heading: c.T("Delete %s", x.Key), Danger: true,
			Text: c.T("It accepts no deliveries any more, and its stored deliveries are deleted. Its runs stay. This cannot be undone.")}
	})
}

func (s *section) pause(c *ui.Context) error { return s.change(c, s.App.Hooks.Pause) }

func (s *section) resume(c *ui.Context) error { return s.change(c, s.App.Hooks.Resume) }

func (s *section) change(c *ui.Context, do func(context.Context, app.HookChange) (domain.Hook, error)) error {
	x, err := do(c, s.requested(c))
	if err != nil {
		return err
	}
	return c.RedirectTo(incoming.Hook(x.Key))
}

func (s *section) delete(c *ui.Context) error {
	if _, err := s.App.Hooks.Delete(c, s.requested(c)); err != nil {
		return err
	}
	return c.RedirectTo(incoming.Hooks)
}

// requested returns the change that a form requests.
func (s *section) requested(c *ui.Context) app.HookChange {
	return app.HookChange{Meta: c.Meta(), Hook: c.Param("hook"), Rev: revision(c), Reason: strings.TrimSpace(c.Field("reason"))}
}

// revision returns the revision of the hook when the form was shown. 0 means any.
func revision(c *ui.Context) int64 {
	n, err := strconv.ParseInt(c.Field("rev"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
