// Package hooks serves the pages of hooks, the addresses to which other systems deliver events, and of
// their deliveries.
package hooks

import (
	"net/http"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the services of the server that these pages use.
type Ports struct {
	App *app.App
	// Base returns the address of the server as other systems reach it, for a request to a page.
	Base func(*http.Request) string
	// Rate returns the number of deliveries per second to a hook.
	Rate func() int
}

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{
		Fragments: s.fragments(),
		Routes: []ui.Route{
			{Get: "/events/hooks", Operation: app.ListHooks, Handle: s.list},
			{Get: "/events/hooks/new", Operation: app.CreateHook, Handle: s.newPage},
			{Post: "/events/hooks/new", Operation: app.CreateHook, Handle: s.create},
			{Get: "/events/hooks/:hook", Operation: app.GetHook, Handle: s.hook},
			{Get: "/events/hooks/:hook/edit", Operation: app.UpdateHook, Handle: s.editPage},
			{Post: "/events/hooks/:hook/edit", Operation: app.UpdateHook, Handle: s.edit},
			{Get: "/events/hooks/:hook/pause", Operation: app.PauseHook, Handle: s.pausePage},
			{Post: "/events/hooks/:hook/pause", Operation: app.PauseHook, Handle: s.pause},
			{Get: "/events/hooks/:hook/resume", Operation: app.ResumeHook, Handle: s.resumePage},
			{Post: "/events/hooks/:hook/resume", Operation: app.ResumeHook, Handle: s.resume},
			{Get: "/events/hooks/:hook/delete", Operation: app.DeleteHook, Handle: s.deletePage},
			{Post: "/events/hooks/:hook/delete", Operation: app.DeleteHook, Handle: s.delete},
			{Get: "/events/hooks/:hook/replay", Operation: app.PreviewReplay, Handle: s.replayPage},
			{Post: "/events/hooks/:hook/replay", Operation: app.ReplayDeliveries, Handle: s.replay},
			{Get: "/events/deliveries/:delivery", Operation: app.GetHookDelivery, Handle: s.delivery},
		},
		Done: []ui.Done{
			{Name: "hook-created", Path: "/events/hooks/new", Message: locale.Mark("Hook created.")},
			{Name: "hook-changed", Path: "/events/hooks/:hook/edit", Message: locale.Mark("Hook changed.")},
			{Name: "hook-paused", Path: "/events/hooks/:hook/pause", Message: locale.Mark("Hook paused.")},
			{Name: "hook-resumed", Path: "/events/hooks/:hook/resume", Message: locale.Mark("Hook resumed.")},
			{Name: "hook-deleted", Path: "/events/hooks/:hook/delete", Message: locale.Mark("Hook deleted. Its runs stay.")},
		},
	}
}
