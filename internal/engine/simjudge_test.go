package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/planner/walk"
)

// judge checks a world in which all goroutines are idle. Every unfinished run has an event that
// will continue it, and every changed run equals the state in its journal.
func (w *world) judge() {
	for _, r := range w.unfinished() {
		w.hasNext(r)
		if r.Parent == nil {
			continue
		}
		if parent, ok := w.run(r.Parent.Run); ok && parent.Status.Final() {
			w.violate("%s is %s, and its run %s is %s", w.name(r.ID), r.Status, w.name(parent.ID), parent.Status)
		}
	}
	w.slots()
	w.oneRunPerSlot()
	for _, id := range w.runs() {
		r, ok := w.run(id)
		if ok {
			w.withinLimits(r)
		}
		if ok && w.seen[id] != r.LastSeq {
			w.seen[id] = r.LastSeq
			w.agrees(r)
		}
	}
	if len(w.violations()) > 0 {
		for _, id := range w.runs() {
			w.journals += fmt.Sprintf("%s:\n%s\n", w.name(id), w.journal(id))
		}
	}
}

// slots checks that every slot is held or promised, and that there are no more slots than the
// limits permit.
func (w *world) slots() {
	load, handlers := w.engine.Load(), w.waiting()
	w.mu.Lock()
	pendingCalls := len(w.pendingCalls) // waiting until other calls have ended
	w.mu.Unlock()
	busy := map[string]bool{}
	for _, p := range handlers {
		busy[p.call.RunID] = true
	}
	if load.Nodes != len(handlers)+pendingCalls || load.Nodes > w.maxNodes {
		w.violate(
			"%d slots of %d for steps are held, %d handlers are at work, and %d wait to begin a call",
			load.Nodes,
			w.maxNodes,
			len(handlers),
			pendingCalls,
		)
	}
	if load.Working < len(busy) || load.Working > len(busy)+load.NodesWaiting || load.Working > w.maxRunning {
		w.violate("%d slots of %d for runs are held, %d runs have handlers at work, and %d wait for a slot for a step",
			load.Working, w.maxRunning, len(busy), load.NodesWaiting)
	}
}

// withinLimits checks that the used amounts of a run and the reserved amounts of its active calls
// never exceed its limits. The limits do not apply to finally steps.
func (w *world) withinLimits(r domain.Run) {
	begun, tokens := map[visitOf]bool{}, r.Usage.InputTokens+r.Usage.OutputTokens
	cost := r.Usage.Cost
	for _, p := range w.waiting() {
		of := p.of()
		if p.call.RunID != r.ID || isFinally(of.node) {
			continue
		}
		of.substep = 0
		begun[of] = true
		tokens += p.tokens
		cost += float64(p.tokens * simPerToken)
	}
	l, steps := r.Limits, r.Steps+int64(len(begun))
	if l.MaxSteps > 0 && steps > l.MaxSteps {
		steps -= w.unlimitedSteps(r.ID)
	}
	if l.MaxSteps > 0 && steps > l.MaxSteps || l.MaxTokens > 0 && tokens > l.MaxTokens || l.MaxCost > 0 && cost > l.MaxCost {
		w.violate("%s has used and reserved %d steps, %d tokens, and %g, and its limits are %+v", w.name(r.ID), steps, tokens, cost, l)
	}
}

// isFinally reports whether a node of a simulated plan is a finally step.
func isFinally(node string) bool { return strings.HasPrefix(node, "f") }

// unlimitedSteps counts the steps of a run that no limit applies to: those that were cancelled before
// they began, and finally steps.
func (w *world) unlimitedSteps(run string) (n int64) {
	rows, err := w.store.Journal(w.ctx(), run, 0)
	if err != nil {
		w.violate("journal of %s: %v", w.name(run), err)
	}
	for _, row := range rows {
		if row.Final && (isFinally(row.Node) || row.Status == domain.NodeCancelled && row.StartedAt.IsZero()) {
			n++
		}
	}
	return n
}

