package planner

import "errors"

var (
	// ErrNoStart: no start node found.
	ErrNoStart = errors.New("no start node found")
	// ErrMultipleStarts: multiple start nodes found.
	ErrMultipleStarts = errors.New("multiple start nodes found")
)
