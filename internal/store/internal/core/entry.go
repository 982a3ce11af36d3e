package core

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/kairosd/kairosd/internal/domain"
)

// Entry converts a journal row. It checks the row's hash and loads its payloads.
func (d *DB) Entry(ctx context.Context, runID string, r StepRow) (domain.Entry, error) {
	if string(RowHash(runID, &r)) != string(r.Hash) {
		return domain.Entry{}, domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s fails its checksum", r.Seq, runID).
			Suggest("restore a backup, or fork the run from before this row")
	}
	e := domain.Entry{
		Seq:     r.Seq,
		Kind:    domain.EntryKind(r.Kind),
		Node:    r.Node,
		Visit:   int(r.Visit),
		Item:    int(r.Item),
		Attempt: int(r.Attempt),
		Substep: int(
			r.Substep,
		),
		Status:         domain.NodeStatus(r.Status),
		Final:          r.Final != 0,
		Effect:         r.Effect,
		IdempotencyKey: OrEmpty(r.IdemKey),
		Usage:          domain.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Cost: r.Cost},
		Agent:          OrEmpty(r.Agent),
		DueAt: FromMicros(
			r.DueAt,
		),
		Ref:       OrEmpty(r.Ref),
		Actor:     OrEmpty(r.Actor),
		Reason:    OrEmpty(r.Reason),
		StartedAt: FromMicros(r.StartedAt),
		At:        FromMicros(r.At),
		Hash:      hex.EncodeToString(r.Hash),
	}
	var failure domain.RawJSON
	for _, f := range []struct {
		column *string
		into   *domain.RawJSON
	}{{r.Input, &e.Input}, {r.Output, &e.Output}, {r.Decision, &e.Decision}, {r.Log, &e.Log}, {r.Failure, &failure}} {
		v, err := d.Fetch(ctx, f.column)
		if code := domain.CodeOf(err); code == domain.CodeCorrupt || code == domain.CodeNotFound {
			return e, domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s refers to an unreadable value: %w", r.Seq, runID, err)
		} else if err != nil {
			return e, err
		}
		*f.into = v
	}
	if failure != nil {
		if err := json.Unmarshal(failure, &e.Failure); err != nil {
			return e, domain.Errorf(domain.CodeCorrupt, "failure in journal row %d of run %s: %w", r.Seq, runID, err)
		}
	}
	return e, nil
}
