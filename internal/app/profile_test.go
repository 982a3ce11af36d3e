package app_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
)

const profiled = "id: nightly\nvalues: {n: 1}\nSCHEDULE\nnodes: {a: {type: set, input: \"${value.n}\"}}\n" +
	"profiles: {dev: {values: {n: 2}}, prod: {values: {n: 3}}}\n"

// The runs of a schedule have its profile, which the plan or a person sets. Bad input P62: an unknown one is refused.
func TestAScheduleHasAProfile(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	store := func(schedule string) error {
		_, err := c.storePlan(strings.Replace(profiled, "SCHEDULE", schedule, 1))
		return err
	}
	if err := store(`schedule: {cron: "*/10 * * * *", profile: prdo}`); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an unknown profile in the plan: %v", err)
	}
	if err := store(`schedule: {cron: "*/10 * * * *", profile: prod}`); err != nil {
		t.Fatal(err)
	}
	s := c.get()
	if s.Profile != "prod" {
		t.Fatalf("the schedule has the profile %q", s.Profile)
	}
	c.tick(s.Next)
	of := func(key string) domain.Run {
		t.Helper()
		list, err := c.Store.Runs(t.Context(), domain.RunFilter{RunCause: domain.RunCause{Schedule: key}})
		if err != nil || len(list.Items) == 0 {
			t.Fatalf("runs of %s: %v, %v", key, list.Items, err)
		}
		return list.Items[0]
	}
	if run := of("nightly"); run.Profile != "prod" {
		t.Errorf("the run of the slot has the profile %q", run.Profile)
	}
	if err := store(`schedule: {cron: "*/10 * * * *", profile: dev}`); err != nil || c.get().Profile != "dev" {
		t.Errorf("after a change of the plan: %q, %v", c.get().Profile, err)
	}

	plan, cron, unknown, none := "nightly", "0 0 * * *", "prdo", ""
	create := func(key string, profile *string) (domain.Schedule, error) {
		return c.Schedules.Create(t.Context(), app.NewSchedule{Meta: app.Meta{By: apptest.Operator}, Key: key,
			ScheduleFields: app.ScheduleFields{Plan: &plan, Cron: &cron, Profile: profile}})
	}
	if _, err := create("bad", &unknown); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "dev, prod") {
		t.Errorf("an unknown profile: %v", err)
	}
	x, err := create("own", &s.Profile)
	if err != nil || x.Profile != "prod" {
		t.Fatalf("a schedule with a profile: %q, %v", x.Profile, err)
	}
	x, err = c.Schedules.Update(t.Context(), app.ScheduleEdit{Meta: app.Meta{By: apptest.Operator}, Schedule: "own",
		ScheduleFields: app.ScheduleFields{Profile: &none}})
	if err != nil || x.Profile != "" {
		t.Errorf("without its profile: %q, %v", x.Profile, err)
	}
}
