package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// storePlan stores a document as a person.
func (c *clocked) storePlan(source string) (app.StoredPlan, error) {
	c.t.Helper()
	return c.Plans.Store(c.t.Context(), app.PlanDocument{Meta: app.Meta{By: apptest.Author}, Source: []byte(source),
		Format: planner.FormatYAML, Origin: "upload"})
}

const reported = `
id: nightly
input: {type: object, properties: {kind: {type: string, default: short}}}
labels: {kind: "${input.kind}"}
SCHEDULE
nodes: {a: {type: set, input: "${input.kind}"}}
`

func withSchedule(s string) string { return strings.Replace(reported, "SCHEDULE", s, 1) }

// A version that becomes current creates, changes, and removes the schedule that it declares. Only a pause
// and a resume are possible elsewhere.
func TestAPlanDeclaresItsSchedule(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	must := func(source string) app.StoredPlan {
		t.Helper()
		s, err := c.storePlan(source)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := must(withSchedule(`schedule: {cron: "*/10 * * * *", time_zone: Europe/Madrid, input: {kind: long}}`))
	s := c.get()
	if !s.Declared || s.PlanKey != "nightly" || s.Cron != "*/10 * * * *" || s.Zone != "Europe/Madrid" ||
		string(s.Input) != `{"kind":"long"}` || s.Overlap != domain.OverlapSkip || s.Next.IsZero() || s.Actor != apptest.Author.Name {
		t.Fatalf("the schedule is %+v", s)
	}
	c.tick(s.Next)
	runs, err := c.Store.Runs(t.Context(), domain.RunFilter{RunCause: domain.RunCause{Schedule: "nightly"}, Page: domain.Page{Limit: 9}})
	if err != nil || len(runs.Items) != 1 || runs.Items[0].Labels["kind"] != "long" {
		t.Fatalf("runs of the slot: %+v, %v", runs.Items, err)
	}

	daily := "@daily"
	by := app.Meta{By: apptest.Operator}
	_, err = c.Schedules.Update(t.Context(),
		app.ScheduleEdit{Meta: by, Schedule: "nightly", ScheduleFields: app.ScheduleFields{Cron: &daily}})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "declares") {
		t.Errorf("a change of the schedule: %v", err)
	}
	_, err = c.Schedules.Delete(t.Context(), app.ScheduleChange{Meta: by, Schedule: "nightly"})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("a removal of the schedule: %v", err)
	}
	if _, err = c.Schedules.Pause(t.Context(), app.ScheduleChange{Meta: by, Schedule: "nightly"}); err != nil {
		t.Error(err)
	}

	must(withSchedule("schedule: {cron: '@daily'}"))
	if s = c.get(); s.Cron != "@daily" || s.Zone != "UTC" || len(s.Input) > 0 || s.Paused == nil {
		t.Errorf("the changed schedule is %+v", s)
	}
	must(withSchedule("x-none: 1"))
	if _, err := c.Schedules.Get(t.Context(), apptest.Viewer, "nightly"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a version without a schedule leaves it: %v", err)
	}
	if _, err := c.Plans.Restore(t.Context(), app.VersionChange{Meta: app.Meta{By: apptest.Author}, Plan: "nightly",
		Number: first.Version.Number}); err != nil {
		t.Fatal(err)
	}
	if s = c.get(); s.Cron != "*/10 * * * *" || s.Paused != nil || s.Next.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("the restored schedule is %+v", s)
	}
}

// Bad input P54: a declared schedule that cannot work, or of a generated plan. No version is stored.
func TestDeclaredSchedulesAreChecked(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	c.create("slotted", "@daily", nil) // its key is nightly
	for s, want := range map[string]string{
		`schedule: {cron: "61 * * * *"}`:                      "invalid cron expression",
		`schedule: {cron: "@daily", time_zone: Mars/Olympus}`: "unknown time zone",
		`schedule: {cron: "* * * * *", jitter: 5m}`:           "not shorter than the interval",
		`schedule: {cron: "@daily", input: {kind: 3}}`:        "input of the schedule does not match",
		`schedule: {cron: "@daily", input: {kind: "a b"}}`:    `schedule "nightly" exists`,
	} {
		if _, err := c.storePlan(withSchedule(s)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", s, err)
		}
	}
	if _, err := c.Store.Plan(t.Context(), "nightly"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a refused version was stored: %v", err)
	}
	_, _, _, _, err := c.Engine.SavePlan(t.Context(), apptest.Author, []byte(strings.Replace(withSchedule(`schedule: {cron: "@daily"}`),
		"id: nightly", "id: other", 1)), planner.FormatYAML, "planner", "")
	if err == nil || !strings.Contains(err.Error(), "a generated plan cannot have a schedule") {
		t.Errorf("a generated plan: %v", err)
	}
	_, _, _, _, err = c.Engine.SavePlan(t.Context(), apptest.Author, []byte("id: other\nexpose: [mcp]\nnodes: {a: {type: noop}}"),
		planner.FormatYAML, "planner", "")
	if err == nil || !strings.Contains(err.Error(), "a generated plan cannot expose itself as a tool") {
		t.Errorf("a generated plan exposes itself: %v", err)
	}
}
