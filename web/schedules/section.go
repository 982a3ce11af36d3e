// Package schedules serves the pages of schedules, which start runs of plans at given times.
package schedules

import (
	"github.com/a-h/templ"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/part/plan"
	"github.com/kairosd/kairosd/web/ui"
)

// Ports are the services of the server that these pages use.
type Ports struct{ App *app.App }

type section struct{ Ports }

// Section returns the pages.
func Section(p Ports) ui.Section {
	s := &section{p}
	return ui.Section{
		Fragments: []ui.Fragment{
			{Page: "/schedules/new", ID: plan.ProfileID, Operation: app.CreateSchedule, Build: s.profileOf},
			{Page: "/schedules/:schedule/edit", ID: plan.ProfileID, Operation: app.UpdateSchedule, Build: s.profileOf},
			{Page: "/schedules", ID: "schedules", Operation: app.ListSchedules, Topics: []string{"runs"},
				Build: func(c *ui.Context) (templ.Component, error) {
					p, err := s.listPage(c)
					return schedules(p), err
				}},
			{Page: "/schedules/:schedule", ID: "schedule", Operation: app.GetSchedule, Topics: []string{"runs"},
				Build: func(c *ui.Context) (templ.Component, error) {
					p, err := s.schedulePage(c)
					return scheduleView(p), err
				}},
		},
		Routes: []ui.Route{
			{Get: "/schedules", Operation: app.ListSchedules, Handle: s.list},
			{Get: "/schedules/new", Operation: app.CreateSchedule, Handle: s.newPage},
			{Post: "/schedules/new", Operation: app.CreateSchedule, Handle: s.create},
			{Get: "/schedules/:schedule", Operation: app.GetSchedule, Handle: s.schedule},
			{Get: "/schedules/:schedule/edit", Operation: app.UpdateSchedule, Handle: s.editPage},
			{Post: "/schedules/:schedule/edit", Operation: app.UpdateSchedule, Handle: s.edit},
			{Get: "/schedules/:schedule/pause", Operation: app.PauseSchedule, Handle: s.pausePage},
			{Post: "/schedules/:schedule/pause", Operation: app.PauseSchedule, Handle: s.pause},
			{Get: "/schedules/:schedule/resume", Operation: app.ResumeSchedule, Handle: s.resumePage},
			{Post: "/schedules/:schedule/resume", Operation: app.ResumeSchedule, Handle: s.resume},
			{Get: "/schedules/:schedule/delete", Operation: app.DeleteSchedule, Handle: s.deletePage},
			{Post: "/schedules/:schedule/delete", Operation: app.DeleteSchedule, Handle: s.delete},
			{Get: "/schedules/:schedule/backfill", Operation: app.PreviewBackfill, Handle: s.backfillPage},
			{Post: "/schedules/:schedule/backfill", Operation: app.BackfillSchedule, Handle: s.backfill},
			{Get: "/schedules/:schedule/missed", Operation: app.DecideMissed, Handle: s.missedPage},
			{Post: "/schedules/:schedule/missed", Operation: app.DecideMissed, Handle: s.decide},
		},
		Done: []ui.Done{
			{Name: "schedule-created", Path: "/schedules/new", Message: locale.Mark("Schedule created.")},
			{Name: "schedule-changed", Path: "/schedules/:schedule/edit", Message: locale.Mark("Schedule changed.")},
			{Name: "schedule-paused", Path: "/schedules/:schedule/pause", Message: locale.Mark("Schedule paused. Active runs continue.")},
			{Name: "schedule-resumed", Path: "/schedules/:schedule/resume", Message: locale.Mark("Schedule resumed.")},
			{Name: "schedule-deleted", Path: "/schedules/:schedule/delete", Message: locale.Mark("Schedule deleted. Its runs stay.")},
			{Name: "missed-decided", Path: "/schedules/:schedule/missed", Message: locale.Mark("Decision recorded.")},
		},
	}
}
