package compare

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// Page is two runs side by side.
type Page struct {
	kit.Shell
	Way     kit.Crumbs
	A, B    Side
	Input   string // the first difference of the inputs, in words
	First   string // the first difference, in words
	Parted  bool   // there is one
	Between string // what else changed between them
	Facts   []Row
	Same    string // the facts that do not differ
	Steps   []Row
	Links   []kit.Link
	Values  []Value // that differ
	Left    string  // how many steps are not shown
}

// Side is one of them.
type Side struct {
	Run    kit.Link
	Status kit.Status
	Strip  []part.Cell
}

// Value is a value of both runs, part by part: what differs is beside its path.
type Value struct {
	ID, Title, Remark string
	Pairs             []Pair
	// Folded are differences of dates, IDs, and durations, and those that are too many; Fold names them.
	Folded []Pair
	Fold   string
	Note   string
}

// Pair is a part of a value in both runs.
type Pair struct{ A, Path, B string }

// Row is one thing of both.
type Row struct {
	Name, A, B string
	HrefA      string
	HrefB      string
	Differs    bool
	Volatile   bool // only dates, IDs, or durations differ
	First      bool
	Delta      string // how much longer the first took
	Output     string // address of the difference of outputs
	StatusA    kit.Status
	StatusB    kit.Status
}
