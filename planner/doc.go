// Package planner reads plans and runs them in memory.
//
// A plan is either an explicit [Graph] of nodes and edges or a [StepPlan] of
// steps with dependencies. Both parse from YAML or JSON ([Parse], [ParseYAML],
// [ParseJSON]), report every problem they have at once with line and column
// ([Problem]), and compile to one [walk.Program]. The next steps are then a pure
// function of the program and of what has been recorded: see package
// [github.com/kairosd/kairosd/planner/walk].
//
// [Executor] walks a graph in memory with plain Go handlers. The durable
// engine of kairosd drives the same [walk.Walk], so both agree on every plan.
//
// Apart from [LoadGraph], nothing here touches a file, the network, a
// goroutine or a log.
package planner
