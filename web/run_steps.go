package web

import (
	"fmt"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// step is one visit, or one item of it, put together from journal rows.
type step struct {
	node           string
	visit, item    int
	seq            int64 // of its first row: its address
	status         kairos.NodeStatus
	attempts       []attempt
	waits          []kairos.Entry
	started, ended time.Time
	last           kairos.Entry // newest row
	final          *kairos.Entry
}

// attempt is one try of a step.
type attempt struct {
	number         int
	status         kairos.NodeStatus
	started, ended time.Time
	entry          kairos.Entry
	input          kairos.RawJSON
}

// steps folds a journal into what the timeline shows.
func steps(journal []kairos.Entry) []*step {
	type key struct {
		node        string
		visit, item int
	}
	at := map[key]*step{}
	var out []*step
	for _, e := range journal {
		if e.Node == "" || e.Kind == kairos.EntryReset {
			continue
		}
		k := key{e.Node, e.Visit, e.Item}
		st := at[k]
		if st == nil {
			st = &step{node: e.Node, visit: e.Visit, item: e.Item, seq: e.Seq, started: cmpTime(e.StartedAt, e.At)}
			at[k] = st
			out = append(out, st)
		}
		st.add(e)
	}
	return out
}

func cmpTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

func (st *step) add(e kairos.Entry) {
	st.last, st.ended = e, e.At
	switch e.Kind {
	case kairos.EntryIntent:
		st.status = kairos.NodeRunning
		st.final = nil
		st.attempts = append(st.attempts, attempt{number: e.Attempt, status: kairos.NodeRunning, started: cmpTime(e.StartedAt, e.At), entry: e, input: e.Input})
	case kairos.EntryResult:
		st.status = e.Status
		a := attempt{number: e.Attempt, status: e.Status, started: cmpTime(e.StartedAt, e.At), ended: e.At, entry: e, input: e.Input}
		if n := len(st.attempts); n > 0 && st.attempts[n-1].number == e.Attempt {
			if a.input == nil {
				a.input = st.attempts[n-1].input
			}
			st.attempts[n-1] = a
		} else {
			st.attempts = append(st.attempts, a)
		}
		if e.Final {
			st.final = &e
		}
	case kairos.EntryWait:
		st.status = kairos.NodeWaiting
		st.waits = append(st.waits, e)
	case kairos.EntryResolve:
		if e.Final {
			st.status, st.final = e.Status, &e
			st.attempts = append(st.attempts, attempt{number: e.Attempt, status: e.Status, started: e.At, ended: e.At, entry: e})
		}
	}
}

func (st *step) label() string {
	l := st.node
	if st.visit > 1 {
		l += fmt.Sprintf(" #%d", st.visit)
	}
	if st.item >= 0 {
		l += fmt.Sprintf(" [%d]", st.item)
	}
	return l
}
