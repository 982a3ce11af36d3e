// Package engine runs plans durably. A run's journal is all that is remembered:
// what runs next is computed from the plan and the journal, by the same code
// when a run goes on and when it is taken up after a crash.
//
// Package runstate describes the rows of a journal and what they mean.
//
// # The life of a run
//
// A run that works has one goroutine, its runner, and a mailbox; everything that
// happens to the run is a message to it. A run that only waits has neither: its
// due time is in one heap of timers, and a message brings it back. Checkpoints
// of a run are handed to the store in order; what must not happen before one is
// durable (starting a handler, answering an operator) is tied to it.
package engine
