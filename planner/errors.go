package planner

import "errors"

var (
	// ErrNoStart reports a graph in which every node has an incoming edge or needs, so that no node
	// can start the run.
	ErrNoStart = errors.New("no start node found")
	// ErrMultipleStarts reports a graph with several nodes that could start the run, and without a
	// start key.
	ErrMultipleStarts = errors.New("multiple start nodes found")
)
