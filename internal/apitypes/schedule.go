package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// ScheduleSettings are the settings of a schedule.
type ScheduleSettings struct {
	Cron     string            `json:"cron" doc:"Minute, hour, day of month, month, and day of week, or a name such as @daily."`
	TimeZone string            `json:"timeZone" doc:"The IANA name of the time zone, such as Europe/Madrid."`
	JitterMs int64             `json:"jitterMs" doc:"The longest random delay of a slot in milliseconds."`
	Input    domain.RawJSON    `json:"input,omitempty" doc:"The input of the runs."`
	Profile  string            `json:"profile,omitempty" doc:"The profile of the plan that the runs have."`
	Labels   map[string]string `json:"labels,omitempty" doc:"Labels of the runs."`
	Overlap  domain.Overlap    `json:"overlap" enum:"skip,queue,cancel_oldest" doc:"Effect of a slot while an earlier run is active."`
	CatchUp  domain.CatchUp    `json:"catchUp" enum:"default,none,last,all,ask" doc:"Missed slots that start runs."`
}

// Schedule starts runs of a plan at times, the slots.
type Schedule struct {
	ID   string         `json:"id"`
	Key  string         `json:"key" doc:"The name of the schedule; unique."`
	Plan domain.PlanRef `json:"plan" doc:"The plan, and the version that runs follow; 0: the current one."`
	ScheduleSettings
	Declared    bool                `json:"declared" doc:"The plan declares the schedule. Only the plan can change it."`
	Paused      *domain.Disablement `json:"paused,omitempty" doc:"Principal and reason of the pause; absent: the schedule is not paused."`
	PlanStopped bool                `json:"planStopped" doc:"The plan is paused or archived, so no slot starts."`
	Next        time.Time           `json:"nextSlot,omitzero" doc:"The next slot."`
	Due         time.Time           `json:"dueAt,omitzero" doc:"Time at which the next slot starts, with its jitter."`
	Actor       string              `json:"actor" doc:"Principal that created the schedule or changed it last: the actor of its runs."`
	Rev         int64               `json:"rev" doc:"The revision, which the ETag is made of."`
	CreatedAt   time.Time           `json:"createdAt"`
	UpdatedAt   time.Time           `json:"updatedAt"`
	Last        *Slot               `json:"lastSlot,omitempty" doc:"The newest slot that was due."`
	Missed      *MissedSlots        `json:"missed,omitempty" doc:"Missed slots that wait for a decision."`
}

// ScheduleDetail is a single schedule with its next times.
type ScheduleDetail struct {
	Schedule
	Effective domain.CatchUp `json:"effectiveCatchUp" doc:"Effect of catchUp for the plan as it is now."`
	Times     []time.Time    `json:"nextTimes" doc:"The next ten slots."`
}

// Slot is a time of a schedule that was due.
type Slot struct {
	At     time.Time        `json:"slot" doc:"The time."`
	State  string           `json:"status" enum:"started,skipped,failed" doc:"Whether the slot started a run."`
	Run    string           `json:"run,omitempty" doc:"The id of its run."`
	Status domain.RunStatus `json:"runStatus,omitempty" doc:"The status of its run."`
	Reason string           `json:"reason,omitempty" doc:"Reason why it started no run."`
	Done   time.Time        `json:"settledAt" doc:"Time at which it started or was skipped."`
}

// MissedSlots are consecutive slots that could not start in time.
type MissedSlots struct {
	ID        string         `json:"id"`
	Schedule  string         `json:"schedule" doc:"The key of the schedule."`
	First     time.Time      `json:"firstSlot" doc:"The first of the slots."`
	Last      time.Time      `json:"lastSlot" doc:"The last of the slots."`
	Slots     int            `json:"slots" doc:"Number of slots, at most 1000."`
	More      bool           `json:"more" doc:"There are more slots than that. The newest ones can start."`
	Decision  domain.CatchUp `json:"decision,omitempty" enum:"none,last,all" doc:"Slots that started; absent: an operator must decide."`
	DecidedBy string         `json:"decidedBy,omitempty" doc:"Principal that decided."`
	DecidedAt time.Time      `json:"decidedAt,omitzero" doc:"Time of the decision."`
	CreatedAt time.Time      `json:"createdAt"`
}

// SlotOf returns a slot as the API sends it.
func SlotOf(s domain.Slot) Slot {
	return Slot{At: s.At, State: s.State, Run: s.Run, Status: s.RunStatus, Reason: s.Reason, Done: s.SettledAt}
}

// MissedSlotsOf returns missed slots as the API sends them.
func MissedSlotsOf(m domain.MissedSlots) MissedSlots {
	return MissedSlots{ID: m.ID, Schedule: m.Schedule, First: m.First, Last: m.Last, Slots: m.Slots, More: m.More, Decision: m.Decision,
		DecidedBy: m.DecidedBy, DecidedAt: m.DecidedAt, CreatedAt: m.CreatedAt}
}

