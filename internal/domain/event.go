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

// Event is one thing that happened. On the wire it is a flat object: the envelope
// (type, eventId, timestamp, sessionId, runId, ephemeral) and the fields of its type
// side by side. Listeners share events: Data must not be changed.
type Event struct {
	// ID is "<generation>-<record>.<n>" for the nth event of an audit record, so a
	// replay repeats it. Ephemeral events have an id that names no position.
	ID      string
	Type    string // run_created, node_started, plan_step_completed, …
	Run     string
	Session string
	At      time.Time
	// Ephemeral events (model text, log lines, progress) are sent while they happen
	// and are not stored.
	Ephemeral bool
	Data      map[string]any

	Seq    int64 // of the audit record; 0: ephemeral
	Index  int   // within the record, from 1
	RunSeq int64 // journal row; 0: none
	// Published is how many events this process had published when it published this
	// one, stored or not; 0 of one that was read back. See engine.Published.
	Published int64
}

// envelope are the fields that every event has or may have.
type envelope struct {
	Type      string    `json:"type"`
	EventID   string    `json:"eventId"`
	Timestamp time.Time `json:"timestamp"`
	SessionID string    `json:"sessionId,omitempty"`
	RunID     string    `json:"runId,omitempty"`
	Ephemeral bool      `json:"ephemeral,omitempty"`
}

var envelopeKeys = []string{"type", "eventId", "timestamp", "sessionId", "runId", "ephemeral"}

// EventID names the nth event of an audit record.
func EventID(incarnation string, seq int64, n int) string {
	return fmt.Sprintf("%s-%d.%d", incarnation, seq, n)
}

// ParseEventID reads "<generation>-<record>.<n>", "<generation>-<record>" and
// "<record>". Without .n, n is -1: the whole record.
func ParseEventID(id string) (incarnation string, seq int64, n int, err error) {
	text := id
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		incarnation, text = id[:i], id[i+1:]
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
	return incarnation, int64(u), n, nil
}

// MarshalJSON writes the flat form. A field of the type never replaces one of the
// envelope.
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
