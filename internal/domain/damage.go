package domain

// Damage is what of a run's journal cannot be trusted, and from where on. Nothing
// that is damaged is ever taken for good, and nothing of it is repaired: the rows
// stay as evidence, and what continues is a fork from before them.
type Damage struct {
	// Row is the first row that is damaged; 0: the journal cannot be read at all.
	Row int64 `json:"row"`
	// Message states what is wrong with it.
	Message string `json:"message"`
	// Good is the last row before it: every row up to there can be trusted; 0: none
	// can. No fork keeps more.
	Good int64 `json:"lastGood"`
	// Checkpoint is the last checkpoint up to Good: the one that a fork continues from.
	Checkpoint ForkPoint `json:"checkpoint"`
	// Bad is how many rows are damaged, Rows the first of them.
	Bad  int          `json:"bad"`
	Rows []DamagedRow `json:"rows"`
	// Intact is how many rows behind the first damaged one are as they were written.
	// They happened; what they build on cannot be read.
	Intact int `json:"intact"`
	// Parts are what of the run's own row is damaged, besides its journal. A run that
	// has lost its input or its settings cannot continue from any row: Row is 0 then.
	Parts []DamagedPart `json:"parts,omitempty"`
	// Steps began or ended behind the checkpoint, as far as rows tell: a fork from it
	// does them again.
	Steps []LostStep `json:"steps"`
}

// RunPart is a part of a run's own row.
type RunPart string

const (
	PartDetails     RunPart = "details" // all of those below
	PartInput       RunPart = "input"
	PartOutput      RunPart = "output"
	PartLimits      RunPart = "limits"
	PartLabels      RunPart = "labels"
	PartParent      RunPart = "parent"
	PartConcurrency RunPart = "concurrency"
)

// DamagedPart is a part of a run that cannot be read as it was written.
type DamagedPart struct {
	Part    RunPart `json:"part"`
	Message string  `json:"message"`
}

// Corrupt is why a run cannot continue: what it was started with is damaged
// (CodeCorrupt). A damaged output ends nothing: nil.
func (r Run) Corrupt() error {
	for _, p := range r.Damaged {
		if p.Part != PartOutput {
			return Errorf(CodeCorrupt, "run %s: %s: %s", ShortID(r.ID), p.Part, p.Message)
		}
	}
	return nil
}

// MaxDamagedRows bounds [Damage.Rows].
const MaxDamagedRows = 100

// DamagedRow is a journal row that cannot be trusted.
type DamagedRow struct {
	Seq     int64      `json:"seq"`
	Problem RowProblem `json:"problem"`
	// What the row states of itself. Unless its problem is RowValue or RowIncompatible, it is
	// this that may be damaged.
	Kind    EntryKind  `json:"kind,omitempty"`
	Node    string     `json:"node,omitempty"`
	Visit   int        `json:"visit,omitempty"`
	Item    int        `json:"item"` // -1: none
	Attempt int        `json:"attempt,omitempty"`
	Status  NodeStatus `json:"status,omitempty"`
	Effect  string     `json:"effect,omitempty"`
}

// RowProblem is what is wrong with a journal row.
type RowProblem string

const (
	RowChecksum     RowProblem = "checksum" // its content does not fit its hash
	RowMissing      RowProblem = "missing"
	RowValue        RowProblem = "value"  // a large value that it names is damaged or gone
	RowIncompatible RowProblem = "misfit" // it is as it was written, and contradicts the rows before it
)

// LostStep is a step of which the rows behind the damage tell, or the damaged row
// itself.
type LostStep struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Item   int    `json:"item"` // -1: none
	Effect string `json:"effect,omitempty"`
	// Status is how it ended, by an intact row. NodeRunning: it began, NodeWaiting: it
	// waited, and no row that can be trusted states how it ended; empty: the row that
	// would tell is damaged.
	Status NodeStatus `json:"status,omitempty"`
	Row    int64      `json:"row"` // that records it
}

// Doubtful reports whether it is unknown if the step was done.
func (s LostStep) Doubtful() bool {
	return s.Status == "" || s.Status == NodeRunning || s.Status == NodeInDoubt
}