// ScheduleOf returns a schedule as the API sends it.
func ScheduleOf(s domain.Schedule) Schedule {
	out := Schedule{ID: s.ID, Key: s.Key, Plan: domain.PlanRef{ID: s.PlanID, Key: s.PlanKey, Version: s.Version},
		ScheduleSettings: ScheduleSettings{Cron: s.Cron, TimeZone: s.Zone, JitterMs: s.Jitter.Milliseconds(), Input: s.Input,
			Profile: s.Profile, Labels: s.Labels, Overlap: s.Overlap, CatchUp: s.CatchUp},
		Declared: s.Declared,
		Paused:   s.Paused, PlanStopped: s.PlanStopped, Next: s.Next, Due: s.Due, Actor: s.Actor, Rev: s.Rev, CreatedAt: s.CreatedAt,
		UpdatedAt: s.UpdatedAt}
	if s.Paused != nil {
		out.Next, out.Due = time.Time{}, time.Time{}
	}
	if s.Last != nil {
		last := SlotOf(*s.Last)
		out.Last = &last
	}
	if s.Missed != nil {
		missed := MissedSlotsOf(*s.Missed)
		out.Missed = &missed
	}
	return out
}

// ScheduleCreate is a schedule to create.
type ScheduleCreate struct {
	Key string `json:"key" minLength:"1" maxLength:"100" doc:"The name of the schedule: letters, digits, and . _ -" example:"nightly"`
	ScheduleChange
}

// ScheduleChange changes settings of a schedule. Absent settings do not change.
type ScheduleChange struct {
	Plan     *string            `json:"plan,omitempty" maxLength:"128" doc:"The id or key of the plan." example:"report"`
	Version  *int               `json:"version,omitempty" minimum:"0" doc:"The version that runs follow; 0: the current one."`
	Cron     *string            `json:"cron,omitempty" maxLength:"200" doc:"Five fields, or a name such as @daily." example:"30 2 * * 1-5"`
	TimeZone *string            `json:"timeZone,omitempty" maxLength:"64" doc:"An IANA name; default UTC." example:"Europe/Madrid"`
	JitterMs *int64             `json:"jitterMs,omitempty" minimum:"0" maximum:"86400000" doc:"The longest random delay of a slot in milliseconds."`
	Input    *domain.RawJSON    `json:"input,omitempty" doc:"The input of the runs."`
	Profile  *string            `json:"profile,omitempty" maxLength:"64" doc:"A profile that the plan declares; empty: none."`
	Labels   *map[string]string `json:"labels,omitempty" doc:"Labels of the runs."`
	Overlap  *domain.Overlap    `json:"overlap,omitempty" enum:"skip,queue,cancel_oldest" doc:"Effect of a slot while an earlier run is active; default skip."`
	CatchUp  *domain.CatchUp    `json:"catchUp,omitempty" enum:"default,none,last,all,ask" doc:"Missed slots that start runs; default: ask if the plan has non-idempotent steps, else last."`
}

// MissedDecision decides about missed slots.
type MissedDecision struct {
	Decision domain.CatchUp `json:"decision" enum:"none,last,all" doc:"Slots that start runs."`
	Missed   string         `json:"missed,omitempty" maxLength:"64" doc:"The id of the missed slots that you saw."`
	Slots    int            `json:"slots,omitempty" minimum:"0" doc:"The number of slots that you saw: refused if more were missed."`
	Canary   bool           `json:"canary,omitempty" doc:"Run one slot first, and the others only if its run does not fail."`
	Rate     int            `json:"rate,omitempty" minimum:"0" maximum:"60000" doc:"Slots per minute; 0: no limit."`
	Reason   string         `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// BackfillCreate runs the past slots of a range.
type BackfillCreate struct {
	From   time.Time `json:"from" doc:"The beginning of the range." example:"2030-01-01T00:00:00Z"`
	To     time.Time `json:"to,omitzero" doc:"The end of the range, exclusive; absent: now."`
	Canary bool      `json:"canary,omitempty" doc:"Run one slot first, and the others only if its run does not fail."`
	Rate   int       `json:"rate,omitempty" minimum:"0" maximum:"60000" doc:"Slots per minute; 0: no limit."`
	Reason string    `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log and with the bulk operation."`
	Slots  int       `json:"slots,omitempty" minimum:"0" doc:"The number of slots of a preview: refused if it has changed."`
}

// BackfillPreview shows what a backfill would do.
type BackfillPreview struct {
	Slots   int       `json:"slots" doc:"Number of slots that would start a run."`
	Started int       `json:"started" doc:"Number of slots of the range that have a run."`
	First   time.Time `json:"firstSlot,omitzero" doc:"The first slot that would start."`
	Last    time.Time `json:"lastSlot,omitzero" doc:"The last slot that would start."`
}
