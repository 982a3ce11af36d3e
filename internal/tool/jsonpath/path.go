// Package jsonpath finds parts of JSON values with JSONPath queries (RFC 9535). It visits objects
// in the order of their keys, so that a query always returns the same list. Regular expressions of
// match and search are RE2.
//
// The queries come from models and plans. No known library limits what a query may visit, compare,
// and match, or ends it with a context. Therefore, this package exists.
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

// Find returns the values that the query matches, in document order. It returns an error only if
// the query would visit or compare more values than permitted, or if the context ends.
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
	// maxVisits is the maximum number of nodes that a query visits. A comparison costs one visit
	// per value, and a search in a text one visit per visitSteps steps.
	maxVisits  = 1_000_000
	visitSteps = 64
	// maxPattern is the maximum number of instructions of a regular expression, and checkEvery the
	// number of visits between two checks of the context.
	maxPattern = 20_000
	checkEvery = 1000
)

var errBudget = errors.New("the query reads more than a million values, or compares texts that are too long")

// SyntaxError is a malformed query.
type SyntaxError struct {
	Message string
	Column  int // in bytes, starting at 1
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at column %d", e.Message, e.Column) }

type (
	segment struct {
		descendant bool
		selectors  []selector
	}
	// selector selects children of a node.
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