// hasNext checks that an unfinished run is active, or will continue because of a known event.
func (w *world) hasNext(r domain.Run) {
	now, load := time.Now(), w.engine.Load()
	stuck := func(why string) {
		w.violate("%s is stuck: %s %s, due %s, %s", w.name(r.ID), r.Status, r.WaitReason, r.DueAt, why)
	}
	switch r.Status {
	case domain.RunQueued:
		if r.StartAt.After(now) || load.Working >= w.maxRunning || w.keyTaken(r) {
			return
		}
		stuck(fmt.Sprintf("%d of %d runs are at work", load.Working, w.maxRunning))
	case domain.RunRunning:
		// After a start, a run keeps the status running while it waits for a slot.
		if !slices.ContainsFunc(w.waiting(), func(p *parked) bool { return p.call.RunID == r.ID }) && load.Nodes < w.maxNodes &&
			load.Working < w.maxRunning {
			stuck(
				fmt.Sprintf(
					"none of its handlers is at work, and %d of %d runs and %d of %d nodes",
					load.Working,
					w.maxRunning,
					load.Nodes,
					w.maxNodes,
				),
			)
		}
	case domain.RunWaiting:
		d, err := w.engine.Detail(w.ctx(), r.ID)
		if err != nil {
			w.violate("%s cannot be looked at: %v", w.name(r.ID), err)
			return
		}
		if len(d.Waits) == 0 || d.Waits[0].Reason != r.WaitReason {
			stuck(fmt.Sprintf("its journal says that it waits for %+v", d.Waits))
			return
		}
		switch first := d.Waits[0]; r.WaitReason {
		case domain.WaitTimer, domain.WaitRetry:
			if !r.DueAt.After(now) || r.DueAt.After(now.Add(100*time.Hour)) {
				stuck("now is " + now.Format(time.RFC3339Nano))
			}
		case domain.WaitChild:
			if child, ok := w.run(first.Child); !ok || child.Status.Final() {
				stuck("its child is " + string(child.Status))
			}
		case domain.WaitApproval:
			if a, err := w.store.Approval(w.ctx(), first.Approval); err != nil || a.Status != "pending" {
				stuck(fmt.Sprintf("its approval is %q, %v", a.Status, err))
			}
		default:
			if !r.WaitReason.NeedsPerson() {
				stuck("nobody is asked")
			}
		}
	}
}

func (w *world) keyTaken(r domain.Run) bool {
	if r.Concurrency == nil {
		return false
	}
	active, err := w.store.ActiveByConcurrency(w.ctx(), r.Concurrency.Key)
	if err != nil {
		w.violate("active runs: %v", err)
	}
	active = slices.DeleteFunc(
		active,
		func(o domain.Run) bool { return o.ID == r.ID || o.Status == domain.RunQueued && o.StartedAt.IsZero() },
	)
	return len(active) >= max(r.Concurrency.Limit, 1)
}

// agrees checks that the row of a run, its journal, and the engine's state are consistent.
func (w *world) agrees(r domain.Run) {
	rows, err := w.store.Journal(w.ctx(), r.ID, 0)
	if err != nil {
		w.violate("journal of %s: %v", w.name(r.ID), err)
		return
	}
	w.note("  %s is at %d, %s %s", w.name(r.ID), r.LastSeq, r.Status, r.WaitReason)
	steps := int64(0)
	for i, row := range rows {
		if row.Seq != int64(i+1) {
			w.violate("%s: row %d has the number %d", w.name(r.ID), i+1, row.Seq)
		}
		if row.Kind == domain.EntryResult && row.Final {
			steps++
		}
	}
	if r.Status.Final() {
		if r.Paused {
			w.violate("%s is %s and paused", w.name(r.ID), r.Status)
		}
		if open, err := w.store.Approvals(w.ctx(), domain.ApprovalFilter{Run: r.ID, Status: "pending"}); err != nil || len(open.Items) > 0 {
			w.violate("%s is %s and has open approvals: %+v, %v", w.name(r.ID), r.Status, open.Items, err)
		}
		w.replays(r.ID)
	}
	if int64(len(rows)) != r.LastSeq || r.ForkedFrom == "" && steps != r.Steps {
		w.violate("%s is at %d with %d rows, %d steps with %d rows of them", w.name(r.ID), r.LastSeq, len(rows), r.Steps, steps)
	}
	w.mu.Lock()
	live, ok := w.digests[r.ID]
	w.mu.Unlock()
	if !ok || live.seq != r.LastSeq {
		return
	}
	p, err := w.engine.Program(w.ctx(), r.ProgramRef)
	if err != nil {
		w.violate("plan of %s: %v", w.name(r.ID), err)
		return
	}
	if folded, err := w.engine.FoldDigest(p, r, rows); err != nil || folded != live.digest {
		w.violate(
			"%s: what is in memory and what the journal says differ at %d, %v\n%s\n%s",
			w.name(r.ID),
			r.LastSeq,
			err,
			live.digest,
			folded,
		)
	}
}

