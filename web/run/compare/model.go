package compare

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// Page is the comparison of two runs.
type Page struct {
	kit.Shell
	Crumbs  kit.Crumbs
	A, B    Side
	Input   string // description of the first difference of the inputs
	First   string // description of the first difference of the steps
	Parted  bool   // whether the steps differ
	Between string // other changes between the runs
	Facts   []Row
	Same    string // names of the equal facts
	Steps   []Row
	Links   []kit.Link
	Values  []Value // values that differ
	Left    string  // number of steps that are not shown
}

// Side is one of the runs.
type Side struct {
	Run    kit.Link
	Status kit.Status
	Strip  []part.Cell
}

// Value is the diff of a value, as pairs of parts with their path.
type Value struct {
	ID, Title, Remark string
	Pairs             []Pair
	// Folded are differences of dates, ids, and durations, and those above the limit. Fold
	// describes them.
	Folded []Pair
	Fold   string
	Note   string
}

// Pair is a part of a value in both runs.
type Pair struct{ A, Path, B string }

// Row compares one fact or step.
type Row struct {
	Name, A, B string
	HrefA      string
	HrefB      string
	Differs    bool
	Volatile   bool // only dates, ids, or durations differ
	First      bool
	Delta      string // additional time of the first run
	Output     string // address of the diff of the outputs
	StatusA    kit.Status
	StatusB    kit.Status
}
