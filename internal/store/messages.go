package store

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// messageRows converts messages to rows. Long payloads are shared with the journal.
func (s rows) messageRows(
	list []domain.AgentMessage,
	rowID int64,
	payloads *[]dbsqlc.PayloadInsertParams,
) ([]dbsqlc.MessageInsertParams, error) {
	out := make([]dbsqlc.MessageInsertParams, len(list))
	for i, m := range list {
		payload, err := s.store.db.EncodeValue(m.Payload, payloads)
		if err != nil {
			return nil, err
		}
		d := m.Metadata
		out[i] = dbsqlc.MessageInsertParams{
			PublicID:    m.ID,
			RunID:       rowID,
			Seq:         m.Seq,
			Node:        m.Node,
			Visit:       int64(m.Visit),
			Item:        int64(m.Item),
			Correlation: m.CorrelationID,
			FromAgent:   m.From,
			ToAgent:     m.To,
			Type:        string(m.Type),
			Payload:     payload,
			Priority:    d.Priority,
			TtlMs:       d.TTL,
			RetryCount: int64(
				d.RetryCount,
			),
			RequiresAck: core.Flag(d.RequiresAck),
			PlanContext: core.Flag(d.IsPlanContext),
			At:          core.Micros(d.Timestamp),
		}
	}
	return out, nil
}