// examine checks the database after a power cut. All acknowledged data must be there, and the
// integrity check must find nothing.
func (w *world) examine() {
	w.mu.Lock()
	acks := slices.Clone(w.acks)
	w.mu.Unlock()
	want := map[string]int64{}
	for _, a := range acks {
		want[a.run] = max(want[a.run], a.seq)
	}
	for id, seq := range want {
		if r, ok := w.run(id); !ok || r.LastSeq < seq {
			w.violate("%s: %d was acknowledged, %d is there", w.name(id), seq, r.LastSeq)
		}
	}
	w.verify()
}

// verify checks the whole database: pages, keys, journals, values, counters, and the audit chain.
func (w *world) verify() {
	checks, err := recovery.Verify(w.ctx(), w.store)
	if err != nil {
		w.violate("examine the database: %v", err)
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			w.violate("%s: %s", c.Name, strings.Join(c.Problems, "; "))
		}
	}
}

// runs lists all requested runs by name.
func (w *world) runs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]string, 0, len(w.names))
	for id := range w.names {
		list = append(list, id)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(w.names[a], w.names[b]) })
	return list
}

func (w *world) run(id string) (domain.Run, bool) {
	r, err := w.store.Run(w.ctx(), id)
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		w.violate("run %s: %v", w.name(id), err)
	}
	return r, err == nil
}

func (w *world) unfinished() []domain.Run {
	list, err := w.store.Unfinished(w.ctx())
	if err != nil {
		w.violate("unfinished runs: %v", err)
	}
	slices.SortFunc(list, func(a, b domain.Run) int { return cmp.Compare(w.name(a.ID), w.name(b.ID)) })
	return list
}

// nextDue returns the time of the next automatic event.
func (w *world) nextDue() time.Time {
	var due time.Time
	for _, r := range w.unfinished() {
		at := r.DueAt
		if r.Status == domain.RunQueued {
			at = r.StartAt
		}
		if !at.IsZero() && !r.Paused && (due.IsZero() || at.Before(due)) && at.After(time.Now().Add(-time.Millisecond)) {
			due = at
		}
	}
	if soon := time.Now().Add(time.Millisecond); !due.IsZero() && due.Before(soon) {
		due = soon // an alarm may fire a fraction of a millisecond late
	}
	return due
}

// failureOf returns the code of the failure in a row, or an empty text.
func failureOf(r domain.Entry) string {
	if r.Failure == nil {
		return ""
	}
	return r.Failure.Code
}

func (w *world) journal(id string) string {
	rows, err := w.store.Journal(w.ctx(), id, 0)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range rows {
		final := ""
		if r.Final {
			final = " final"
		}
		fmt.Fprintf(
			&b,
			"%d %s%s %s#%d[%d] attempt %d %s %s %s %s %s\n",
			r.Seq,
			r.Kind,
			final,
			r.Node,
			r.Visit,
			r.Item,
			r.Attempt,
			r.Status,
			failureOf(r),
			r.Reason,
			r.Output,
			r.Decision,
		)
	}
	return b.String()
}

func (w *world) outcome(id string) outcome {
	r, err := w.engine.Result(w.ctx(), id)
	if err != nil {
		w.violate("result of %s: %v", w.name(id), err)
	}
	return outcomeOf(r)
}

// changed reports whether a person, a deadline, or a simulated outage changed the course of a run
// or of its children.
func (w *world) changed(id string) bool {
	if w.tampered[id] {
		return true
	}
	for _, run := range w.runs() {
		if w.root(run) != id {
			continue
		}
		rows, err := w.store.Journal(w.ctx(), run, 0)
		if err != nil {
			continue // the database was reset to a state before this child was created
		}
		for _, r := range rows {
			if r.Final && r.Failure != nil && (r.Failure.Code == codeWeather || r.Failure.Code == walk.CodeTimeout) ||
				r.Kind == domain.EntryResolve && strings.Contains(string(r.Decision), "expired") ||
				r.Status == domain.NodeCancelled && isFinally(r.Node) { // a cancelled finally step: the outcome stays
				return true
			}
		}
	}
	return false
}
