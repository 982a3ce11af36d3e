// Package engine runs plans durably. The journal of a run is its only memory. The engine computes
// the next steps from the plan and the journal, with the same code for a run that continues and for
// a run that is loaded after a crash. Package runstate describes the rows of a journal. Package
// preview computes what an action would do.
//
// # The life of a run
//
// An active run has one goroutine, its runner. Everything that happens to the run is a message to
// the runner, which applies one message at a time. A waiting run has no goroutine. Its due time is
// an entry in a heap of timers, and a message starts its runner again.
//
// A runner consists of types that can be tested alone:
//
//   - mailbox: the messages that any goroutine can post. ask posts one and waits for the
//     answer.
//   - pipeline: collects checkpoints, passes them to the store in order, and runs what must
//     not happen before one is durable, such as starting a handler or answering an operator.
//   - slots: the slots of the scheduler that the run holds.
//   - calls: the usage that calls in flight have reserved from the limits of the run.
//
// The Engine finds runners in its registry. It also has everything that all runs share: scheduler,
// timers, event bus, compiled programs, and the active configuration.
package engine
