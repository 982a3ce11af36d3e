package domain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Overlap defines what happens when a slot is due while a run of an earlier slot is active.
type Overlap string

const (
	OverlapSkip         Overlap = "skip"          // the slot starts no run
	OverlapQueue        Overlap = "queue"         // the run waits until the earlier one has ended
	OverlapCancelOldest Overlap = "cancel_oldest" // the earlier run is cancelled
)

// Overlaps lists all values. The first is the default.
var Overlaps = []Overlap{OverlapSkip, OverlapQueue, OverlapCancelOldest}

// CatchUp defines what happens with missed slots.
type CatchUp string

const (
	// CatchUpDefault is CatchUpAsk for a plan with non-idempotent steps, else CatchUpLast.
	CatchUpDefault CatchUp = "default"
	CatchUpNone    CatchUp = "none" // they start no run
	CatchUpLast    CatchUp = "last" // only the last one starts a run
	CatchUpAll     CatchUp = "all"  // each starts a run, oldest first
	CatchUpAsk     CatchUp = "ask"  // an operator decides
)

// CatchUps lists all values. The first is the default.
var CatchUps = []CatchUp{CatchUpDefault, CatchUpNone, CatchUpLast, CatchUpAll, CatchUpAsk}

// Limits of schedules.
const (
	// SlotGrace is how late a slot may start. After that, the slot is missed.
	SlotGrace = time.Minute
	// MaxMissedSlots is the maximum number of missed slots that are listed and started. Of more, these
	// are the newest.
	MaxMissedSlots = 1000
	// MaxJitter is the maximum jitter.
	MaxJitter = 24 * time.Hour
)

// ScheduleSpec is what a person defines about a schedule.
type ScheduleSpec struct {
	Cron    string            `json:"cron"`
	Zone    string            `json:"timeZone"` // IANA name
	Jitter  time.Duration     `json:"jitter"`
	Input   RawJSON           `json:"input,omitempty"`
	Profile string            `json:"profile,omitempty"` // of the runs
	Labels  map[string]string `json:"labels,omitempty"`
	Overlap Overlap           `json:"overlap"`
	CatchUp CatchUp           `json:"catchUp"`
}

// DeclaredSchedule is the schedule that a version of a plan declares.
type DeclaredSchedule struct {
	ScheduleSpec
	// First returns the first slot of a schedule after a time, and when it is due.
	First func(s Schedule, after time.Time) (next, due time.Time, err error) `json:"-"`
}

// SpecOf returns the settings that a plan declares, with defaults.
func SpecOf(s walk.Schedule) (ScheduleSpec, error) {
	x := ScheduleSpec{Cron: s.Cron, Zone: cmp.Or(s.Zone, "UTC"), Jitter: s.Jitter, Profile: s.Profile,
		Overlap: cmp.Or(Overlap(s.Overlap), Overlaps[0]),
		CatchUp: cmp.Or(CatchUp(s.CatchUp), CatchUps[0])}
	if s.Input == nil {
		return x, nil
	}
	input, err := jsonvalue.Encode(s.Input)
	x.Input = input
	return x, err
}

// Schedule starts runs of a plan at the times of a cron expression. Each of these times is a slot.
type Schedule struct {
	ID, Key         string
	PlanID, PlanKey string
	// Version is the version that runs follow. 0 is the current one.
	Version int
	ScheduleSpec
	// Declared reports that the plan declares the schedule. Only the plan can change it.
	Declared bool
	// Paused is why slots do not start. PlanStopped reports that the plan is paused or archived.
	Paused      *Disablement
	PlanStopped bool
	// Next is the next slot, and Due its time with jitter. Zero means that there is none.
	Next, Due time.Time
	// Actor created the schedule or changed it last. Its runs have this actor.
	Actor                string
	Rev                  int64
	CreatedAt, UpdatedAt time.Time
	// Last is the newest slot that was due.
	Last *Slot
	// Missed holds the missed slots that wait for a decision.
	Missed *MissedSlots
}

