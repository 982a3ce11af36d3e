package domain

import "time"

// RetentionRule decides when the journal and the values of a finished run are deleted. A run is
// deleted if any field of the rule applies. Zero fields do not apply. Unfinished runs, runs that an
// unfinished parent needs, and runs with the label "pin" are never deleted.
type RetentionRule struct {
	Completed, Failed, Cancelled time.Duration // age since the end
	Keep                         int64         // finished runs of a plan, newest first
}

// Empty reports whether the rule deletes nothing.
func (r RetentionRule) Empty() bool { return r == RetentionRule{} }

// Retention holds a rule for all plans, and rules that replace it for single plans.
type Retention struct {
	Default RetentionRule
	Plans   map[string]RetentionRule // by plan key
	// MaxSize limits the size of the database in bytes. Above it, the oldest finished runs are
	// deleted, whatever their rule is. 0 means no limit.
	MaxSize int64
	// Audit is the maximum age of audit events. 0 means no limit.
	Audit time.Duration
}

// Until returns the time at which a finished run reaches its maximum age, or zero if it has none.
// Other limits may delete it earlier.
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

// RetentionResult is the result of one pass of retention, or of a dry run of it.
type RetentionResult struct {
	DryRun bool            `json:"dryRun"`
	Plans  []RetentionPlan `json:"plans"`
	Runs   int64           `json:"runs"`
	Rows   int64           `json:"rows"`
	Events int64           `json:"events"` // of the audit log
	// Bytes returned to the disk. 0 for a dry run.
	Bytes int64 `json:"bytes"`
	Took  int64 `json:"durationMs"`
}

// RetentionPlan is the part of one plan and one reason: age, count, or size.
type RetentionPlan struct {
	Plan   PlanRef `json:"plan"`
	Reason string  `json:"reason"`
	Runs   int64   `json:"runs"`
	Rows   int64   `json:"rows"`
}
