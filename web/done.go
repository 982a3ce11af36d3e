package web

import (
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// deeds are the acts of pages without a folder of their own after which a page says
// what was done.
var deeds = []ui.Done{
	{Name: "plan-paused", Path: "/plans/:plan/pause", Act: "pause", Says: locale.Mark("No run of the plan starts any more. What is under way goes on.")},
	{Name: "plan-unpaused", Path: "/plans/:plan/pause", Act: "unpause", Says: locale.Mark("Runs of the plan start again.")},
}
