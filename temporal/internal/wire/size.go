package wire

import (
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// maxValue is the size of a value in bytes, after compression and encryption, that a Temporal server stores, unless it is
	// configured otherwise.
	maxValue = 2<<20 - 256<<10
	// maxPage is the size in bytes, before compression, of rows that travel in one value. One row may be larger.
	maxPage = 1 << 20
	// rowSize is the size of a row without its values.
	rowSize = 400
)

// Small reports whether values of some sizes in bytes certainly fit into one value of a history.
func Small(sizes ...int) bool {
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	return sum <= maxPage
}

// Fits reports whether a server stores a value.
func Fits(c converter.DataConverter, v any) bool {
	p, err := c.ToPayload(v)
	return err == nil && proto.Size(p) <= maxValue
}

// Shrink leaves the rows out of an input that would be large with them, so that its workflow reads them from kairosd's record.
func (in *Input) Shrink() {
	sizes := []int{len(in.Run.Input)}
	for _, v := range in.Versions {
		sizes = append(sizes, len(v.Source))
	}
	for i := range in.Journal {
		sizes = append(sizes, sizeOf(&in.Journal[i]))
	}
	if !Small(sizes...) {
		in.Rows, in.Journal = int64(len(in.Journal)), nil
	}
}

// Page returns the number of rows that travel in one value: at least one.
func Page(rows []domain.Entry) int {
	size := 0
	for i := range rows {
		if size += sizeOf(&rows[i]); size > maxPage {
			return max(i, 1)
		}
	}
	return len(rows)
}

// Batch returns the number of checkpoints that travel in one report: at least one, and at most a number.
func Batch(list []domain.Checkpoint, most int) int {
	size := 0
	for i := range list[:min(len(list), most)] {
		c := &list[i]
		for j := range c.Entries {
			size += sizeOf(&c.Entries[j])
		}
		for j := range c.Approvals {
			size += rowSize + len(c.Approvals[j].Arguments)
		}
		if c.Patch != nil {
			size += rowSize + len(c.Patch.Output)
		}
		if size > maxPage {
			return max(i, 1)
		}
	}
	return min(len(list), most)
}

func sizeOf(e *domain.Entry) int {
	n := rowSize + len(e.Input) + len(e.Output) + len(e.Decision) + len(e.Log) + len(e.Reason)
	if e.Failure != nil {
		n += len(e.Failure.Message) + len(e.Failure.Text) + len(e.Failure.Detail) + len(e.Failure.Stack)
	}
	return n
}
