package memory

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/memory", Operation: app.ListSessions, Handle: s.memory},
		{Get: "/memory/forget", Operation: app.ForgetSession, Handle: s.forgetPage},
		{Post: "/memory/forget", Operation: app.ForgetSession, Handle: s.forget},
	}
}

// actionMessages are the messages shown after an action.
var actionMessages = []ui.Done{
	{Name: "forgotten", Path: "/memory/forget", Message: locale.Mark("Session memory cleared.")},
}
