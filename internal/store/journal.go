package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// step prepares a journal row. Its hash covers every field including run and seq, so that a changed
// or moved row is found when it is read.
func (s rows) step(runID string, e *domain.Entry, p *core.StepRow, payloads *[]dbsqlc.PayloadInsertParams) error {
	*p = core.StepRow{Seq: e.Seq, Kind: string(e.Kind), Node: e.Node, Visit: int64(e.Visit), Item: int64(e.Item), Attempt: int64(e.Attempt),
		Substep: int64(
			e.Substep,
		), Status: string(e.Status), Final: core.Flag(e.Final), Effect: e.Effect, IdemKey: core.OrNull(e.IdempotencyKey),
		InputTokens: e.Usage.InputTokens, OutputTokens: e.Usage.OutputTokens, Cost: e.Usage.Cost, Agent: core.OrNull(e.Agent),
		DueAt: core.Micros(e.DueAt),
		Ref: core.OrNull(
			e.Ref,
		), Actor: core.OrNull(e.Actor), Reason: core.OrNull(e.Reason), StartedAt: core.Micros(e.StartedAt), At: core.Micros(e.At)}
	var err error
	for _, f := range []struct {
		from domain.RawJSON
		into **string
	}{{e.Input, &p.Input}, {e.Output, &p.Output}, {e.Decision, &p.Decision}, {e.Log, &p.Log}} {
		if *f.into, err = s.store.db.EncodeValue(f.from, payloads); err != nil {
			return err
		}
	}
	if e.Failure != nil {
		b, err := json.Marshal(e.Failure)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "failure of node %s: %w", e.Node, err)
		}
		if p.Failure, err = s.store.db.EncodeValue(b, payloads); err != nil {
			return err
		}
	}
	p.Hash = core.RowHash(runID, p)
	text := make([]byte, 2*sha256.Size)
	hex.Encode(text, p.Hash)
	e.Hash = string(text)
	return nil
}
