// Package walk computes the next steps of a run. It is pure: it uses no goroutine, no clock, and no
// I/O.
//
// A [Program] is a compiled plan. Package [github.com/kairosd/kairosd/planner] compiles documents
// to programs. A [Walk] holds the position of one run in its program. A visit is one iteration of a
// node. A driver runs the visits that [Walk.Ready] returns and reports each outcome to
// [Walk.Settle], which returns a [Decision].
//
// A driver that stores settlements and decisions can rebuild the walk at any time with
// [Walk.Replay]. Replaying evaluates no condition.
//
// The package also defines the parts of a program: conditions, references, templates, expressions
// (CEL with a limit on their cost), and side-effect classes. Handlers return a [Failure] to
// describe an error.
package walk
