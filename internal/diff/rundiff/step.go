package rundiff

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// place identifies a visit, or an item of it.
type place struct {
	node        string
	visit, item int
}

// String returns the displayed name of the place.
func (p place) String() string {
	s := p.node
	if p.visit > 1 {
		s += fmt.Sprintf(" #%d", p.visit)
	}
	if p.item >= 0 {
		s += fmt.Sprintf(" [%d]", p.item)
	}
	return s
}

// folded is a step, computed from journal rows.
type folded struct {
	place
	seq            int64
	status         domain.NodeStatus
	attempts       int
	started, ended time.Time
	last           *domain.Entry // newest row, except calls inside an attempt
	final          *domain.Entry
}

// stepsOf folds a journal into its steps, in the order in which they began.
func stepsOf(journal []domain.Entry) []*folded {
	at := map[place]*folded{}
	var out []*folded
	for i := range journal {
		e := &journal[i]
		if e.Node == "" || e.Kind == domain.EntryReset || e.Kind == domain.EntryReplan {
			continue
		}
		p := place{e.Node, e.Visit, e.Item}
		st := at[p]
		if st == nil {
			if e.Kind == domain.EntryResolve && !e.Final {
				continue // a result that was given before the step runs
			}
			st = &folded{place: p, seq: e.Seq, started: e.StartedAt}
			if st.started.IsZero() {
				st.started = e.At
			}
			at[p] = st
			out = append(out, st)
		}
		st.add(e)
	}
	return out
}

func (st *folded) add(e *domain.Entry) {
	st.ended = e.At
	if e.Substep > 0 {
		return
	}
	st.last, st.attempts = e, max(st.attempts, e.Attempt)
	switch e.Kind {
	case domain.EntryIntent:
		st.status, st.final = domain.NodeRunning, nil
	case domain.EntryResult:
		if st.status = e.Status; e.Final {
			st.final = e
		}
	case domain.EntryWait:
		st.status = domain.NodeWaiting
	case domain.EntryResolve:
		if e.Final {
			st.status, st.final = e.Status, e
		}
	}
}

// took returns the total duration, with waits, until now if the step has not ended.
func (st *folded) took(now time.Time) time.Duration {
	until := st.ended
	switch {
	case st.final != nil:
		until = st.final.At
	case st.status == domain.NodeRunning || st.status == domain.NodeWaiting:
		until = now
	}
	return max(until.Sub(st.started), 0)
}

// seen returns the outcome of the step, or nil if the run does not have it.
func (st *folded) seen(now time.Time) *Seen {
	if st == nil {
		return nil
	}
	s := &Seen{Seq: st.seq, Status: st.status, Attempts: st.attempts, TookMs: st.took(now).Milliseconds()}
	if st.last != nil {
		s.Output = st.last.Output
		if f := st.last.Failure; f != nil {
			s.Code, s.Message = f.Code, f.Message
		}
	}
	if st.final != nil {
		var d walk.Decision
		if len(st.final.Decision) > 0 && json.Unmarshal(st.final.Decision, &d) == nil {
			s.To = d.To
		}
	}
	return s
}

// models returns the models that answered the calls of a journal.
func models(journal []domain.Entry) []string {
	var out []string
	for i := range journal {
		e := &journal[i]
		if e.Kind != domain.EntrySubstep || len(e.Output) == 0 {
			continue
		}
		var call struct{ Kind string }
		var answer struct{ Model string }
		if json.Unmarshal(e.Decision, &call) != nil || call.Kind != "model" || json.Unmarshal(e.Output, &answer) != nil {
			continue // an unknown format
		}
		if answer.Model != "" && !slices.Contains(out, answer.Model) {
			out = append(out, answer.Model)
		}
	}
	slices.Sort(out)
	return out
}
