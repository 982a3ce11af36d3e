package run

import (
	"github.com/kairosd/kairosd/web/kit"
	part "github.com/kairosd/kairosd/web/part/run"
)

// ComparePage is two runs side by side.
type ComparePage struct {
	kit.Shell
	A, B    CompareSide
	Input   string // the first difference of the inputs, in words
	First   string // the first difference, in words
	Parted  bool   // there is one
	Between string // what else changed between them
	Facts   []CompareRow
	Steps   []CompareRow
	Links   []kit.Link
	Diffs   []kit.Block
	Left    string // how many steps are not shown
}

// CompareSide is one of them.
type CompareSide struct {
	Run    kit.Link
	Status kit.Status
	Strip  []part.Cell
}

// CompareRow is one thing of both.
type CompareRow struct {
	Name, A, B string
	HrefA      string
	HrefB      string
	Differs    bool
	First      bool
	Apart      bool   // no two runs have the same: it means nothing
	Delta      string // how much longer the first took
	Output     string // address of the difference of outputs
	StatusA    kit.Status
	StatusB    kit.Status
}
