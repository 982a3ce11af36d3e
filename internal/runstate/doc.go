// Package runstate is the state of a run as a pure function of its journal: which steps
// are open, what they wait for, and the rules that decide what happens next. It has no
// goroutines, no store, and no clock.
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
//   - result, not Final: an attempt ended and its visit or item continues.
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
//   - resolve: something from outside answered. Decision is a ResolveDecision:
//     happened, retry, skip, fail (an attempt in doubt), approved, rejected,
//     expired (an approval), child (a child run ended), late (the
//     result of an abandoned attempt; never used). What it settles follows as a
//     final result row in the same checkpoint.
//   - substep: one model or tool call inside an attempt: Substep, Output, Usage
//     and Decision, a SubstepDecision. Status cancelled: the call was not made, or
//     a limit of the run cut its answer; no attempt inherits it. Reason states where
//     its usage is other than reserved. Kind replan is the planner's answer to a
//     visit that waits for a new version, durable before anything results from it.
//   - replan: the run follows another version from here. Its Decision, a Replan,
//     names both versions, the visit that failed and the final rows that stand,
//     with what the new version decides there. Until then the failed visit
//     waits: Reason replan while it is planned, approval while a person must
//     accept it (Decision is a WaitDecision).
//   - reset: a resume opened failed work again; Decision is the walk.Reset.
//   - verb: something happened to the run as a whole. Decision is a VerbDecision; its
//     constants list the verbs.
//
// # Folding
//
// Only State.Apply gives these rows their meaning. A run at work and a run that is loaded
// after a crash pass every row through it. A final
// row is either decided (at work, State.Settle) or replayed with its
// recorded decision (loading). Hence Fold(journal) equals the
// live state at every checkpoint, which a property test checks.
package runstate
