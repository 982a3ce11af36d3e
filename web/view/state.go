package view

// Checkpoint is a moment of a run whose state can be looked at.
type Checkpoint struct {
	Link
	Change string // what it added
}

// StateView is the values that a run knew at a checkpoint.
type StateView struct {
	Checkpoints []Checkpoint
	Hidden      string // how many are not listed
	Heading     string
	Blocks      []Block
	Fork        string // address of a fork from here; empty: not allowed
}
