package system

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/system", Operation: app.GetSystem, Handle: s.system},
		{Get: "/system/storage", Operation: app.GetSystem, Handle: s.systemStorage},
		{Get: "/system/jobs", Operation: app.GetSystem, Handle: s.systemJobs},
		{Get: "/system/log", Operation: app.GetLog, Handle: s.systemLog},
		{Get: "/system/logs", Operation: app.GetLog, Handle: ui.RedirectTo("/system/log")},
		{Get: "/system/config", Operation: app.GetSettings, Handle: s.systemConfig},
		{Post: "/system/release", Operation: app.ReleaseHeldRuns, Handle: s.releaseAll},
		{Post: "/system/maintenance", Operation: app.SetMaintenance, Handle: s.maintain},
		{Post: "/system/backup", Operation: app.BackUp, Handle: s.backUp},
	}
}

// actionMessages are the messages shown after an action.
var actionMessages = []ui.Done{
	{Name: "released", Path: "/system/release", Message: locale.Mark("All held runs are released.")},
	{Name: "backed-up", Path: "/system/backup", Message: locale.Mark("The backup is made and verified.")},
}
