package runstate

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// carryover returns what a resume inherits from the step after its final row e. A cancelled attempt
// continues after all recorded sub-steps, and a failed one like a retry.
func (w *Step) carryover(e *domain.Entry) Carryover {
	if e.Status == domain.NodeFailed {
		w.forgetSubsteps()
	}
	delete(w.Substeps, ReplanSubstep) // another failure needs another plan
	p := Carryover{Attempt: max(w.Attempt, e.Attempt), Retries: w.Retries, Failures: w.Failures, Substeps: w.Substeps}
	for n, g := range w.Answers {
		if _, made := w.Substeps[n]; made {
			if p.Answers == nil {
				p.Answers = map[int]ConsentAnswer{}
			}
			p.Answers[n] = g
		}
	}
	return p
}

// forgetSubsteps drops the sub-steps that a retry after an error repeats. The consent to the call
// of the node holds for all attempts of the visit. After a completed non-idempotent call, the retry
// repeats nothing, because that call would be sent again. It continues after the recorded
// sub-steps, and repeats only the failed model call.
func (w *Step) forgetSubsteps() {
	w.Failures++
	for _, e := range w.Substeps {
		if e.Effect != string(walk.EffectUnsafe) || e.Status != domain.NodeCompleted {
			continue
		}
		maps.DeleteFunc(w.Substeps, func(_ int, e domain.Entry) bool {
			return e.Status == domain.NodeFailed &&
				SubstepKind(&e) == kindModel
		})
		return
	}
	w.Substeps = nil
	for n := range w.Answers {
		if n > 0 {
			delete(w.Answers, n)
		}
	}
}

// forgetEarlier drops what earlier visits of a node left for a resume, because a reset only reopens
// the last visit of a node.
func forgetEarlier(s *State, v walk.VisitKey) {
	switch {
	case len(s.Carried) == 0 || v.Visit == 1:
	case s.Program.Nodes[v.Node].Foreach == nil:
		delete(s.Carried, StepKey{walk.VisitKey{Node: v.Node, Visit: v.Visit - 1}, NoItem})
	default:
		maps.DeleteFunc(s.Carried, func(k StepKey, _ Carryover) bool { return k.Node == v.Node && k.Visit < v.Visit })
	}
}

// openReady opens the visits that the walk opened.
func (s *State) openReady() {
	for _, v := range s.Walk.Ready() {
		s.opened++
		forgetEarlier(s, v)
		if s.Program.Nodes[v.Node].Foreach != nil {
			s.Foreach[v] = &Foreach{VisitKey: v, order: s.opened, Total: -1}
			s.NewlyReady = append(s.NewlyReady, StepKey{v, NoItem})
			continue
		}
		s.open(StepKey{v, NoItem})
	}
}

func (s *State) open(k StepKey) *Step {
	s.opened++
	w := &Step{StepKey: k, Order: s.opened}
	if p, ok := s.Carried[k]; ok {
		w.Attempt, w.Retries, w.Failures, w.Substeps, w.Answers = p.Attempt, p.Retries, p.Failures, p.Substeps, p.Answers
		delete(s.Carried, k)
	}
	w.Resolution = s.resolutionOf(k)
	delete(s.Doubts, k)
	s.Open[k] = w
	s.NewlyReady = append(s.NewlyReady, k)
	return w
}

// AfterReset opens what a reset of the walk reopened, and removes it from the settled visits.
func (s *State) AfterReset(r walk.Reset) {
	s.Cancelled, s.stopMark, s.Budget = false, 0, nil
	s.Paused, s.Only, s.overrides = false, nil, nil
	undone := undoneVisits(s, &r)
	for _, list := range [][]walk.ResetVisit{r.Reopened, r.Forgotten} {
		for _, v := range list {
			extendHistory(s, uint64(s.Program.Index[v.Node]), uint64(v.Visit))
		}
	}
	s.Settled = slices.DeleteFunc(s.Settled, func(d Settled) bool { return undone[walk.VisitKey{Node: d.Node, Visit: d.Visit}] })
	for v := range undone {
		if c := s.Completed[v.Node]; v.Visit > 0 && c[0].visit == v.Visit {
			s.Completed[v.Node] = [2]Completion{c[1], {}}
		}
	}
	renameForgotten(s, &r)
	s.openReady()
}

// renameForgotten gives other idempotency keys to the nodes that a reset forgot. They ran because of a failure, and
// run again for another one. The visits of finally steps count on, which has the same effect.
func renameForgotten(s *State, r *walk.Reset) {
	for _, v := range r.Forgotten {
		if v.Visit == 0 || s.Program.Nodes[s.Program.Index[v.Node]].Finally {
			continue
		}
		if s.redefined == nil {
			s.redefined = map[string]int64{}
		}
		s.redefined[v.Node] = s.Seq + 1 // of the row of the reset
	}
}

// undoneVisits returns the set of visits that a reset undoes.
func undoneVisits(s *State, r *walk.Reset) map[walk.VisitKey]bool {
	set := map[walk.VisitKey]bool{}
	for _, list := range [][]walk.ResetVisit{r.Reopened, r.Forgotten} {
		for _, v := range list {
			set[walk.VisitKey{Node: s.Program.Index[v.Node], Visit: v.Visit}] = true
		}
	}
	return set
}

// EnsureOpen returns the open step. It begins the step if it is an item of an open foreach visit.
// It returns nil if the visit is not open.
func (s *State) EnsureOpen(k StepKey) *Step {
	if w := s.Open[k]; w != nil {
		return w
	}
	f := s.Foreach[k.VisitKey]
	if f == nil || k.Item == NoItem {
		return nil
	}
	s.Walk.StartItem(k.VisitKey, k.Item)
	f.OpenItems++
	return s.open(k)
}

// StartNextItem begins the next item of a foreach visit. It returns nil if none is left.
func (s *State) StartNextItem(f *Foreach) *Step {
	i := s.Walk.NextItem(f.VisitKey)
	if i < 0 {
		f.BegunAll = true
		return nil
	}
	f.OpenItems++
	return s.open(StepKey{f.VisitKey, i})
}

// applyOptions applies the options of a resume.
func applyOptions(s *State, o *ResumeOptions) {
	if o == nil {
		return
	}
	if o.Timeout > 0 || o.Attempts > 0 {
		if s.overrides == nil {
			s.overrides = map[walk.VisitKey]override{}
		}
		for _, n := range o.Reopened {
			s.overrides[s.Find(n).VisitKey] = override{o.Timeout, o.Attempts}
		}
	}
	if o.Only != nil {
		s.Only = map[walk.VisitKey]bool{s.Find(*o.Only).VisitKey: true}
	}
}

// closeOnly records that a visit has settled. After the last visit of a limited resume, the run
// pauses unless it has ended.
func (s *State) closeOnly(v walk.VisitKey) {
	delete(s.overrides, v)
	if !s.Only[v] {
		return
	}
	if delete(s.Only, v); len(s.Only) == 0 && !s.Cancelled && !s.Walk.Outcome().Done {
		s.Paused = true
	}
}
