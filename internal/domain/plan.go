package domain

import (
	"encoding/json"
	"math"
	"time"
)

// Plan is a stored definition with a history of immutable versions.
type Plan struct {
	ID  string
	Key string // the document's own id; unique
	// Name and Description are those of the newest version.
	Name        string
	Description string
	Latest      int // number of the newest version, from 1
	LatestHash  string
	Archived    bool
	// Paused is since when a person lets no run of it start; nil: they do.
	Paused    *Stop
	Stage     PlanStage
	CreatedAt time.Time
	UpdatedAt time.Time
}

// PlanStage reports whether a plan is in use.
type PlanStage string

const (
	// StageUsed: people wrote it, or accepted it.
	StageUsed PlanStage = ""
	// StageDraft: a planner made it, and no one has accepted or started it. A version
	// that a planner makes of a plan in use is not a stage of the plan: it is not current
	// before a person accepts it.
	StageDraft PlanStage = "draft"
	// StageTrial: it holds what was tried and not saved; it is in no list.
	StageTrial PlanStage = "trial"
)

// PlanFact is something that plans are found by: a tool, agent or secret that the newest
// version names, its owner, or a label ("key=value") of its metadata.
type PlanFact struct{ Kind, Value string }

// The kinds of a PlanFact.
const (
	FactTool   = "tool"
	FactAgent  = "agent"
	FactSecret = "secret"
	FactOwner  = "owner"
	FactLabel  = "label"
)

// Version is one immutable content of a plan.
type Version struct {
	PlanID    string
	PlanKey   string
	Number    int // from 1, per plan
	Hash      string
	Semantics int
	Kind      string // "graph" or "steps"
	Format    string // "yaml" or "json"
	Source    []byte // as written
	Canonical []byte // canonical JSON
	// Origin states how it came to be: "upload", "cli", "example", "planner", "replan",
	// "try".
	Origin string
	// ByPerson is set when a person with the author role stored it: only then
	// may a node's effect be laxer than its type's default.
	ByPerson   bool
	ParentHash string
	Reason     string
	Author     string
	CreatedAt  time.Time
}

// NewVersion is what storing a document needs.
type NewVersion struct {
	Key, Name, Description     string
	Hash, Kind, Format, Origin string
	Semantics                  int
	Source, Canonical          []byte
	ByPerson                   bool
	ParentHash, Reason, Author string
	// Base is the version that its author began with; when the plan has another
	// newest version by now, nothing is stored (CodeStale). Empty: whatever it is.
	Base string
	// Facts are what the plan is found by from now on.
	Facts []PlanFact
}

// RestoredVersion is an earlier version that becomes its plan's current one.
type RestoredVersion struct {
	PlanID, Hash      string
	Base              string // hash of the current version as its author saw it; empty: whatever it is
	Name, Description string
	Reason            string
	Facts             []PlanFact
	// Accepts reports that the version is a planner's, which a person accepts.
	Accepts bool
}

// VersionRuns states how the runs of a version did.
type VersionRuns struct{ Ended, Completed, Failed, Active int64 }

// Usage counts what models consumed.
type Usage struct {
	InputTokens  int64   `json:"inputTokens"`
	OutputTokens int64   `json:"outputTokens"`
	Cost         float64 `json:"cost"`
	// Estimated: the server did not say what was used. It is not stored.
	Estimated bool `json:"-"`
}

// Add returns the sum of both. No field falls below zero, and none overflows.
func (u Usage) Add(v Usage) Usage {
	tokens := func(a, b int64) int64 {
		a, b = max(a, 0), max(b, 0)
		if a > math.MaxInt64-b {
			return math.MaxInt64
		}
		return a + b
	}
	cost := max(u.Cost, 0) + max(v.Cost, 0)
	switch {
	case math.IsNaN(cost):
		cost = 0
	case cost > math.MaxFloat64:
		cost = math.MaxFloat64 // JSON has no infinity
	}
	return Usage{InputTokens: tokens(u.InputTokens, v.InputTokens), OutputTokens: tokens(u.OutputTokens, v.OutputTokens), Cost: cost}
}

// Zero reports whether nothing was used.
func (u Usage) Zero() bool { return u == Usage{} }

// RawJSON is a JSON text; nil stands for "absent".
type RawJSON = json.RawMessage

// CheckReplaces refuses an actor who may not put another version in the place of an old
// one: CodeForbidden. What a person wrote, authors replace.
func CheckReplaces(who Actor, old Version) error {
	if !old.ByPerson || who.Role.Includes(RoleAuthor) {
		return nil
	}
	return Errorf(CodeForbidden, "this needs the role %s; %s has the role %s", RoleAuthor, who.Name, who.Role)
}
