// Package runstate computes the state of a run from its journal: which steps are open and what they
// wait for. It also decides what happens next. It has no goroutines, no store, and no clock.
//
// # The rows of a journal
//
// Checkpoints append rows. Each row has the next sequence number.
//
//   - intent: an attempt of a node that is not pure is about to start. Attempt, Effect,
//     IdempotencyKey, and Input (with unresolved secrets) are set. With Substep > 0, it announces a
//     non-idempotent sub-step of that attempt: Input is the call, and IdempotencyKey its key. Until a
//     substep row follows, the attempt is in doubt, whatever its own side-effect class is.
//   - result, not Final: an attempt ended, and its visit or item continues. Status failed means that
//     a retry follows. Status in_doubt means that the attempt may have had its effect, and a person
//     must resolve it. Status pending with failure code "interrupted" means that the attempt was ended
//     by a shutdown (Reason "stop"), a crash (Reason "crash"), or a limit of the run (Reason
//     "budget"). Such an attempt does not count against the retry budget.
//   - result, Final: a visit or an item settled with Status completed, failed, skipped, or cancelled.
//     Output is its value, and Decision what the walk decided (absent if there was nothing to
//     decide). Only these rows advance the walk. Pure nodes write no other rows. Their Input is
//     stored unless it equals the output (set, log, noop, decision).
//   - wait: a visit or item waits. Reason is a domain.WaitReason: retry (Attempt failed, and the
//     next may start at DueAt), timer (DueAt), approval (Ref is the ID of the approval, DueAt its
//     deadline, Input the request), child (Ref is the ID of the child run, Input its input).
//   - resolve: a wait or an attempt in doubt was resolved. Decision is a ResolveDecision: happened,
//     retry, skip, fail (an attempt in doubt), approved, rejected, expired (an approval), child (a
//     child run ended), late (the result of an abandoned attempt, which is never used). If it
//     settles a step, a final result row follows in the same checkpoint.
//   - substep: a model call or tool call inside an attempt. Substep, Output, Usage, and Decision (a
//     SubstepDecision) are set. Status cancelled means that the call was not made, or that a limit of
//     the run cut its answer, so that no attempt inherits it. Reason is set if the usage differs from
//     the reserved one. Kind replan is the planner's answer to a visit that waits for a new version.
//     It is durable before it is used.
//   - replan: the run follows another version from here. Decision is a Replan. It names both
//     versions, the failed visit, and the final rows that stay, with what the new version decides
//     there. Before that, the failed visit waits: with Reason replan while the planner works, and
//     with Reason approval while a person must accept the version (Decision is a WaitDecision).
//   - reset: a resume reopened failed work. Decision is a walk.Reset.
//   - action: something happened to the whole run. Decision is a RunActionDecision, whose constants
//     list the actions.
//
// # Folding
//
// Only State.Apply and State.Settle interpret rows. An active run and a run that is loaded after a
// crash apply every row in the same way. A final row is either decided by the walk (State.Settle, in
// an active run) or replayed with its recorded decision (State.Apply, while loading). Therefore
// Fold(journal) equals the live state at every checkpoint, which a property test checks.
package runstate