// Detail describes the settings in the audit log.
func (s Schedule) Detail() map[string]any {
	d := map[string]any{"plan": s.PlanKey, "version": s.Version, "cron": s.Cron, "timeZone": s.Zone, "jitter": s.Jitter.String(),
		"overlap": s.Overlap, "catchUp": s.CatchUp, "input": s.Input, "labels": s.Labels}
	if s.Profile != "" {
		d["profile"] = s.Profile
	}
	if s.Declared {
		d["declared"] = true
	}
	return d
}

// Active reports whether slots of the schedule start runs.
func (s Schedule) Active() bool { return s.Paused == nil && !s.PlanStopped }

// SlotStates of a slot that was due.
const (
	SlotStarted = "started" // it started a run
	SlotSkipped = "skipped" // a run of an earlier slot was active
	SlotFailed  = "failed"  // its run could not be created
)

// Slot is a time of a schedule that was due.
type Slot struct {
	At    time.Time
	State string
	// Run is the run that it started, with its status.
	Run       string
	RunStatus RunStatus
	// Reason is why it started no run.
	Reason string
	// SettledAt is when it started or was skipped.
	SettledAt time.Time
}

// MissedSlots are consecutive slots that kairosd could not start in time.
type MissedSlots struct {
	ID          string
	Schedule    string // key
	PlanKey     string
	First, Last time.Time
	// Slots is their number, at most MaxMissedSlots. More reports that there are more.
	Slots int
	More  bool
	// Decision is none, last, or all. Empty means that an operator must decide.
	Decision  CatchUp
	DecidedBy string
	DecidedAt time.Time
	CreatedAt time.Time
}

// SlotClaim ties a new run to a slot. The store checks it in the transaction that creates the run, so
// that a slot starts one run.
type SlotClaim struct {
	Schedule string // ID
	Slot     time.Time
	SlotMove
}

// SlotMove moves a schedule to its next slot.
type SlotMove struct {
	// From is the slot that the schedule must be at. Zero means that the schedule does not move,
	// because the slot is past.
	From      time.Time
	Next, Due time.Time
	// Missed, if not nil, is recorded with the move. Bulk, if not nil, is the bulk operation that runs
	// these slots.
	Missed *MissedSlots
	Bulk   *Bulk
	Items  []BulkItem
}

// BackfillRequest is a request to run past slots of a schedule.
type BackfillRequest struct {
	Schedule Schedule
	Slots    []time.Time
	// Canary runs one slot first, and the others only if its run does not fail. Rate is the number of
	// slots per minute. 0 means no limit.
	Canary bool
	Rate   int
	Reason string
}

// RunSlot is the slot that a run belongs to.
type RunSlot struct {
	Schedule string    // key
	At       time.Time // in the time zone of the schedule
}

// IsZero reports whether a run belongs to no slot.
func (s RunSlot) IsZero() bool { return s.Schedule == "" }

// String formats the slot as ${run.slot} does. It is empty if there is none.
func (s RunSlot) String() string {
	if s.IsZero() {
		return ""
	}
	return s.At.Format(time.RFC3339)
}

// ScheduleFilter selects schedules. Zero fields do not restrict.
type ScheduleFilter struct {
	Plan string // ID or key
	Text string // part of the key
	// State is "active", "paused", or "missed": with missed slots that wait for a decision.
	State string
	// DueBefore selects active schedules whose next slot is due before this time.
	DueBefore time.Time
	Page      Page
}

// Valid reports whether the value is known.
func (o Overlap) Valid() bool { return slices.Contains(Overlaps, o) }

// Valid reports whether the value is known.
func (c CatchUp) Valid() bool { return slices.Contains(CatchUps, c) }

// SlotName names a slot of a schedule in the items of a bulk operation.
func SlotName(schedule string, slot time.Time) string {
	return schedule + "@" + slot.UTC().Format(time.RFC3339)
}

// SplitSlotName returns what SlotName joined.
func SplitSlotName(name string) (schedule string, slot time.Time, err error) {
	schedule, text, ok := strings.Cut(name, "@")
	if slot, err = time.Parse(time.RFC3339, text); !ok || err != nil {
		return "", time.Time{}, Errorf(CodeInternal, "%s is not a slot", strconv.Quote(name))
	}
	return schedule, slot, nil
}
