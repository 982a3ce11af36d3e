// Package planner reads plans and runs them in memory.
//
// A plan is either a [Graph] of nodes and edges or a [StepPlan] of steps with dependencies.
// [Parse], [ParseYAML], and [ParseJSON] read plans from YAML or JSON and report all problems of a
// document at once, each with line and column ([Problem]). Both kinds compile to a [walk.Program].
// The next steps are then a pure function of the program and of the recorded results: see package
// [github.com/kairosd/kairosd/planner/walk].
//
// [Executor] walks a graph in memory with plain Go handlers. The durable engine of kairosd uses the
// same [walk.Walk], so both make the same decisions for every plan.
//
// Apart from [LoadGraph], nothing in this package uses files, the network, goroutines, or a log.
package planner
