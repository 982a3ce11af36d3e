// Package handoff describes handoffs between agents: the data, the tools, and the result. The
// dashboard and the API use it, so that they agree.
package handoff

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Run is the data from which the handoffs of a run are derived.
type Run struct {
	run     domain.Run
	journal []domain.Entry
	steps   map[step][]*domain.Entry
	answers map[string]*domain.AgentMessage // by the request that they answer
}

// step identifies a visit, or an item of it.
type step struct {
	node        string
	visit, item int
}

func stepOf(e *domain.Entry) step { return step{e.Node, e.Visit, e.Item} }

// In indexes a run and the messages of its agents.
func In(d domain.RunDetail, messages []domain.AgentMessage) *Run {
	r := &Run{run: d.Run, journal: d.Journal, steps: map[step][]*domain.Entry{}, answers: map[string]*domain.AgentMessage{}}
	for i := range d.Journal {
		if e := &d.Journal[i]; e.Node != "" {
			r.steps[stepOf(e)] = append(r.steps[stepOf(e)], e)
		}
	}
	for i := range messages {
		if m := &messages[i]; m.Type == domain.MessageResponse || m.Type == domain.MessageError {
			r.answers[m.CorrelationID] = m
		}
	}
	return r
}

// Of describes one handoff of the run.
func (r *Run) Of(h domain.Handoff, now time.Time) domain.HandoffDetail {
	d := domain.HandoffDetail{HandoffSummary: domain.HandoffSummary{Handoff: h, Plan: r.run.Plan()}, Tools: []string{}}
	if row := r.row(h.Seq); row != nil && row.Node == h.Node {
		later := r.after(row)
		d.Receiver = r.place(stepOf(row))
		d.Given = given(row)
		d.Tools = append(d.Tools, granted(later, h.To)...)
		if row.Substep > 0 {
			d.Giver = d.Receiver // one step contains both agents
			r.answered(&d, later)
		} else {
			d.Giver = r.giver(h)
			r.settled(&d, later)
		}
	}
	switch {
	case d.Status != "":
	case r.run.EndedAt.IsZero():
		d.Status = "open"
	default:
		d.Status, d.EndedAt = "failed", r.run.EndedAt
	}
	until := d.EndedAt
	if until.IsZero() {
		until = now
	}
	d.TookMs = max(0, until.Sub(h.At).Milliseconds())
	passed := []byte(h.Context)
	if d.Given != nil {
		passed = d.Given
	}
	if d.Size = len(passed); d.Size > 0 {
		sum := sha256.Sum256(passed)
		d.SHA256 = hex.EncodeToString(sum[:])
	}
	return d
}

// Refused is a handoff that an agent requested and kairosd rejected.
type Refused struct {
	Seq         int64
	From, To    string
	Node        string
	Reason      string // the agent's reason
	Explanation string
	At          time.Time
	Failure     *domain.Failure // the reason of the rejection
}

// Refused lists the rejected handoffs of the run, in order.
func (r *Run) Refused() []Refused {
	var out []Refused
	for i := range r.journal {
		e := &r.journal[i]
		if e.Failure == nil || !strings.HasPrefix(kindOf(e), "handoff:") {
			continue
		}
		var requests struct{ From, To, Reason, Explanation string }
		if json.Unmarshal(e.Input, &requests) != nil {
			continue
		}
		out = append(out, Refused{e.Seq, requests.From, requests.To, e.Node, requests.Reason, requests.Explanation, e.At, e.Failure})
	}
	return out
}

func (r *Run) row(seq int64) *domain.Entry {
	if seq < 1 || seq > int64(len(r.journal)) {
		return nil
	}
	return &r.journal[seq-1]
}

// after returns the later rows of the same step.
func (r *Run) after(row *domain.Entry) []*domain.Entry {
	rows := r.steps[stepOf(row)]
	i := slices.IndexFunc(rows, func(e *domain.Entry) bool { return e.Seq > row.Seq })
	if i < 0 {
		return nil
	}
	return rows[i:]
}

func (r *Run) place(s step) *domain.HandoffStep {
	return &domain.HandoffStep{Node: s.node, Visit: s.visit, Item: s.item, Seq: r.steps[s][0].Seq}
}

// giver returns the last step that the giver finished before the handoff. It is nil for a
// supervisor that assigns the first step.
func (r *Run) giver(h domain.Handoff) *domain.HandoffStep {
	for _, e := range slices.Backward(r.journal[:h.Seq-1]) {
		if e.Final && e.Agent == h.From {
			return r.place(stepOf(&e))
		}
	}
	return nil
}

// given returns the passed data: the payload of a request inside a step, or the input of the step.
func given(row *domain.Entry) domain.RawJSON {
	if row.Substep == 0 {
		return row.Input
	}
	var p struct {
		Request struct {
			Payload domain.RawJSON `json:"payload"`
		} `json:"request"`
	}
	if json.Unmarshal(row.Input, &p) != nil || string(p.Request.Payload) == "null" {
		return nil
	}
	return p.Request.Payload
}

// granted returns the tools that the first recorded model call of the receiver offered.
func granted(rows []*domain.Entry, to string) []string {
	for _, e := range rows {
		if a, tools := modelCallOf(e); a == to {
			return tools
		}
	}
	return nil
}

// modelCallOf returns the agent and the tools of a model call's row. The agent is "" for another
// row.
func modelCallOf(e *domain.Entry) (agent string, tools []string) {
	var q struct {
		Agent string
		Tools []string
	}
	if len(e.Input) == 0 || kindOf(e) != "model" || json.Unmarshal(e.Input, &q) != nil {
		return "", nil
	}
	return q.Agent, q.Tools
}

// kindOf returns the kind of a conversation's row.
func kindOf(e *domain.Entry) string {
	if e.Kind != domain.EntrySubstep {
		if e.Kind == domain.EntryResult && !e.Usage.Zero() {
			return "model" // the only call of a step without a conversation
		}
		return ""
	}
	var p struct{ Kind string }
	if json.Unmarshal(e.Decision, &p) != nil {
		return ""
	}
	return p.Kind
}

// answered sets the result of a handoff inside a step: the receiver's response, or else the outcome
// of the step.
func (r *Run) answered(d *domain.HandoffDetail, later []*domain.Entry) {
	m := r.answers[d.ID+":request"]
	if m == nil {
		r.settled(d, later)
		return
	}
	d.Status, d.EndedAt = "returned", m.Metadata.Timestamp
	if m.Type == domain.MessageError {
		d.Status = "failed"
	}
	if row := r.row(m.Seq); row != nil && row.Node == d.Node {
		d.Result, d.Failure, d.EndedAt = row.Output, row.Failure, row.At
	}
	for _, e := range later {
		if agent, _ := modelCallOf(e); e.Seq < m.Seq && agent == d.To {
			d.Usage = d.Usage.Add(e.Usage)
		}
	}
}

// settled sets the outcome of the step that was handed off.
func (r *Run) settled(d *domain.HandoffDetail, later []*domain.Entry) {
	for _, e := range later {
		d.Usage = d.Usage.Add(e.Usage)
		if !e.Final {
			continue
		}
		d.Status, d.EndedAt, d.Result, d.Failure = "returned", e.At, e.Output, e.Failure
		if e.Status == domain.NodeFailed || e.Status == domain.NodeCancelled {
			d.Status = "failed"
		}
		return
	}
}

// Short returns a short name of a handoff for people.
func Short(h domain.Handoff) string { return strings.TrimSpace(h.From + " → " + h.To) }
