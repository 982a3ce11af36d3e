package state

import "github.com/kairosd/kairosd/web/kit"

// Checkpoint is a checkpoint in the list.
type Checkpoint struct {
	kit.Link
	Change string // size of the change of its output
	// Against links to a comparison with the displayed state.
	Against kit.Link
}

// StateView is the state of a run at a checkpoint.
type StateView struct {
	Checkpoints []Checkpoint
	Hidden      string // number of checkpoints that are not listed
	Heading     string
	Blocks      []kit.Block
	Against     string // checkpoint that the state is compared with
	Same        string // names of the unchanged values
	Fork        string // address of a fork from this checkpoint, or empty if not allowed
	Previous    string // address of the comparison with the previous checkpoint, or empty at the first
	At          int64
	Slider      *Slider
	Find        *kit.FindForm
}

// Slider is the control that moves through the checkpoints.
type Slider struct {
	Action, Refresh     string
	Max, Value, Against string
}
