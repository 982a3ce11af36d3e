package store

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// purgeStep is how many journal rows go in one transaction, so that running
// work is not held up.
const purgeStep = 1000

// EndedBefore lists final runs that ended before a time and still have their
// journal, oldest first, at most limit.
func (s *Store) EndedBefore(ctx context.Context, before time.Time, limit int) ([]string, error) {
	ids, err := s.q.RunEndedBefore(ctx, micros(before), int64(limit))
	return ids, translate(err, "find old runs")
}

// PurgeRun removes a final run's journal, values and handoffs for good. The run
// stays in lists, the audit log keeps its records with their digests (ruling
// 19). A run that is not final is CodeConflict.
func (s *Store) PurgeRun(ctx context.Context, id string, actor kairos.Actor, reason string) error {
	rowID, err := s.rowID(ctx, id)
	if err != nil {
		return err
	}
	var only [][]byte
	err = s.writer.perform(func(w *writer) ([]auditRow, error) {
		n, err := w.q.RunPurge(w.ctx, w.s.now().UnixMicro(), rowID)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, kairos.Errorf(kairos.CodeConflict, "run %s is not finished, or was purged already", kairos.ShortID(id))
		}
		if only, err = w.q.PayloadOnlyOf(w.ctx, rowID); err != nil {
			return nil, err
		}
		if err := w.q.RunDetailPurge(w.ctx, rowID); err != nil {
			return nil, err
		}
		if err := w.q.HandoffDelete(w.ctx, rowID); err != nil {
			return nil, err
		}
		delete(w.hot, rowID)
		return []auditRow{{rowID: rowID, record: kairos.AuditRecord{Action: "run.purge", Actor: actor.Name, Surface: actor.Surface, Run: id, Reason: reason}}}, nil
	})
	if err != nil {
		return err
	}
	for {
		var n int64
		if err := s.writer.perform(func(w *writer) (_ []auditRow, err error) {
			n, err = w.q.StepDelete(w.ctx, rowID, purgeStep)
			return nil, err
		}); err != nil {
			return err
		}
		if n < purgeStep {
			break
		}
	}
	return s.writer.perform(func(w *writer) ([]auditRow, error) {
		if err := w.q.PayloadRefDelete(w.ctx, rowID); err != nil {
			return nil, err
		}
		for _, hash := range only {
			// Another run may have taken it up since; then it stays.
			if _, err := w.q.PayloadDelete(w.ctx, hash, w.s.now().Add(-orphanAge).UnixMicro()); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

// orphanAge is how long a payload may wait for its checkpoint.
const orphanAge = time.Hour

// CollectPayloads removes values that no run needs: those of purged runs, and
// those stored ahead of a checkpoint that never came. It returns how many.
func (s *Store) CollectPayloads(ctx context.Context) (int, error) {
	before, removed := s.now().Add(-orphanAge).UnixMicro(), 0
	for {
		hashes, err := s.q.PayloadOrphans(ctx, 0, before, 100)
		if err != nil {
			return removed, translate(err, "find payloads")
		}
		if len(hashes) == 0 {
			return removed, nil
		}
		n := int64(0)
		for _, hash := range hashes {
			if err := s.writer.perform(func(w *writer) ([]auditRow, error) {
				// References are checked again here, where nobody else writes.
				k, err := w.q.PayloadDelete(w.ctx, hash, before)
				n += k
				return nil, err
			}); err != nil {
				return removed, err
			}
		}
		removed += int(n)
		if n == 0 { // all were taken up again
			return removed, nil
		}
	}
}

// payloadRefs are the payloads that rows name.
func payloadRefs(steps []stepRow, more ...*string) (refs [][]byte) {
	add := func(column *string) {
		if column == nil || len(*column) == 0 || (*column)[0] != payloadMark[0] {
			return
		}
		if hash, err := hex.DecodeString((*column)[1:]); err == nil {
			refs = append(refs, hash)
		}
	}
	for i := range steps {
		p := &steps[i]
		for _, column := range [...]*string{p.Input, p.Output, p.Decision, p.Failure, p.Log} {
			add(column)
		}
	}
	for _, column := range more {
		add(column)
	}
	return refs
}

// refer notes that a run needs payloads.
func (w *writer) refer(rowID int64, refs [][]byte) error {
	for _, hash := range refs {
		if err := w.q.PayloadRefInsert(w.ctx, rowID, hash); err != nil {
			return err
		}
	}
	return nil
}
