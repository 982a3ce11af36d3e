package settings

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/settings/access", Operation: app.GetSettings, Handle: s.accessSettings},
		{Get: "/settings/notifications", Operation: app.GetSettings, Handle: s.notificationSettings},
		{Post: "/settings/notifications/:channel/test", Operation: app.TestNotifications, Handle: s.testChannel},
		{Get: "/settings/retention", Operation: app.GetSettings, Handle: s.retentionSettings},
		{Post: "/settings/retention", Operation: app.RunRetention, Handle: s.runRetention},
		{Get: "/settings/secrets", Operation: app.GetSettings, Handle: s.secretSettings},
		{Get: "/settings/secrets/:secret/rotate", Operation: app.RotateSecret, Handle: s.rotateSecretPage},
		{Post: "/settings/secrets/:secret/rotate", Operation: app.RotateSecret, Handle: s.rotateSecret},
	}
}

// actionMessages are the messages shown after an action.
var actionMessages = []ui.Done{
	{Name: "retained", Path: "/settings/retention", Message: locale.Mark("Expired data deleted.")},
	{
		Name:    "tested",
		Path:    "/settings/notifications/:channel/test",
		Message: locale.Mark("Test sent. The first row of the list shows the result."),
	},
	{Name: "rotated", Path: "/settings/secrets/:secret/rotate", Message: locale.Mark("The new value is in use.")},
}
