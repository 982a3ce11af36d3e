package rundiff

import (
	"bytes"
	"slices"

	"github.com/kairosd/kairosd/internal/diff/jsondiff"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Value is the difference between a value of B and that of A.
type Value struct {
	Same    bool     `json:"same"`
	Changes []Change `json:"changes,omitempty"`
	// More reports that there are more differences than Changes lists. TooLong reports that the
	// values are too long to be compared part by part.
	More    bool `json:"more,omitempty"`
	TooLong bool `json:"tooLong,omitempty"`
	// BytesA and BytesB are the sizes of the values; 0 means that there is none.
	BytesA int `json:"bytesA"`
	BytesB int `json:"bytesB"`
	// volatile is true if only dates, IDs, or durations differ.
	volatile bool
}

// Change is a part of a value that differs.
type Change struct {
	Op jsondiff.Op `json:"op" enum:"+,-,~"`
	// Path is the path of the part, such as .vendor.lines[3].total. It is empty for the whole
	// value.
	Path string `json:"path"`
	// A and B are the part in each run, if it exists and is short enough.
	A domain.RawJSON `json:"a,omitempty"`
	B domain.RawJSON `json:"b,omitempty"`
	// Cut reports that a part was left out because it is too long.
	Cut bool `json:"cut,omitempty"`

	volatile bool
}

// Volatile reports whether only a date, an ID, or a duration differs.
func (c Change) Volatile() bool { return c.volatile }

const (
	// maxCompared is the maximum size of a value that is compared part by part, maxChanges the
	// maximum number of listed parts, and maxPart the maximum length of a part.
	maxCompared = 1 << 20
	maxChanges  = 50
	maxPart     = 2 << 10
)

// diff describes the change from a to b: + is only in b, - only in a.
func diff(a, b domain.RawJSON) Value {
	v := Value{Same: bytes.Equal(a, b), BytesA: len(a), BytesB: len(b)}
	if v.Same {
		return v
	}
	if len(a) > maxCompared || len(b) > maxCompared {
		v.TooLong = true
		return v
	}
	part := func(c *Change, j domain.RawJSON) domain.RawJSON {
		if len(j) > maxPart {
			c.Cut = true
			return nil
		}
		return j
	}
	if len(a) == 0 || len(b) == 0 {
		c := Change{Op: jsondiff.Added}
		if len(b) == 0 {
			c.Op = jsondiff.Removed
		}
		c.A, c.B = part(&c, a), part(&c, b)
		v.Changes = []Change{c}
		return v
	}
	x, errX := jsonvalue.Decode(a)
	y, errY := jsonvalue.Decode(b)
	if errX != nil || errY != nil { // a damaged row: report only that the value differs
		v.More = true
		return v
	}
	changes, more := jsondiff.Diff(x, y, maxChanges)
	v.More = more
	v.Same = len(changes) == 0
	v.volatile = !more && !v.Same && !slices.ContainsFunc(changes, func(d jsondiff.Change) bool { return !d.Volatile() })
	for _, d := range changes {
		c := Change{Op: d.Op, Path: d.Path, volatile: d.Volatile()}
		if d.Op != jsondiff.Added {
			c.A = part(&c, encoded(d.Old))
		}
		if d.Op != jsondiff.Removed {
			c.B = part(&c, encoded(d.New))
		}
		v.Changes = append(v.Changes, c)
	}
	return v
}

// encoded returns a part of a value as JSON. It was decoded from JSON, so this cannot fail.
func encoded(v any) domain.RawJSON {
	j, err := jsonvalue.Encode(v)
	if err != nil {
		return nil
	}
	return j
}
