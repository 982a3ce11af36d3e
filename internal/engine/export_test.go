package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// OnFlush sets a function that sees the live state's digest with every
// checkpoint that is handed over.
func (e *Engine) OnFlush(f func(run string, seq int64, digest string)) {
	e.flushed = func(run string, s *runstate.State) { f(run, s.Seq, digest(s)) }
}

// Mail is how many messages wait for a run's goroutine.
func (e *Engine) Mail(run string) int {
	a := e.runs.get(run)
	if a == nil {
		return 0
	}
	a.inbox.mu.Lock()
	defer a.inbox.mu.Unlock()
	return len(a.inbox.mail)
}

// Deferred reports whether a run's goroutine has handled all its messages and
// waits for the store.
func (e *Engine) Deferred(run string) bool {
	a := e.runs.get(run)
	return a != nil && e.Mail(run) == 0 && a.pipe.wakeAt.Load() != math.MaxInt64
}

// Attempts is how many handlers run.
func (e *Engine) Attempts() int {
	n := 0
	for range e.attempts.Range {
		n++
	}
	return n
}

// Runners is how many runs have a goroutine.
func (e *Engine) Runners() int { return e.runs.count() }

// LookAtClock sets how long a clock that jumps forwards may go unnoticed. It is
// called before the engine is opened.
func (e *Engine) LookAtClock(every time.Duration) { e.timers.look = every }

// PutClock puts the machine's clock off by as much as off says from now on. It is
// called before the engine is opened.
func (e *Engine) PutClock(off func() time.Duration) {
	machine := e.clock.machine
	e.clock.machine = func() reading {
		r := machine()
		return reading{r.time.Add(off()), r.passed}
	}
}

// FoldDigest folds the first rows of a journal and returns the state's digest.
func (e *Engine) FoldDigest(p *walk.Program, run domain.Run, rows []domain.Entry) (string, error) {
	input, err := runstate.Decode(run.Input)
	if err != nil {
		return "", err
	}
	f := runstate.Facts{Run: run.ID, Input: input, Program: func(hash string) (*walk.Program, error) { return e.Program(context.Background(), hash) }}
	if hash := runstate.FirstVersion(rows); hash != "" {
		if p, err = f.Program(hash); err != nil {
			return "", err
		}
	}
	s, err := runstate.Fold(p, f, rows)
	if err != nil {
		return "", err
	}
	return digest(s), nil
}

// digest writes down everything that decides how a run goes on. Items that have
// begun without a row are left out: a fold begins them again.
func digest(s *runstate.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seq %d steps %d flags %v %v %v %v %v\n", s.Seq, s.SettledCount, s.Paused, s.Cancelled, s.Quarantined, s.Held, s.Walk.Stopping())
	var lines []string
	for k, w := range s.Open {
		if k.Item != runstate.NoItem && w.Phase == runstate.PhaseReady && w.FailedAttempts == 0 && w.Failure == nil && w.Resolution == nil {
			if w.Attempt > 0 { // before a reset
				lines = append(lines, fmt.Sprintf("past %v %d %d %d %+v", k, w.Attempt, w.Retries, len(w.Substeps), w.Answers))
			}
			continue
		}
		input, failure := s.Walk.Input(k.VisitKey, k.Item)
		failed := ""
		if w.Failure != nil {
			failed = w.Failure.Code
		}
		lines = append(lines, fmt.Sprintf("work %v phase %d attempt %d tries %d retries %d crashes %d reason %s due %s ref %s effect %s failure %s substep %v/%d input %v %v",
			k, w.Phase, w.Attempt, w.FailedAttempts, w.Retries, w.Crashes, w.Reason, w.Due, w.Ref, w.Effect, failed, slices.Sorted(maps.Keys(w.CallsInFlight)), len(w.Substeps), input, failure),
			fmt.Sprintf("consent %+v grants %+v", w.Consent, w.Answers))
	}
	for k, f := range s.Foreach {
		lines = append(lines, fmt.Sprintf("fan %v parked %d", k, f.Parked))
	}
	for k, d := range s.Doubts {
		lines = append(lines, fmt.Sprintf("doubt %v %d %v", k, d.Attempt, d.Resolution))
	}
	for k, p := range s.Carried {
		lines = append(lines, fmt.Sprintf("past %v %d %d %d %+v", k, p.Attempt, p.Retries, len(p.Substeps), p.Answers))
	}
	for i := range s.Program.Nodes {
		status, visits := s.Walk.Status(i)
		out, ok := s.Walk.Output(s.Program.Nodes[i].ID)
		lines = append(lines, fmt.Sprintf("node %s %s %d %v %v", s.Program.Nodes[i].ID, status, visits, out, ok))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, "\n"))
	fmt.Fprintf(&b, "\ncompleted %v\noutcome %+v\n", s.Completed, s.Walk.Outcome())
	return b.String()
}

// Derived gives the events of a stored record.
func (e *Engine) Derived(t interface{ Fatal(args ...any) }, ev domain.AuditEvent) []domain.Event {
	list, err := e.Derive(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
