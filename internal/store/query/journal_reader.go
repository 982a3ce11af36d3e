package query

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// JournalReader reads journals, messages, handoffs, and events of runs.
type JournalReader struct{ db *core.DB }

// LastEvent returns the newest sequence number of the audit log.
func (s *JournalReader) LastEvent(ctx context.Context) (int64, error) {
	n, err := s.db.Q.AuditLast(ctx)
	return n, core.Translate(err, "read the audit log")
}

// EventsAfter returns at most limit audit events with Seq > after, in order, with their journal
// rows. If run is not empty, it returns only events of that run.
func (s *JournalReader) EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error) {
	var out []domain.AuditEvent
	if run == "" {
		rows, err := s.db.Q.AuditAfter(ctx, after, int64(limit))
		if err != nil {
			return nil, core.Translate(err, "read events")
		}
		for _, r := range rows {
			out = append(out, core.AuditEvent(r.AuditEvent, r.Run))
		}
		return out, s.fillEntries(ctx, out, rowIDsOf(rows))
	}
	rowID, err := s.db.RowID(ctx, run)
	if err != nil {
		return nil, err
	}
	// An event that is committed between these two reads must not be in the second only, because a
	// reader that continues after it would miss events of the first.
	last, err := s.LastEvent(ctx)
	if err != nil {
		return nil, err
	}
	from, err := s.stepAfterEvent(ctx, run, rowID, after)
	if err != nil {
		return nil, err
	}
	steps, err := s.db.Q.AuditOfSteps(ctx, rowID, from, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read events")
	}
	others, err := s.db.Q.AuditOfRun(ctx, rowID, after, int64(limit))
	if err != nil {
		return nil, core.Translate(err, "read events")
	}
	for _, r := range steps {
		others = append(others, r.AuditEvent)
	}
	others = slices.DeleteFunc(others, func(e dbsqlc.AuditEvent) bool { return e.Seq > last })
	slices.SortFunc(others, func(a, b dbsqlc.AuditEvent) int { return cmp.Compare(a.Seq, b.Seq) })
	others = others[:min(limit, len(others))]
	ids := make([]*int64, len(others))
	for i, e := range others {
		out = append(out, core.AuditEvent(e, run))
		ids[i] = &rowID
	}
	return out, s.fillEntries(ctx, out, ids)
}

// stepAfterEvent returns the last journal row of a run whose audit event is not newer than after.
// Both numbers increase, so it uses a binary search.
func (s *JournalReader) stepAfterEvent(ctx context.Context, run string, rowID, after int64) (int64, error) {
	st, err := s.db.Q.RunState(ctx, run)
	if err != nil {
		return 0, core.Translate(err, "find run "+run)
	}
	low, high := int64(0), st.LastSeq
	for low < high {
		middle := (low + high + 1) / 2
		seq, err := s.db.Q.StepAuditSeq(ctx, rowID, middle)
		switch {
		case errors.Is(err, sql.ErrNoRows): // the journal was deleted
			return 0, nil
		case err != nil:
			return 0, core.Translate(err, "read events")
		case seq <= after:
			low = middle
		default:
			high = middle - 1
		}
	}
	return low, nil
}

func rowIDsOf(rows []dbsqlc.AuditAfterRow) []*int64 {
	ids := make([]*int64, len(rows))
	for i, r := range rows {
		ids[i] = r.AuditEvent.RunID
	}
	return ids
}

func (s *JournalReader) fillEntries(ctx context.Context, events []domain.AuditEvent, rowIDs []*int64) error {
	for i := range events {
		e := &events[i]
		if e.Action != core.ActionCheckpoint || rowIDs[i] == nil || e.RunSeq == 0 {
			continue
		}
		rows, err := s.db.Q.StepRange(ctx, *rowIDs[i], e.FirstSeq, e.RunSeq)
		if err != nil && core.Primary(err) == 0 && ctx.Err() == nil {
			continue // the row contains a value of an invalid type
		}
		if err != nil {
			return core.Translate(err, "read journal rows")
		}
		for _, row := range rows {
			entry, err := s.db.Entry(ctx, e.Run, row)
			if domain.CodeOf(err) == domain.CodeCorrupt {
				// One damaged row must not end the events of all readers. The event has no row, and
				// the page of the run reports the damage.
				continue
			}
			if err != nil {
				return err
			}
			e.Entries = append(e.Entries, entry)
		}
		if n := len(e.Entries); n > 0 {
			e.Entry = &e.Entries[n-1]
		}
	}
	return nil
}

