package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
)

// AckRun acknowledges one failed run: it needs no attention until it fails again. It returns
// CodeConflict if the run has not failed or is already acknowledged.
func (s attention) AckRun(_ context.Context, actor domain.Actor, run, note string) error {
	_, _, err := s.store.Do(Operation{Name: "acknowledge-run", By: actor, At: s.store.now()}, func(tx *Tx) (string, error) {
		changed, err := tx.Attention().AckRun(run, note)
		if err == nil && !changed {
			err = domain.Errorf(domain.CodeConflict, "the run is already acknowledged")
		}
		return run, err
	})
	return err
}

// LabelRun adds labels to a run; see [AttentionTx.LabelRun].
func (s attention) LabelRun(_ context.Context, actor domain.Actor, run string, labels map[string]string, reason string) error {
	_, _, err := s.store.Do(Operation{Name: "update-run", By: actor, At: s.store.now()}, func(tx *Tx) (string, error) {
		return run, tx.Attention().LabelRun(run, labels, reason)
	})
	return err
}
