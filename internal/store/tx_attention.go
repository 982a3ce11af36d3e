package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// AttentionTx reads and changes, in a transaction, which failed runs need attention.
type AttentionTx struct{ tx *Tx }

// Attention returns the acknowledgments of the transaction.
func (tx *Tx) Attention() AttentionTx { return AttentionTx{tx} }

// AckRun acknowledges a failed run: it needs no attention until it fails again. The audit action is
// "run.acknowledge". It returns false if the run is already acknowledged. It returns CodeNotFound,
// or CodeConflict if the run has not failed.
func (a AttentionTx) AckRun(run, note string) (changed bool, err error) {
	if changed, err = a.setRun(run, false); changed {
		a.tx.audit("run.acknowledge", auditRow{record: domain.AuditRecord{Object: "run:" + run, Reason: note}})
	}
	return changed, err
}

// UnackRun withdraws the acknowledgment of a failed run, so that it needs attention again. It
// returns false if the run was not acknowledged. It returns CodeNotFound, or CodeConflict if the
// run has not failed.
func (a AttentionTx) UnackRun(run string) (changed bool, err error) {
	return a.setRun(run, true)
}

// LabelRun adds labels to a run, in place of those with the same keys. The labels that the
// run was created with are sealed, and stay stored beneath. CodeNotFound.
func (a AttentionTx) LabelRun(run string, labels map[string]string, reason string) error {
	if len(labels) == 0 {
		return domain.Errorf(domain.CodeInvalid, "no labels given").Suggest("write key=value")
	}
	if err := a.tx.w.addLabels(run, labels); err != nil {
		return err
	}
	a.tx.audit("run.label", auditRow{record: domain.LabelRecord(run, labels, reason)})
	return nil
}

// addLabels adds labels to the row of a run, to its search index, and to the index of labels.
func (w *writer) addLabels(run string, labels map[string]string) error {
	r, err := w.q.RunGivenLabels(w.ctx, run)
	if errors.Is(err, sql.ErrNoRows) {
		return domain.Errorf(domain.CodeNotFound, "run %s not found", run)
	} else if err != nil {
		return core.Translate(err, "label run")
	}
	given := map[string]string{}
	if err := json.Unmarshal([]byte(r.GivenLabels), &given); err != nil {
		return domain.Errorf(domain.CodeCorrupt, "labels of run %s: %w", run, err)
	}
	maps.Copy(given, labels)
	if err := w.q.RunGiveLabels(w.ctx, core.EncodeJSON(given), r.ID); err != nil {
		return core.Translate(err, "label run")
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if err := w.q.RunLabelDrop(w.ctx, r.ID, k); err != nil {
			return core.Translate(err, "label run")
		}
		if err := w.q.RunLabelInsert(w.ctx, k, labels[k], r.ID); err != nil {
			return core.Translate(err, "label run")
		}
	}
	return w.wordsOf(r.ID)
}

// setRun marks whether a failed run needs attention. It reports false for a run
// that is marked so.
func (a AttentionTx) setRun(run string, on bool) (changed bool, err error) {
	w := a.tx.w
	r, err := w.q.RunToAck(w.ctx, run)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && r.DeletedAt != 0:
		return false, domain.Errorf(domain.CodeNotFound, "run %s not found", run)
	case err != nil:
		return false, err
	case r.Status != string(domain.RunFailed):
		return false, domain.Errorf(domain.CodeConflict, "%s", domain.RunIs(domain.RunStatus(r.Status), ""))
	case r.Attention == core.Flag(on):
		return false, nil
	}
	if _, err := w.q.RunAttention(w.ctx, core.Flag(on), r.ID, r.EndedAt); err != nil {
		return false, err
	}
	from, to := countKey{string(domain.RunFailed), ""}, countKey{string(domain.RunFailed), core.Acknowledged}
	if on {
		from, to = to, from
	}
	a.tx.then = append(a.tx.then, func() {
		delete(w.hot, r.ID)
		w.tally.counts[from]--
		w.tally.counts[to]++
	})
	return true, nil
}

// Set marks runs as needing attention or not. Runs that were resumed or deleted since they were
// listed do not change. It returns the number of changed runs.
func (a AttentionTx) Set(f FailedRuns, on bool) (int64, error) {
	var marked int64
	for _, run := range f.runs {
		n, err := a.tx.w.q.RunAttention(a.tx.w.ctx, core.Flag(on), run.ID, run.EndedAt)
		if err != nil {
			return marked, err
		}
		marked += n
	}
	from, to := countKey{string(domain.RunFailed), ""}, countKey{string(domain.RunFailed), core.Acknowledged}
	if on {
		from, to = to, from
	}
	w := a.tx.w
	a.tx.then = append(a.tx.then, func() {
		for _, run := range f.runs {
			delete(w.hot, run.ID)
		}
		w.tally.counts[from] -= marked
		w.tally.counts[to] += marked
	})
	return marked, nil
}

// AckFailures keeps who acknowledged a group, of how many runs, and why.
func (a AttentionTx) AckFailures(f FailedRuns, ref domain.FailureRef, runs int64, note string) error {
	return a.tx.w.q.FailureAckPut(a.tx.w.ctx, dbsqlc.FailureAckPutParams{PlanID: f.planID, Node: ref.Node, ErrorCode: ref.Code,
		Fingerprint: ref.Fingerprint, Headline: f.headline, Message: f.message, Actor: a.tx.op.By.Name, Note: note, Runs: runs,
		At: core.Micros(a.tx.op.At)})
}

// UnackFailures deletes the acknowledgments of a group.
func (a AttentionTx) UnackFailures(f FailedRuns, ref domain.FailureRef) error {
	return a.tx.w.q.FailureAckDelete(a.tx.w.ctx, dbsqlc.FailureAckDeleteParams{PlanID: f.planID, Node: ref.Node, ErrorCode: ref.Code,
		Fingerprint: ref.Fingerprint, FingerprintLast: lastFingerprint(ref)})
}
