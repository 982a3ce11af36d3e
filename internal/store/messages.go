package store

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// maxMessages bounds what is read of a run's messages at once.
const maxMessages = 10_000

// letters turns messages into rows; long payloads are shared with the journal.
func (s *Store) letters(list []domain.Message, rowID int64, payloads *[]dbsqlc.PayloadInsertParams) ([]dbsqlc.MessageInsertParams, error) {
	out := make([]dbsqlc.MessageInsertParams, len(list))
	for i, m := range list {
		payload, err := s.db.Stow(m.Payload, payloads)
		if err != nil {
			return nil, err
		}
		d := m.Metadata
		out[i] = dbsqlc.MessageInsertParams{PublicID: m.ID, RunID: rowID, Seq: m.Seq, Node: m.Node, Visit: int64(m.Visit), Item: int64(m.Item),
			Correlation: m.CorrelationID, FromAgent: m.From, ToAgent: m.To, Type: string(m.Type), Payload: payload, Priority: d.Priority, TtlMs: d.TTL,
			RetryCount: int64(d.RetryCount), RequiresAck: core.Flag(d.RequiresAck), PlanContext: core.Flag(d.IsPlanContext), At: core.Micros(d.Timestamp)}
	}
	return out, nil
}

// Messages lists what a run's agents said to each other, in order.
func (s *Store) Messages(ctx context.Context, runID string) ([]domain.Message, error) {
	rows, err := s.q.MessageList(ctx, runID, 0, maxMessages)
	if err != nil {
		return nil, core.Translate(err, "read messages")
	}
	out := make([]domain.Message, len(rows))
	for i, r := range rows {
		payload, err := s.db.Fetch(ctx, r.Payload)
		if err != nil {
			return nil, err
		}
		out[i] = domain.Message{ID: r.PublicID, CorrelationID: r.Correlation, From: r.FromAgent, To: r.ToAgent, Type: domain.MessageType(r.Type), Payload: payload,
			Metadata: domain.MessageMetadata{Timestamp: core.FromMicros(r.At), Priority: r.Priority, TTL: r.TtlMs, RetryCount: int(r.RetryCount), RequiresAck: r.RequiresAck != 0},
			Seq:      r.Seq, Node: r.Node, Visit: int(r.Visit), Item: int(r.Item)}
		if r.PlanContext != 0 {
			out[i].Metadata.IsPlanContext, out[i].Metadata.StepID = true, r.Node
		}
	}
	domain.Acknowledge(out)
	return out, nil
}

// Conversation is what a run's agents said to each other, and its handoffs.
func (s *Store) Conversation(ctx context.Context, runID string) (domain.Conversation, error) {
	messages, err := s.Messages(ctx, runID)
	if err != nil {
		return domain.Conversation{}, err
	}
	handoffs, err := s.Handoffs(ctx, runID)
	return domain.Conversation{Messages: messages, Handoffs: handoffs}, err
}
