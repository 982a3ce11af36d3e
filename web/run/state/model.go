package state

import "github.com/kairosd/kairosd/web/kit"

// Checkpoint is a moment of a run whose state can be looked at.
type Checkpoint struct {
	kit.Link
	Change string // what it added
	// Against compares the state shown with the one here.
	Against kit.Link
}

// StateView is the values that a run knew at a checkpoint.
type StateView struct {
	Checkpoints []Checkpoint
	Hidden      string // how many are not listed
	Heading     string
	Blocks      []kit.Block
	Against     string // what the state is compared with
	Same        string // what is the same in both
	Fork        string // address of a fork from here; empty: not allowed
	Previous    string // compares it with the checkpoint before; empty: it is the first
	At          int64
	Slider      *Slider
	Find        *kit.FindForm
}

// Slider moves through the checkpoints.
type Slider struct {
	Action, Refresh     string
	Max, Value, Against string
}
