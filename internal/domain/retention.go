package domain

import "time"

// RetentionRule states which finished runs lose their journals and values. A run
// goes when any part of its rule records it; zero parts say nothing. Runs that are
// not finished, that a living parent still needs, or that are pinned by the
// label "pin" are never touched.
type RetentionRule struct {
	Completed, Failed, Cancelled time.Duration // age since the end
	Keep                         int64         // finished runs of a plan, newest first
}

// Empty reports whether the rule removes nothing.
func (r RetentionRule) Empty() bool { return r == RetentionRule{} }

// Retention is a rule for all plans, and those that have one of their own
// instead.
type Retention struct {
	Default RetentionRule
	Plans   map[string]RetentionRule // by plan key
	// MaxSize bounds the database: above it the oldest finished runs go, whatever
	// their rule; 0: no bound.
	MaxSize int64
	// Audit is how old audit events may grow; 0: for ever.
	Audit time.Duration
}

// Until is when a finished run is removed for its age; zero: not for that. Its plan's
// size or number of runs may take it earlier.
func (r Retention) Until(run Run) time.Time {
	rule, own := r.Plans[run.PlanKey]
	if !own {
		rule = r.Default
	}
	age := map[RunStatus]time.Duration{RunCompleted: rule.Completed, RunFailed: rule.Failed, RunCancelled: rule.Cancelled}[run.Status]
	if _, pinned := run.Labels["pin"]; pinned || age <= 0 || run.EndedAt.IsZero() || !run.PurgedAt.IsZero() {
		return time.Time{}
	}
	return run.EndedAt.Add(age)
}

// Retained is what one pass of retention removed, or would remove.
type Retained struct {
	DryRun bool           `json:"dryRun"`
	Plans  []RetainedPlan `json:"plans"`
	Runs   int64          `json:"runs"`
	Rows   int64          `json:"rows"`
	Events int64          `json:"events"` // of the audit log
	// Bytes given back to the disk; 0 for a dry run.
	Bytes int64 `json:"bytes"`
	Took  int64 `json:"durationMs"`
}

// RetainedPlan is the part of one plan and one reason: age, count or size.
type RetainedPlan struct {
	Plan   PlanRef `json:"plan"`
	Reason string  `json:"reason"`
	Runs   int64   `json:"runs"`
	Rows   int64   `json:"rows"`
}
