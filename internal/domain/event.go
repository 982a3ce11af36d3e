package domain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is an event of a run or of the server. Its JSON is a flat object: the envelope (type,
// eventId, timestamp, sessionId, runId, ephemeral) and the fields of its type. Listeners share
// events and must not change Data.
type Event struct {
	// ID is "<generation>-<record>.<n>" for event n of an audit record, so that a replay returns
	// the same ID. The ID of an ephemeral event is not a position.
	ID      string
	Type    string // run_created, node_started, plan_step_completed, …
	Run     string
	Session string
	At      time.Time
	// Ephemeral events (model text, log lines, progress) are not stored.
	Ephemeral bool
	Data      map[string]any

	Seq    int64 // of the audit record; 0 for an ephemeral event
	Index  int   // position within the record, starting at 1
	RunSeq int64 // journal row, or 0
	// Published is the number of events that this process had published, including this one. It is
	// 0 for an event that was read from the store. It orders live events.
	Published int64
}

// envelope holds the fields that are common to all events.
type envelope struct {
	Type      string    `json:"type"`
	EventID   string    `json:"eventId"`
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"sessionId,omitempty"`
	RunID     string    `json:"runId,omitempty"`
	Ephemeral bool      `json:"ephemeral,omitempty"`
}

var envelopeKeys = []string{"type", "eventId", "timestamp", "sessionId", "runId", "ephemeral"}

// EventID returns the ID of event n of an audit record.
func EventID(generation string, seq int64, n int) string {
	return fmt.Sprintf("%s-%d.%d", generation, seq, n)
}

// ParseEventID parses "<generation>-<record>.<n>", "<generation>-<record>", and "<record>". Without
// .n, n is -1, which means the whole record.
func ParseEventID(id string) (generation string, seq int64, n int, err error) {
	text := id
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		generation, text = id[:i], id[i+1:]
	}
	n = -1
	record, part, partial := strings.Cut(text, ".")
	if partial {
		u, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return "", 0, 0, fmt.Errorf("%.64q is not an event id", id)
		}
		n = int(u)
	}
	u, err := strconv.ParseUint(record, 10, 63)
	if err != nil {
		return "", 0, 0, fmt.Errorf("%.64q is not an event id", id)
	}
	return generation, int64(u), n, nil
}

// MarshalJSON writes the flat form. A field of the type never replaces a field of the envelope.
func (e Event) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(envelope{e.Type, e.ID, e.At, e.Session, e.Run, e.Ephemeral})
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-1]
	for _, k := range slices.Sorted(maps.Keys(e.Data)) {
		if slices.Contains(envelopeKeys, k) {
			continue
		}
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(e.Data[k])
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), key...), ':'), v...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads the flat form.
func (e *Event) UnmarshalJSON(b []byte) error {
	var h envelope
	if err := json.Unmarshal(b, &h); err != nil {
		return err
	}
	var data map[string]any
	if err := json.Unmarshal(b, &data); err != nil {
		return err
	}
	for _, k := range envelopeKeys {
		delete(data, k)
	}
	*e = Event{ID: h.EventID, Type: h.Type, Run: h.RunID, Session: h.SessionID, At: h.Timestamp, Ephemeral: h.Ephemeral, Data: data}
	if n, ok := data["runSeq"].(float64); ok {
		e.RunSeq = int64(n)
	}
	if !e.Ephemeral {
		if _, seq, n, err := ParseEventID(e.ID); err == nil {
			e.Seq, e.Index = seq, max(n, 0)
		}
	}
	return nil
}
