package apitypes

import (
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// RunCreate requests a new run.
type RunCreate struct {
	Plan        string              `json:"plan,omitempty" maxLength:"128" example:"invoice"`
	Document    string              `json:"document,omitempty" maxLength:"1048576"`
	Files       *PlanFiles          `json:"files,omitempty" doc:"Plan files instead of document."`
	Version     int                 `json:"version,omitempty" minimum:"0" doc:"The version; 0 or absent: the newest."`
	Hash        string              `json:"hash,omitempty" maxLength:"64" doc:"The hash of a version, instead of version."`
	Profile     string              `json:"profile,omitempty" maxLength:"64" doc:"A profile that the plan declares; absent: the plan as written." example:"prod"`
	Input       domain.RawJSON      `json:"input,omitempty" doc:"The input: any JSON value that matches the plan's schema."`
	Priority    int                 `json:"priority,omitempty" minimum:"-1000" maximum:"1000"`
	Labels      map[string]string   `json:"labels,omitempty" doc:"Labels of the run."`
	Limits      *domain.LimitsView  `json:"limits,omitempty" doc:"Limits of the run."`
	Key         string              `json:"key,omitempty" maxLength:"128" doc:"One run per key: a second request returns the first run."`
	StartAt     time.Time           `json:"startAt,omitzero" doc:"The run does not start before this time."`
	Concurrency *domain.Concurrency `json:"concurrency,omitempty" doc:"Limits the active runs with the same key."`
	Session     string              `json:"session,omitempty" maxLength:"128" doc:"The session of the run."`
	DryRun      bool                `json:"dryRun,omitempty"`
	Offline     bool                `json:"offline,omitempty" doc:"A dry run that also skips steps that read."`
}

// ActionOptions accompany each action on a run.
type ActionOptions struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// PreviewedOptions accompany actions with a preview.
type PreviewedOptions struct {
	ActionOptions
	Digest string `json:"digest,omitempty" maxLength:"128" doc:"The digest of a preview; 409 if the action would now do something else."`
}

// RunResume resumes a run.
type RunResume struct {
	PreviewedOptions
	Release  bool   `json:"release,omitempty" doc:"Release the run if it is quarantined or held."`
	StartNow bool   `json:"startNow,omitempty" doc:"Start the run if it is scheduled for later."`
	Only     string `json:"only,omitempty" maxLength:"160" doc:"The failed step, node or node#visit, to run; then the run pauses."`
	// Timeout is a text, like all durations of requests.
	Timeout  string `json:"timeout,omitempty" maxLength:"40" doc:"The timeout of the steps that run again, such as 90s or PT90S."`
	Attempts int    `json:"attempts,omitempty" minimum:"0" maximum:"100"`
}

// RunRerun starts a run again.
type RunRerun struct {
	PreviewedOptions
	Input   domain.RawJSON    `json:"input,omitempty" doc:"Replaces the input of the run."`
	Version int               `json:"version,omitempty" minimum:"-1" doc:"The version; 0: the same, -1: the newest."`
	Labels  map[string]string `json:"labels,omitempty" doc:"Labels of the new run."`
	Profile *string           `json:"profile,omitempty" maxLength:"64" doc:"The profile of the new run; empty: none; absent: that of the run."`
}

// RunFork starts a run from a checkpoint of another run.
type RunFork struct {
	RunRerun
	Seq     int64                      `json:"seq,omitempty" minimum:"0" doc:"The journal position to keep; 0: keep nothing."`
	Edits   map[string]domain.RawJSON  `json:"edits,omitempty" doc:"New outputs of kept steps, by node or node#visit."`
	Instead map[string]domain.Override `json:"instead,omitempty"`
}

// RunConfirm confirms an action on a run.
type RunConfirm struct {
	Action domain.Action `json:"action" enum:"resume,rerun,fork,cancel" doc:"The action."`
	Digest string        `json:"digest" minLength:"1" maxLength:"128" doc:"The digest of the preview."`
	Seq    int64         `json:"seq,omitempty" minimum:"0" doc:"For a fork: the journal position to keep."`
	Reason string        `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// RequestedActions contains the actions that MCP clients ask a person to confirm.
type RequestedActions struct {
	Actions []domain.RequestedAction `json:"actions" doc:"Newest first."`
}

// RunUndo undoes the completed steps of a run.
type RunUndo struct {
	PreviewedOptions
	Skip []string `json:"skip,omitempty" maxItems:"1000" doc:"Steps to leave as they are, by node, node#visit, or node#visit[item]."`
}

// RunUpdate changes the limits and the labels of a run.
type RunUpdate struct {
	ActionOptions
	Limits *domain.LimitsView `json:"limits,omitempty" doc:"New limits. An absent limit does not change."`
	Raise  *domain.LimitsView `json:"raise,omitempty"`
	Labels map[string]string  `json:"labels,omitempty" doc:"Labels to add or replace."`
}

// NodeResolve settles an attempt in doubt.
type NodeResolve struct {
	Visit   int            `json:"visit" minimum:"1" doc:"The visit of the node."`
	Item    *int           `json:"item,omitempty" minimum:"-1" doc:"The index in a foreach; absent: none."`
	Attempt int            `json:"attempt" minimum:"1" doc:"The attempt that is in doubt."`
	Action  string         `json:"action" enum:"happened,retry,skip,fail" doc:"The outcome of the step, or what to do."`
	Output  domain.RawJSON `json:"output,omitempty" doc:"The output of the step, if it happened."`
	Reason  string         `json:"reason" maxLength:"500" doc:"Kept in the audit log."`
}
