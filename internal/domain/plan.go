package domain

import (
	"encoding/json"
	"math"
	"time"
)

// Plan is a stored plan with its immutable versions.
type Plan struct {
	ID  string
	Key string // unique ID from the document
	// Name and Description are from the newest version.
	Name        string
	Description string
	Latest      int // number of the newest version, starting at 1
	LatestHash  string
	Archived    bool
	// Paused is set if a person paused the plan, so that no run of it starts.
	Paused    *Disablement
	Stage     PlanStage
	CreatedAt time.Time
	UpdatedAt time.Time
}

// PlanStage reports whether a plan is in use.
type PlanStage string

const (
	// StageUsed means that a person wrote or accepted the plan.
	StageUsed PlanStage = ""
	// StageDraft means that a planner generated the plan, and no one has accepted or started it. A
	// generated version of a plan in use does not change the stage of the plan. It becomes current
	// when a person accepts it.
	StageDraft PlanStage = "draft"
	// StageTrial means that the plan was tried without saving it. Lists leave it out.
	StageTrial PlanStage = "trial"
	// StageBlock means that the plan holds the block of a step of another plan. Lists leave it out.
	StageBlock PlanStage = "block"
)

// OriginBlock marks the versions that hold the block of a step, and their runs. The key of such a version is that of the
// plan and the step. Lists leave out such runs, except those that need a person.
const OriginBlock = "block"

// PlanFact is a fact that plans can be searched by: a tool, agent, or secret of the newest version,
// the owner, a label ("key=value") of the metadata, or a protocol that offers the plan as a tool.
type PlanFact struct{ Kind, Value string }

// Values of [PlanFact.Kind].
const (
	FactTool   = "tool"
	FactAgent  = "agent"
	FactSecret = "secret"
	FactOwner  = "owner"
	FactLabel  = "label"
	FactExpose = "expose" // a protocol that offers the plan as a tool
)

// Version is an immutable version of a plan.
type Version struct {
	PlanID    string
	PlanKey   string
	Number    int // starts at 1 for each plan
	Hash      string
	Semantics int
	Kind      string // "graph" or "steps"
	Format    string // "yaml" or "json"
	Source    []byte // as written
	Canonical []byte // canonical JSON
	// Origin is the source of the version: "upload", "cli", "example", "planner", "replan", "undo",
	// "block", or "try".
	Origin string
	// ByPerson reports that a person with the author role stored the version. Only such a version
	// may declare a side-effect class that is less strict than the default of the type.
	ByPerson   bool
	ParentHash string
	Reason     string
	Author     string
	CreatedAt  time.Time
}

// NewVersion is a version to store.
type NewVersion struct {
	Key, Name, Description     string
	Hash, Kind, Format, Origin string
	Semantics                  int
	Source, Canonical          []byte
	ByPerson                   bool
	ParentHash, Reason, Author string
	// Base is the version that the author started from. If the plan has a newer version, nothing is
	// stored and the error has CodeStale. Empty means no check.
	Base string
	// Facts replace the facts of the plan.
	Facts []PlanFact
	// Schedule is the schedule that the version declares, or nil.
	Schedule *DeclaredSchedule
}

// RestoredVersion is a request to make an earlier version the current one.
type RestoredVersion struct {
	PlanID, Hash      string
	Base              string // hash of the current version as the author saw it; empty means no check
	Name, Description string
	Reason            string
	Facts             []PlanFact
	Schedule          *DeclaredSchedule // that the version declares, or nil
	// Accepts reports that a person accepts a generated version.
	Accepts bool
}

// VersionRuns counts the runs of a version by result.
type VersionRuns struct{ Ended, Completed, Failed, Active int64 }

// Usage is the usage of models.
type Usage struct {
	InputTokens  int64   `json:"inputTokens"`
	OutputTokens int64   `json:"outputTokens"`
	Cost         float64 `json:"cost"`
	// Estimated reports that the provider did not return token counts. It is not stored.
	Estimated bool `json:"-"`
}

// Add returns the sum. Fields do not fall below zero or overflow.
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
		cost = math.MaxFloat64 // JSON cannot represent infinity
	}
	return Usage{InputTokens: tokens(u.InputTokens, v.InputTokens), OutputTokens: tokens(u.OutputTokens, v.OutputTokens), Cost: cost}
}

// Zero reports whether there was no usage.
func (u Usage) Zero() bool { return u == Usage{} }

// RawJSON is JSON text. Nil means absent.
type RawJSON = json.RawMessage

// CheckMayReplace returns an error with CodeForbidden if the actor may not replace a version. A
// version of a person requires the author role.
func CheckMayReplace(who Actor, old Version) error {
	if !old.ByPerson || who.Role.Includes(RoleAuthor) {
		return nil
	}
	return Errorf(CodeForbidden, "this requires the role %s; %s has the role %s", RoleAuthor, who.Name, who.Role)
}
