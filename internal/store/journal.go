package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// step prepares a journal row; its hash covers every field, the run and seq
// included, so that a row that was changed or moved is found when it is read.
func (s *Store) step(runID string, e *domain.Entry, p *core.StepRow, payloads *[]dbsqlc.PayloadInsertParams) error {
	*p = core.StepRow{Seq: e.Seq, Kind: string(e.Kind), Node: e.Node, Visit: int64(e.Visit), Item: int64(e.Item), Attempt: int64(e.Attempt),
		Substep: int64(e.Substep), Status: string(e.Status), Final: core.Flag(e.Final), Effect: e.Effect, IdemKey: core.OrNull(e.IdempotencyKey),
		InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, Cost: e.Usage.Cost, Agent: core.OrNull(e.Agent), DueAt: core.Micros(e.DueAt),
		Ref: core.OrNull(e.Ref), Actor: core.OrNull(e.Actor), Reason: core.OrNull(e.Reason), StartedAt: core.Micros(e.StartedAt), At: core.Micros(e.At)}
	var err error
	for _, f := range []struct {
		from domain.RawJSON
		into **string
	}{{e.Input, &p.Input}, {e.Output, &p.Output}, {e.Decision, &p.Decision}, {e.Log, &p.Log}} {
		if *f.into, err = s.db.Stow(f.from, payloads); err != nil {
			return err
		}
	}
	if e.Failure != nil {
		b, err := json.Marshal(e.Failure)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "failure of node %s: %w", e.Node, err)
		}
		if p.Failure, err = s.db.Stow(b, payloads); err != nil {
			return err
		}
	}
	p.Hash = core.RowHash(runID, p)
	text := make([]byte, 2*sha256.Size)
	hex.Encode(text, p.Hash)
	e.Hash = string(text)
	return nil
}

// entry reads a journal row back, checking its hash and following payloads.
func (s *Store) entry(ctx context.Context, runID string, r core.StepRow) (domain.Entry, error) {
	if string(core.RowHash(runID, &r)) != string(r.Hash) {
		return domain.Entry{}, domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s fails its checksum", r.Seq, runID).
			Suggest("restore a backup, or fork the run from before this row")
	}
	e := domain.Entry{Seq: r.Seq, Kind: domain.EntryKind(r.Kind), Node: r.Node, Visit: int(r.Visit), Item: int(r.Item), Attempt: int(r.Attempt),
		Substep: int(r.Substep), Status: domain.NodeStatus(r.Status), Final: r.Final != 0, Effect: r.Effect, IdempotencyKey: core.OrEmpty(r.IdemKey),
		Usage: domain.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Cost: r.Cost}, Agent: core.OrEmpty(r.Agent),
		DueAt: core.FromMicros(r.DueAt), Ref: core.OrEmpty(r.Ref), Actor: core.OrEmpty(r.Actor), Reason: core.OrEmpty(r.Reason), StartedAt: core.FromMicros(r.StartedAt),
		At: core.FromMicros(r.At), Hash: hex.EncodeToString(r.Hash)}
	var failure domain.RawJSON
	for _, f := range []struct {
		column *string
		into   *domain.RawJSON
	}{{r.Input, &e.Input}, {r.Output, &e.Output}, {r.Decision, &e.Decision}, {r.Log, &e.Log}, {r.Failure, &failure}} {
		v, err := s.db.Fetch(ctx, f.column)
		if code := domain.CodeOf(err); code == domain.CodeCorrupt || code == domain.CodeNotFound {
			return e, domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s names a value that cannot be read: %w", r.Seq, runID, err)
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

// Journal gives a run's rows with Seq > after, in order, each checked against
// its hash; CodeCorrupt names the row.
func (s *Store) Journal(ctx context.Context, runID string, after int64) ([]domain.Entry, error) {
	return s.JournalPage(ctx, runID, after, 0)
}

// JournalPage gives rows with Seq > after in order, at most limit (0: all). A gap
// or a row that fails its checksum is CodeCorrupt; the rows before it are given
// with the error.
func (s *Store) JournalPage(ctx context.Context, runID string, after int64, limit int) ([]domain.Entry, error) {
	if limit <= 0 {
		limit = math.MaxInt32
	}
	rows, err := s.q.StepList(ctx, runID, after, int64(limit))
	if err != nil && core.Primary(err) == 0 && ctx.Err() == nil {
		// SQLite has given the rows; one of them holds what no row holds.
		return nil, domain.Errorf(domain.CodeCorrupt, "the journal of run %s cannot be read: %w", runID, err)
	}
	if err != nil {
		return nil, core.Translate(err, "read the journal of run "+runID)
	}
	out := make([]domain.Entry, len(rows))
	for i, r := range rows {
		if r.Seq != after+int64(i)+1 {
			return out[:i], domain.Errorf(domain.CodeCorrupt, "journal row %d of run %s is missing", after+int64(i)+1, runID)
		}
		if out[i], err = s.entry(ctx, runID, r); err != nil {
			return out[:i], err
		}
	}
	return out, nil
}

// Handoffs lists a run's handoffs in order.
func (s *Store) Handoffs(ctx context.Context, runID string) ([]domain.Handoff, error) {
	rows, err := s.q.HandoffList(ctx, runID)
	if err != nil {
		return nil, core.Translate(err, "read handoffs")
	}
	out := make([]domain.Handoff, len(rows))
	for i, h := range rows {
		out[i] = domain.Handoff{ID: h.PublicID, Run: runID, Seq: h.Seq, From: h.FromAgent, To: h.ToAgent, Node: h.Node, Reason: h.Reason,
			Context: h.Context, At: core.FromMicros(h.At)}
	}
	return out, nil
}
