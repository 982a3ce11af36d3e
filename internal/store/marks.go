package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
)

// AckRun takes note of one failed run: it needs attention no more until it fails
// anew. CodeConflict: it has not failed, or somebody took note of it before.
func (s attention) AckRun(_ context.Context, actor domain.Actor, run, note string) error {
	_, _, err := s.store.Do(Operation{Name: "acknowledge-run", By: actor, At: s.store.now()}, func(tx *Tx) (string, error) {
		return run, tx.Attention().AckRun(run, note)
	})
	return err
}

// LabelRun gives a run labels, in place of others with their keys. Those that it
// was created with stand under its seal and stay as they are beneath.
func (s attention) LabelRun(_ context.Context, actor domain.Actor, run string, labels map[string]string, reason string) error {
	if s.store.writer == nil {
		return errReadOnly()
	}
	if len(labels) == 0 {
		return domain.Errorf(domain.CodeInvalid, "no labels given").Suggest("write key=value")
	}
	err := s.store.writer.perform(func(w *writer) ([]auditRow, error) {
		r, err := w.q.RunGivenLabels(w.ctx, run)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, domain.Errorf(domain.CodeNotFound, "run %s not found", run)
		} else if err != nil {
			return nil, err
		}
		given := map[string]string{}
		if err := json.Unmarshal([]byte(r.GivenLabels), &given); err != nil {
			return nil, domain.Errorf(domain.CodeCorrupt, "labels of run %s: %w", run, err)
		}
		maps.Copy(given, labels)
		if err := w.q.RunGiveLabels(w.ctx, core.EncodeJSON(given), r.ID); err != nil {
			return nil, err
		}
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			if err := w.q.RunLabelDrop(w.ctx, r.ID, k); err != nil {
				return nil, err
			}
			if err := w.q.RunLabelInsert(w.ctx, k, labels[k], r.ID); err != nil {
				return nil, err
			}
		}
		if err := w.wordsOf(r.ID); err != nil {
			return nil, err
		}
		return []auditRow{
			{
				record: domain.AuditRecord{
					Action:  "run.label",
					Actor:   actor.Name,
					Surface: actor.Surface,
					Request: actor.Request,
					Object:  "run:" + run,
					Reason:  reason,
					Detail:  domain.RawJSON(core.EncodeJSON(labels)),
				},
			},
		}, nil
	})
	return core.Translate(err, "label run")
}
