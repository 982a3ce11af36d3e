package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// draftRecord records the request, the planner, and the result.
func draftRecord(d domain.Draft, reason string) domain.AuditRecord {
	detail := map[string]any{"draft": d.ID, "revision": d.Revision, "prompt": clipped(d.Query, 2000)}
	for key, v := range map[string]string{"change": clipped(d.Change, 2000), "refines": d.Parent,
		"provider": d.Provider, "model": d.Model, "by": d.By,
		"plan": d.Plan.Key, "hash": d.Hash, "alternative": d.Alternative, "agent": d.Direct} {
		if v != "" {
			detail[key] = v
		}
	}
	if d.Plan.Version > 0 {
		detail["version"] = d.Plan.Version
	}
	if d.Error != nil {
		detail["error"] = d.Error.Code
	}
	return domain.AuditRecord{Object: "draft:" + d.ID, Reason: reason, Detail: domain.RawJSON(core.EncodeJSON(detail))}
}

func clipped(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

// BeginDraft counts a process that starts to plan a draft. It returns false if planning has ended.
func (s work) BeginDraft(_ context.Context, id string) (begun bool, err error) {
	err = s.store.exec("begin draft", func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.DraftBegin(ctx, id)
		begun = n > 0
		return err
	})
	return begun, err
}

// SetDraftProgress stores the progress of planning.
func (s work) SetDraftProgress(_ context.Context, id string, progress []domain.DraftNote) error {
	return s.store.exec("record progress of draft", func(ctx context.Context, q *dbsqlc.Queries) error {
		_, err := q.DraftProgress(ctx, core.DraftProgress(progress), id)
		return err
	})
}

// EndDraft records the result of planning. If the draft was discarded in the meantime, it does not
// change, and moved is false.
func (s work) EndDraft(_ context.Context, d domain.Draft) (moved bool, err error) {
	err = s.store.performDraft(func(w *writer) ([]auditRow, error) {
		n, err := w.q.DraftEnd(
			w.ctx,
			dbsqlc.DraftEndParams{
				State:    string(d.State),
				Outcome:  core.DraftOutcome(d.DraftOutcome),
				Hash:     d.Hash,
				EndedAt:  w.s.now().UnixMicro(),
				PublicID: d.ID,
			},
		)
		if moved = n > 0; err != nil || !moved {
			return nil, err
		}
		r := draftRecord(d, "")
		r.Action, r.Actor, r.Source = "draft."+string(d.State), domain.System.Name, domain.System.Source
		return []auditRow{{record: r}}, nil
	})
	return moved, core.Translate(err, "record draft")
}

func (s work) performDraft(f func(*writer) ([]auditRow, error)) error {
	if s.store.writer == nil {
		return errReadOnly()
	}
	return s.store.writer.perform(f)
}
