package domain

// Damage describes the damaged part of a run's journal. kairosd does not use or repair damaged
// rows. They stay as evidence, and a fork continues from the rows before them.
type Damage struct {
	// Row is the first damaged row. 0 means that no row can be read.
	Row int64 `json:"row"`
	// Message describes the damage.
	Message string `json:"message"`
	// Good is the last row before the damage, or 0. A fork keeps at most the rows up to it.
	Good int64 `json:"lastGood"`
	// Checkpoint is the last checkpoint up to Good, from which a fork can continue.
	Checkpoint ForkPoint `json:"checkpoint"`
	// Bad is the number of damaged rows. Rows holds the first of them.
	Bad  int          `json:"bad"`
	Rows []DamagedRow `json:"rows"`
	// Intact is the number of intact rows after the first damaged one. They happened, but their
	// context cannot be read.
	Intact int `json:"intact"`
	// Parts holds the damaged parts of the run's own row. A run without its input or settings
	// cannot continue from any row, so Row is 0.
	Parts []DamagedPart `json:"parts,omitempty"`
	// Steps holds the steps that began or ended after the checkpoint, as far as rows show. A fork
	// from the checkpoint runs them again.
	Steps []LostStep `json:"steps"`
}

// RunPart is a part of the row of a run.
type RunPart string

const (
	PartDetails     RunPart = "details" // all of the parts below
	PartInput       RunPart = "input"
	PartOutput      RunPart = "output"
	PartLimits      RunPart = "limits"
	PartLabels      RunPart = "labels"
	PartParent      RunPart = "parent"
	PartConcurrency RunPart = "concurrency"
)

// DamagedPart is a damaged part of a run's row.
type DamagedPart struct {
	Part    RunPart `json:"part"`
	Message string  `json:"message"`
}

// Corrupt returns an error with CodeCorrupt if the run cannot continue because its input or
// settings are damaged. It returns nil if only the output is damaged.
func (r Run) Corrupt() error {
	for _, p := range r.Damaged {
		if p.Part != PartOutput {
			return Errorf(CodeCorrupt, "run %s: %s: %s", ShortID(r.ID), p.Part, p.Message)
		}
	}
	return nil
}

// MaxDamagedRows limits [Damage.Rows].
const MaxDamagedRows = 100

// DamagedRow is a damaged journal row.
type DamagedRow struct {
	Seq     int64      `json:"seq"`
	Problem RowProblem `json:"problem"`
	// The content of the row, which may be wrong unless the problem is RowValue or RowIncompatible.
	Kind    EntryKind  `json:"kind,omitempty"`
	Node    string     `json:"node,omitempty"`
	Visit   int        `json:"visit,omitempty"`
	Item    int        `json:"item"` // -1 outside a foreach
	Attempt int        `json:"attempt,omitempty"`
	Status  NodeStatus `json:"status,omitempty"`
	Effect  string     `json:"effect,omitempty"`
}

// RowProblem is the kind of damage of a journal row.
type RowProblem string

const (
	RowChecksum     RowProblem = "checksum" // the content does not match the hash
	RowMissing      RowProblem = "missing"
	RowValue        RowProblem = "value"        // a large value of the row is damaged or missing
	RowIncompatible RowProblem = "incompatible" // the row is intact, but contradicts the previous rows
)

// LostStep is a step of which only rows after the damage, or the damaged row, are known.
type LostStep struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Item   int    `json:"item"` // -1 outside a foreach
	Effect string `json:"effect,omitempty"`
	// Status is the final status, from an intact row. NodeRunning or NodeWaiting means that no
	// intact row records how the step ended. It is empty if the row with the status is damaged.
	Status NodeStatus `json:"status,omitempty"`
	Row    int64      `json:"row"` // the row with the status
}

// Doubtful reports whether it is unknown if the step had its effect.
func (s LostStep) Doubtful() bool {
	return s.Status == "" || s.Status == NodeRunning || s.Status == NodeInDoubt
}
