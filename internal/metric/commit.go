package metric

import (
	"encoding/json"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Batch records a transaction of the store: the number of durable writes, and its duration. The
// writer's goroutine calls it.
func (r *Recorder) Batch(writes int, took time.Duration) {
	r.commits.Observe(took.Seconds())
	r.batches.Observe(float64(writes))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.commits.add(took)
	r.now.writes += int64(writes)
}

// HandleCommit counts the content of a commit. The store's writer calls it in commit order; it does
// not block.
func (r *Recorder) HandleCommit(events []domain.AuditEvent) {
	var m minute
	for i := range events {
		ev := &events[i]
		for j := range ev.Entries {
			r.entry(&ev.Entries[j], &m)
		}
		switch ev.Action {
		case "run.created":
			r.begin(ev)
			m.created++
		case "run.status":
			r.status(ev, &m)
		}
	}
	r.mu.Lock()
	r.now.add(&m)
	r.mu.Unlock()
	if r.tracer != nil {
		r.tracer.offer(events)
	}
}

// entry counts a journal row.
func (r *Recorder) entry(e *domain.Entry, m *minute) {
	switch e.Kind {
	case domain.EntryResult:
		c := r.nodes[e.Status]
		if c == nil {
			return // interrupted by a crash; the attempt runs again
		}
		c.Inc()
		m.nodes++
		if !e.StartedAt.IsZero() {
			r.nodeFor.Observe(e.At.Sub(e.StartedAt).Seconds())
		}
	case domain.EntrySubstep:
		r.calls.WithLabelValues(callKind(callOf(e)), string(e.Status)).Inc()
	case domain.EntryWait:
		if e.Reason == string(domain.WaitRetry) {
			r.retries.Inc()
		}
	}
	if !e.Usage.Zero() {
		r.tokens.in.Add(float64(max(e.Usage.InputTokens, 0)))
		r.tokens.out.Add(float64(max(e.Usage.OutputTokens, 0)))
		r.cost.Add(max(e.Usage.Cost, 0))
	}
}

// callOf returns the kind of a substep: "model", "tool:NAME", or another kind.
func callOf(e *domain.Entry) string {
	var p struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(e.Decision, &p) != nil {
		return ""
	}
	return p.Kind
}

// callKind returns the label of a call. It leaves out the names of tools, because they come from
// plans and servers, and one counter per name would grow without limit.
func callKind(call string) string {
	switch {
	case call == "model":
		return "model"
	case len(call) > 5 && call[:5] == "tool:":
		return "tool"
	}
	return "other"
}

func (r *Recorder) begin(ev *domain.AuditEvent) {
	r.created.Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.since) < maxBegun {
		r.since[ev.Run] = ev.At
	}
}

func (r *Recorder) status(ev *domain.AuditEvent, m *minute) {
	var d struct {
		Status domain.RunStatus `json:"status"`
	}
	if json.Unmarshal(ev.Detail, &d) != nil || !d.Status.Final() {
		return
	}
	if c := r.ended[d.Status]; c != nil {
		c.Inc()
	}
	m.ended++
	if d.Status == domain.RunFailed {
		m.failed++
	}
	r.mu.Lock()
	began, known := r.since[ev.Run]
	delete(r.since, ev.Run)
	r.mu.Unlock()
	if known {
		r.took.Observe(ev.At.Sub(began).Seconds())
	}
}
