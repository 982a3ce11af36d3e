package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// CreateDraft stores a draft that is being planned, and says so in the audit log.
func (s work) CreateDraft(ctx context.Context, d domain.Draft) error {
	return s.store.execAs("store draft", []domain.AuditRecord{draftRecord(d, "draft.begin", domain.Actor{Name: d.Actor, Surface: d.Surface, Request: domain.RequestOf(ctx)}, "")},
		func(ctx context.Context, q *dbsqlc.Queries) error {
			return q.DraftInsert(ctx, dbsqlc.DraftInsertParams{PublicID: d.ID, Request: core.EncodeJSON(d.DraftRequest), Actor: d.Actor, Role: string(d.Role), Surface: d.Surface,
				Parent: d.Parent, Revision: int64(d.Revision), CreatedAt: core.Micros(d.CreatedAt)})
		})
}

// draftRecord says what was wanted, who planned it, and what came of it.
func draftRecord(d domain.Draft, action string, actor domain.Actor, reason string) domain.AuditRecord {
	detail := map[string]any{"draft": d.ID, "revision": d.Revision, "prompt": clipped(d.Query, 2000)}
	for key, v := range map[string]string{"change": clipped(d.Change, 2000), "refines": d.Parent, "provider": d.Provider, "model": d.Model, "by": d.By, "plan": d.Plan, "hash": d.Hash, "alternative": d.Alternative, "agent": d.Direct} {
		if v != "" {
			detail[key] = v
		}
	}
	if d.Version > 0 {
		detail["version"] = d.Version
	}
	if d.Error != nil {
		detail["error"] = d.Error.Code
	}
	return domain.AuditRecord{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "draft:" + d.ID, Reason: reason, Detail: domain.RawJSON(core.EncodeJSON(detail))}
}

func clipped(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

// BeginDraft counts a process that begins to plan; a draft whose planning is over is
// not begun.
func (s work) BeginDraft(_ context.Context, id string) (begun bool, err error) {
	err = s.store.exec("begin draft", func(ctx context.Context, q *dbsqlc.Queries) error {
		n, err := q.DraftBegin(ctx, id)
		begun = n > 0
		return err
	})
	return begun, err
}

// TellDraft keeps how far planning is.
func (s work) TellDraft(_ context.Context, id string, progress []domain.DraftNote) error {
	text, err := json.Marshal(progress)
	if err != nil {
		return fmt.Errorf("progress of draft %s: %w", id, err)
	}
	return s.store.exec("record progress of draft", func(ctx context.Context, q *dbsqlc.Queries) error {
		_, err := q.DraftProgress(ctx, string(text), id)
		return err
	})
}

// EndDraft records what planning came to. A draft that somebody discarded meanwhile
// stays so: moved is false.
func (s work) EndDraft(_ context.Context, d domain.Draft) (moved bool, err error) {
	outcome, err := json.Marshal(d.DraftOutcome)
	if err != nil {
		return false, fmt.Errorf("outcome of draft %s: %w", d.ID, err)
	}
	err = s.store.performDraft(func(w *writer) ([]auditRow, error) {
		n, err := w.q.DraftEnd(w.ctx, dbsqlc.DraftEndParams{State: string(d.State), Outcome: string(outcome), Hash: d.Hash, EndedAt: w.s.now().UnixMicro(), PublicID: d.ID})
		if moved = n > 0; err != nil || !moved {
			return nil, err
		}
		return []auditRow{{record: draftRecord(d, "draft."+string(d.State), domain.System, "")}}, nil
	})
	return moved, core.Translate(err, "record draft")
}

// DecideDraft says what becomes of a draft: it is accepted or discarded. One that
// was decided stays so: moved is false. What was chosen instead of what was proposed
// takes its place.
func (s work) DecideDraft(_ context.Context, id string, state domain.DraftState, chosen *domain.DraftOutcome, actor domain.Actor, reason string) (moved bool, err error) {
	action := map[domain.DraftState]string{domain.DraftAccepted: "draft.accept", domain.DraftDiscarded: "draft.discard"}[state]
	if action == "" {
		return false, domain.Errorf(domain.CodeInvalid, "a draft cannot be made %s", state)
	}
	err = s.store.performDraft(func(w *writer) ([]auditRow, error) {
		n, err := w.q.DraftDecide(w.ctx, string(state), id)
		if moved = n > 0; err != nil || !moved {
			return nil, err
		}
		row, err := w.q.DraftGet(w.ctx, id)
		if err != nil {
			return nil, err
		}
		d, err := core.Draft(row)
		if err != nil {
			return nil, err
		}
		if chosen != nil {
			d.DraftOutcome = *chosen
			if err := w.q.DraftChoose(w.ctx, core.EncodeJSON(chosen), chosen.Hash, id); err != nil {
				return nil, err
			}
		}
		return []auditRow{{record: draftRecord(d, action, actor, reason)}}, nil
	})
	return moved, core.Translate(err, "record draft")
}

func (s work) performDraft(f func(*writer) ([]auditRow, error)) error {
	if s.store.writer == nil {
		return errReadOnly()
	}
	return s.store.writer.perform(f)
}
