// Package engine runs plans durably. A run's journal is all that is remembered: what runs
// next is computed from the plan and the journal, by the same code when a run continues
// and when it is loaded after a crash. Package runstate describes the rows of a journal
// and what they mean; package preview computes what an action would do.
//
// # The life of a run
//
// A run that works has one goroutine, its runner. Everything that happens to the run is a
// message to it, which applies itself. A run that only waits has none: its due time is in
// one heap of timers, and a message brings it back.
//
// A runner is made of types that can be tested alone:
//
//   - mailbox: the messages that any goroutine posts. ask posts one and waits for the
//     answer.
//   - pipeline: puts checkpoints together, hands them to the store in order, and runs what
//     must not happen before one is durable, such as starting a handler or answering an
//     operator.
//   - slots: what the run holds of the scheduler's slots.
//   - dispatcher: which step starts next.
//   - ledger: what calls in flight may use of the run's limits.
//
// The Engine finds runners in its registry and keeps what all runs share: scheduler,
// timers, event bus, compiled programs, and the configuration in use.
package engine
