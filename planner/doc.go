// Package planner is the plan language of kairosd and its walk.
//
// A plan is either an explicit [Graph] of nodes and edges or a [StepPlan] of
// steps with dependencies. Both parse from YAML or JSON ([Parse], [ParseYAML],
// [ParseJSON]), report every problem they have at once with line and column
// ([Problem]), and compile to one [Program]. What runs next is then a pure
// function of the program and of what has been recorded: see [Walk].
//
// [Executor] walks a graph in memory with plain Go handlers. The durable
// engine of kairosd drives the very same Walk, so both agree on every plan.
//
// Apart from [LoadGraph], nothing here touches a file, the network, a
// goroutine or a log.
package planner