// Happenings returns at most limit audit events with Seq > after, in order, without checkpoints and
// without journal rows.
func (s *JournalReader) Happenings(ctx context.Context, after int64, limit int) ([]domain.AuditEvent, error) {
	rows, err := s.db.Q.DeliveryEvents(ctx, after, int64(limit))
	out := make([]domain.AuditEvent, len(rows))
	for i, r := range rows {
		out[i] = domain.AuditEvent{
			Seq: r.Seq,
			At:  core.FromMicros(r.At),
			AuditRecord: domain.AuditRecord{
				Action: r.Action,
				Result: r.Result,
				Reason: r.Reason,
				Run:    r.Run,
				Detail: domain.RawJSON(r.Detail),
			},
		}
	}
	return out, core.Translate(err, "read what happened")
}

// Journal returns a run's rows with Seq > after, in order. It checks each row against its checksum.
// If a row is damaged, the error is CodeCorrupt and names the row.
func (s *JournalReader) Journal(ctx context.Context, runID string, after int64) ([]domain.Entry, error) {
	return s.JournalPage(ctx, runID, after, 0)
}

// JournalPage returns at most limit rows with Seq > after, in order; limit 0 returns all. If a row
// is missing or damaged, the error is CodeCorrupt, and the result contains the rows before it.
func (s *JournalReader) JournalPage(ctx context.Context, runID string, after int64, limit int) ([]domain.Entry, error) {
	if limit <= 0 {
		limit = math.MaxInt32
	}
	rows, err := s.db.Q.StepList(ctx, runID, after, int64(limit))
	if err != nil && core.Primary(err) == 0 && ctx.Err() == nil {
		// SQLite read the rows, but one contains a value of an invalid type.
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
		if out[i], err = s.db.Entry(ctx, runID, r); err != nil {
			return out[:i], err
		}
	}
	return out, nil
}

// Handoffs lists a run's handoffs in order.
func (s *JournalReader) Handoffs(ctx context.Context, runID string) ([]domain.Handoff, error) {
	rows, err := s.db.Q.HandoffList(ctx, runID)
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

// maxMessages is the maximum number of messages of a run that one call reads.
const maxMessages = 10_000

// Messages lists the messages between a run's agents, in order.
func (s *JournalReader) Messages(ctx context.Context, runID string) ([]domain.AgentMessage, error) {
	rows, err := s.db.Q.MessageList(ctx, runID, 0, maxMessages)
	if err != nil {
		return nil, core.Translate(err, "read messages")
	}
	out := make([]domain.AgentMessage, len(rows))
	for i, r := range rows {
		payload, err := s.db.Fetch(ctx, r.Payload)
		if err != nil {
			return nil, err
		}
		out[i] = domain.AgentMessage{
			ID:            r.PublicID,
			CorrelationID: r.Correlation,
			From:          r.FromAgent,
			To:            r.ToAgent,
			Type:          domain.MessageType(r.Type),
			Payload:       payload,
			Metadata: domain.MessageMetadata{
				Timestamp:   core.FromMicros(r.At),
				Priority:    r.Priority,
				TTL:         r.TtlMs,
				RetryCount:  int(r.RetryCount),
				RequiresAck: r.RequiresAck != 0,
			},
			Seq:   r.Seq,
			Node:  r.Node,
			Visit: int(r.Visit),
			Item:  int(r.Item),
		}
		if r.PlanContext != 0 {
			out[i].Metadata.IsPlanContext, out[i].Metadata.StepID = true, r.Node
		}
	}
	domain.Acknowledge(out)
	return out, nil
}

// Conversation contains the messages between a run's agents, and its handoffs.
func (s *JournalReader) Conversation(ctx context.Context, runID string) (domain.Conversation, error) {
	messages, err := s.Messages(ctx, runID)
	if err != nil {
		return domain.Conversation{}, err
	}
	handoffs, err := s.Handoffs(ctx, runID)
	return domain.Conversation{Messages: messages, Handoffs: handoffs}, err
}
