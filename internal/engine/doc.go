// Package engine runs plans durably. A run's journal is all that is remembered:
// what runs next is computed from the plan and the journal, by the same code
// when a run goes on and when it is taken up after a crash.
//
// # The rows of a journal
//
// Rows are appended in checkpoints; each has the next sequence number.
//
//   - intent: an attempt of a node whose effect is not pure is about to run.
//     Attempt, Effect, IdempotencyKey and Input (secrets unresolved) are set.
//     With Substep > 0 it announces an unsafe sub-step of that attempt: Input is
//     what is called, IdempotencyKey that of the call. Until a substep row follows,
//     the attempt is in doubt, whatever its own effect.
//   - result, not Final: an attempt ended and its visit or item goes on.
//     Status failed: it will be tried again. Status in_doubt: it may have had
//     its effect and a person must say. Status pending with failure code
//     "interrupted": the daemon stopped (Reason "stop") or died (Reason
//     "crash") while it ran, or a limit of the run was reached (Reason "budget");
//     it costs no retry.
//   - result, Final: a visit or an item settled with Status completed, failed,
//     skipped or cancelled. Output is its value, Decision what the walk decided
//     (absent when nothing was to be decided). Only these rows move the walk.
//     Pure nodes write nothing else; their Input is stored unless it equals the
//     output (set, log, noop, decision).
//   - wait: a visit or item waits durably. Reason is the domain.WaitReason:
//     retry (Attempt failed; the next may start at DueAt), timer (DueAt),
//     approval (Ref is the approval, DueAt its time-out, Input the question),
//     child (Ref is the child run, Input its input).
//   - resolve: something from outside answered. Decision is {"action": …}:
//     happened, retry, skip, fail (an attempt in doubt), approved, rejected,
//     expired (an approval), child (a child run ended), due (a timer), late (the
//     result of an abandoned attempt; never used). What it settles follows as a
//     final result row in the same checkpoint.
//   - substep: one model or tool call inside an attempt: Substep, Output, Usage
//     and Decision {"kind", "digest"}. Status cancelled: the call was not made, or
//     a limit of the run cut its answer; no attempt inherits it. Reason says where
//     its usage is other than reserved. Kind replan is the planner's answer to a
//     visit that waits for a tail, durable before anything comes of it.
//   - replan: the run follows another version from here (ruling 12). Decision
//     names both versions, the visit that failed and the final rows that stand,
//     with what the new version decides there. Until then the failed visit
//     waits: Reason replan while a tail is planned, approval while a person is
//     asked to accept it (Decision {"kind": "replan", "tail": …}).
//   - reset: a resume opened failed work again; Decision is the planner.Reset.
//   - verb: an act on the run; Decision is {"verb": …}: pause, continue, cancel,
//     limits, release, retry-now, quarantine, crash (found unfinished after an
//     unclean death; Decision lists the open nodes), stop (put down at a clean
//     shutdown), budget (a limit leaves no room for the next step or call: nothing
//     starts before limits, or budget-retry once a price is configured), plans (the versions that plan nodes are pinned to), memory (what
//     the run's session knew when it began is the Output).
//
// # Folding
//
// Package runstate is the single place that gives these rows their meaning. A live run
// and a run taken up again pass every row through the same State.Apply; a final
// row is either decided (live, planner.Walk.Settle) or replayed with its
// recorded decision (fold, planner.Walk.Replay). Hence fold(journal) equals the
// live state at every checkpoint, which a property test checks.
//
// # The life of a run
//
// A run that works has one goroutine, its actor, and a mailbox; everything that
// happens to the run is a message to it. A run that only waits has neither: its
// due time is in one heap of timers, and a message brings it back. Checkpoints
// of a run are handed to the store in order; what must not happen before one is
// durable (starting a handler, answering an operator) is tied to it.
package engine
