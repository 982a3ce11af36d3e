package domain

import (
	"strconv"
	"time"
)

// OriginUndo marks the runs that undo steps of another run, and the versions that they follow.
const OriginUndo = "undo"

// ReasonUndone is the reason of an action that is refused because steps of the run were undone.
const ReasonUndone = "undone"

// PreviewUndo is a call that an undo makes.
type PreviewUndo struct {
	// Step is the ID of the step of the undo run that makes the call.
	Step string `json:"step"`
	UndoneRef
	CompletedAt time.Time `json:"completedAt"` // when the step completed that is undone
	// Type is the type of the call. Target is the tool, the agent, or the plan that it calls.
	Type   string `json:"type"`
	Target string `json:"target,omitempty"`
	Effect string `json:"effect"`
	// Input is the input of the call. It contains references to secrets, not the secrets.
	Input RawJSON `json:"input,omitempty"`
}

// UndoneRef identifies a completed step that an undo run undoes.
type UndoneRef struct {
	Run   string `json:"run"` // the run, or a child run of it
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"` // -1 outside a foreach
	// Seq is the number of the journal row that records the completion.
	Seq int64 `json:"seq"`
}

// Name names the step as requests do: STEP#ITERATION, with [ITEM] in a foreach.
func (r UndoneRef) Name() string {
	name := r.Node + "#" + strconv.Itoa(r.Visit)
	if r.Item >= 0 {
		name += "[" + strconv.Itoa(r.Item) + "]"
	}
	return name
}

// UndoRun is a run that undoes steps of another run.
type UndoRun struct {
	ID        string     `json:"id"`
	Status    RunStatus  `json:"status"`
	Actor     string     `json:"actor"`
	CreatedAt time.Time  `json:"createdAt"`
	EndedAt   time.Time  `json:"endedAt,omitzero"`
	Steps     []UndoStep `json:"steps"` // in the order in which they run
}

// UndoStep is a step of an undo run.
type UndoStep struct {
	Step string `json:"step"` // its ID
	UndoneRef
	Status  NodeStatus `json:"status"` // pending if it has not ended
	EndedAt time.Time  `json:"endedAt,omitzero"`
}
