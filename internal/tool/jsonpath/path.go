// Package jsonpath finds parts of JSON values by JSONPath queries (RFC 9535).
// Objects are visited in the order of their keys, so that a query gives the
// same list every time; regular expressions of match and search are RE2.
//
// The queries come from models and plans. No library that we know bounds what a query
// may visit, compare, and match, or ends it with a context, which is why this is
// written here.
package jsonpath

import (
	"context"
	"errors"
	"fmt"
)

// Path is a compiled query. It is immutable and safe for concurrent use.
type Path struct {
	segments []segment
}

// Singular reports whether the query can match at most one node: it consists of
// names and indexes.
func (p *Path) Singular() bool { return singular(p.segments) }

func singular(segments []segment) bool {
	for _, s := range segments {
		if s.descendant || len(s.selectors) != 1 {
			return false
		}
		switch s.selectors[0].(type) {
		case nameSelector, indexSelector:
		default:
			return false
		}
	}
	return true
}

// Find lists what the query matches, in document order. It fails only when the
// query would visit or compare more values than it may, or when the context ends.
func (p *Path) Find(ctx context.Context, root any) ([]any, error) {
	e := &evaluation{ctx: ctx, root: root, budget: maxVisits}
	found := e.run(p.segments, root)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case e.budget < 0:
		return nil, errBudget
	}
	return found, nil
}

const (
	maxText    = 4096
	maxNesting = 32
	// maxVisits bounds the nodes that one query looks at. Comparing costs one visit
	// for each value, searching a text one for each visitSteps steps.
	maxVisits  = 1_000_000
	visitSteps = 64
	// maxPattern bounds the instructions of a regular expression, checkEvery the
	// visits between two looks at the context.
	maxPattern = 20_000
	checkEvery = 1000
)

var errBudget = errors.New("the query reads more than a million values, or compares texts that are too long")

// SyntaxError is a malformed query.
type SyntaxError struct {
	Message string
	Column  int // in bytes, from 1
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at column %d", e.Message, e.Column) }

type (
	segment struct {
		descendant bool
		selectors  []selector
	}
	// selector picks children of a node.
	selector interface {
		pick(e *evaluation, v any, out []any) []any
	}

	nameSelector     string
	wildcardSelector struct{}
	indexSelector    int64
	sliceSelector    struct {
		start, end *int64
		step       int64
	}
	filterSelector struct{ test logical }
)
