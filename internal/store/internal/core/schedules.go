package core

import (
	"encoding/json"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// Schedule maps the row of a schedule.
func Schedule(s dbsqlc.Schedule, planID, planKey string, planStopped bool) domain.Schedule {
	out := domain.Schedule{ID: s.PublicID, Key: s.Key, PlanID: planID, PlanKey: planKey, Version: int(s.Version),
		ScheduleSpec: domain.ScheduleSpec{Cron: s.Cron, Zone: s.Zone, Jitter: time.Duration(s.Jitter) * time.Microsecond,
			Input: RawJSON(s.Input), Profile: s.Profile, Overlap: domain.Overlap(s.Overlap), CatchUp: domain.CatchUp(s.CatchUp)},
		PlanStopped: planStopped, Next: FromMicros(s.NextAt), Due: FromMicros(s.DueAt), Actor: s.Actor, Declared: s.Declared != 0,
		Rev:       s.Rev,
		CreatedAt: FromMicros(s.CreatedAt), UpdatedAt: FromMicros(s.UpdatedAt)}
	if s.Labels != "{}" && json.Unmarshal([]byte(s.Labels), &out.Labels) != nil {
		out.Labels = nil // the row is checked by the integrity check
	}
	if s.PausedAt != 0 {
		out.Paused = &domain.Disablement{Since: FromMicros(s.PausedAt), By: s.PausedBy, Reason: s.PausedReason}
	}
	return out
}

// Missed maps the row of missed slots.
func Missed(m dbsqlc.MissedSlot, schedule, plan string) domain.MissedSlots {
	return domain.MissedSlots{ID: m.PublicID, Schedule: schedule, PlanKey: plan, First: FromMicros(m.FirstSlot),
		Last:  FromMicros(m.LastSlot),
		Slots: int(m.Slots), More: m.More != 0, Decision: domain.CatchUp(m.Decision), DecidedBy: m.DecidedBy,
		DecidedAt: FromMicros(m.DecidedAt), CreatedAt: FromMicros(m.CreatedAt)}
}
