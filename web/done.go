package web

import (
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// deeds are the acts of pages without a folder of their own after which a page says
// what was done.
var deeds = []ui.Done{
	{Name: "run-paused", Path: "/runs/:run/:action", Act: "pause", Says: locale.Mark("The run is paused: it stops after the running step, if there is one.")},
	{Name: "run-continued", Path: "/runs/:run/:action", Act: "continue", Says: locale.Mark("The run goes on.")},
	{Name: "run-noted", Path: "/runs/:run/ack", Says: locale.Mark("Somebody knows of it now: the run needs attention no more.")},
	{Name: "run-note", Path: "/runs/:run/ack", Act: "note", Says: locale.Mark("The note is kept with the run.")},
	{Name: "plan-paused", Path: "/plans/:plan/pause", Act: "pause", Says: locale.Mark("No run of the plan starts any more. What is under way goes on.")},
	{Name: "plan-unpaused", Path: "/plans/:plan/pause", Act: "unpause", Says: locale.Mark("Runs of the plan start again.")},
}
