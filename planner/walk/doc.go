// Package walk computes the next steps of a run. It is pure: no goroutine, no clock, no I/O.
//
// A [Program] is a compiled plan; package planner compiles documents to it. A [Walk]
// holds the position of one run in its program. A driver takes the visits that are
// ready ([Walk.Ready]), runs them, and reports each outcome ([Walk.Settle]), which
// returns a [Decision]. A driver that stores settlements and decisions can rebuild the
// walk at any time ([Walk.Replay]); replaying evaluates no condition.
//
// The package also holds what a program consists of: conditions, references,
// templates, and expressions (CEL, with a bound on their cost), side-effect classes,
// and the [Failure] that handlers return.
package walk
