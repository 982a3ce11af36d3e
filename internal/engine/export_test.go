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
	"github.com/kairosd/kairosd/planner"
)

// OnFlush sets a function that sees the live state's digest with every
// checkpoint that is handed over.
func (e *Engine) OnFlush(f func(run string, seq int64, digest string)) {
	e.flushed = func(run string, s *state) { f(run, s.seq, digest(s)) }
}

// Mail is how many messages wait for a run's goroutine.
func (e *Engine) Mail(run string) int {
	e.mu.Lock()
	a := e.actors[run]
	e.mu.Unlock()
	if a == nil {
		return 0
	}
	a.mailMu.Lock()
	defer a.mailMu.Unlock()
	return len(a.mail)
}

// Deferred reports whether a run's goroutine has handled all its messages and
// waits for the store.
func (e *Engine) Deferred(run string) bool {
	e.mu.Lock()
	a := e.actors[run]
	e.mu.Unlock()
	return a != nil && e.Mail(run) == 0 && a.wakeAt.Load() != math.MaxInt64
}

// Attempts is how many handlers run.
func (e *Engine) Attempts() int {
	n := 0
	for range e.attempts.Range {
		n++
	}
	return n
}

// Actors is how many runs have a goroutine.
func (e *Engine) Actors() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.actors)
}

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
func (e *Engine) FoldDigest(p *planner.Program, run domain.Run, rows []domain.Entry) (string, error) {
	input, err := decode(run.Input)
	if err != nil {
		return "", err
	}
	f := facts{run: run.ID, input: input, program: func(hash string) (*planner.Program, error) { return e.Program(context.Background(), hash) }}
	if hash := firstVersion(rows); hash != "" {
		if p, err = f.program(hash); err != nil {
			return "", err
		}
	}
	s, err := fold(p, f, rows)
	if err != nil {
		return "", err
	}
	return digest(s), nil
}

// digest writes down everything that decides how a run goes on. Items that have
// begun without a row are left out: a fold begins them again.
func digest(s *state) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seq %d steps %d flags %v %v %v %v %v\n", s.seq, s.steps, s.paused, s.cancelled, s.quarantined, s.held, s.walk.Stopping())
	var lines []string
	for k, w := range s.work {
		if k.item != noItem && w.phase == phaseReady && w.tries == 0 && w.failure == nil && w.answer == nil {
			if w.attempt > 0 { // before a reset
				lines = append(lines, fmt.Sprintf("past %v %d %d %d %+v", k, w.attempt, w.retries, len(w.substeps), w.grants))
			}
			continue
		}
		input, failure := s.walk.Input(k.VisitKey, k.item)
		failed := ""
		if w.failure != nil {
			failed = w.failure.Code
		}
		lines = append(lines, fmt.Sprintf("work %v phase %d attempt %d tries %d retries %d crashes %d reason %s due %s ref %s effect %s failure %s substep %v/%d input %v %v",
			k, w.phase, w.attempt, w.tries, w.retries, w.crashes, w.reason, w.due, w.ref, w.effect, failed, slices.Sorted(maps.Keys(w.flying)), len(w.substeps), input, failure),
			fmt.Sprintf("consent %+v grants %+v", w.consent, w.grants))
	}
	for k, f := range s.fans {
		lines = append(lines, fmt.Sprintf("fan %v parked %d", k, f.parked))
	}
	for k, d := range s.doubts {
		lines = append(lines, fmt.Sprintf("doubt %v %d %v", k, d.attempt, d.answer))
	}
	for k, p := range s.past {
		lines = append(lines, fmt.Sprintf("past %v %d %d %d %+v", k, p.attempt, p.retries, len(p.substeps), p.grants))
	}
	for i := range s.prog.Nodes {
		status, visits := s.walk.Status(i)
		out, ok := s.walk.Output(s.prog.Nodes[i].ID)
		lines = append(lines, fmt.Sprintf("node %s %s %d %v %v", s.prog.Nodes[i].ID, status, visits, out, ok))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, "\n"))
	fmt.Fprintf(&b, "\ncompleted %v\noutcome %+v\n", s.completed, s.walk.Outcome())
	return b.String()
}

// Derived gives the events of a stored record.
func (e *Engine) Derived(t interface{ Fatal(args ...any) }, ev domain.AuditEvent) []domain.Event {
	list, err := e.derive(context.Background(), ev)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
