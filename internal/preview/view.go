package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// View is a run with its folded journal. Methods that change its State document it.
type View struct {
	Env     *Env
	Run     domain.Run
	Program *runstate.Compiled
	Journal []domain.Entry
	State   *runstate.State
	// Damage describes a damaged journal. It is nil for an intact one. With damage, Journal and
	// State contain the rows before it, and After the intact rows after it.
	Damage *domain.Damage
	After  []domain.Entry
}

// lists are the steps of a preview, by what happens to them.
type lists struct {
	keep, again, fresh, doubt, dropped, effects, later, given []domain.PreviewStep
}

// fill puts the lists into a preview and seals it with its digest.
func (l lists) fill(p *domain.Preview) {
	some := func(s []domain.PreviewStep) []domain.PreviewStep {
		if s == nil {
			return []domain.PreviewStep{}
		}
		return s
	}
	p.Keep, p.Again, p.New = some(l.keep), some(l.again), some(l.fresh)
	p.InDoubt, p.Dropped, p.Effects = some(l.doubt), some(l.dropped), some(l.effects)
	p.Later, p.Given = l.later, l.given
	p.Digest = seal(*p)
}

// fillResume is fill for a resume, which keeps every settled step. In the digest, the history of
// the state represents those steps. The runner of a long run does not keep its history, and
// computes the same digest.
func (l lists) fillResume(p *domain.Preview, settled []domain.PreviewStep, history uint64) {
	answered := l.keep
	l.keep = append(settled, answered...)
	l.fill(p)
	sealed := *p
	sealed.Keep = answered
	p.Digest = digestOf(seal(sealed), strconv.FormatUint(history, 16))
}

// seal is the digest of a preview.
func seal(sealed domain.Preview) string {
	sealed.Rev, sealed.Digest, sealed.Points = 0, "", nil
	sum := sha256.Sum256(runstate.MustJSON(sealed))
	return hex.EncodeToString(sum[:])
}

// touches reports whether a node with this effect can have side effects in other systems.
func touches(e walk.Effect) bool {
	return e == walk.EffectIdempotent || e == walk.EffectUnsafe
}

// outlook returns what a state leads to: which nodes run when it is set going. seen
// returns how often a node ran before.
func (v *View) outlook(p *runstate.Compiled, s *runstate.State, seen map[string]int, why map[string]domain.Message) lists {
	var l lists
	add := func(i, visit int, items []int, reason domain.Message) {
		n := &p.Nodes[i]
		step := domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n)),
			Items: items, Reason: reason}
		if r, ok := why[n.ID]; ok && reason.IsZero() {
			step.Reason = r
		}
		if seen[n.ID] > 0 {
			l.again = append(l.again, step)
		} else {
			l.fresh = append(l.fresh, step)
		}
		if touches(walk.Effect(step.Effect)) {
			l.effects = append(l.effects, step)
		}
	}
	listed := map[int]bool{}
	reach := map[int]bool{}
	var queue []int
	from := func(i int) {
		queue = append(queue, i)
	}
	items := map[walk.VisitKey][]int{}
	left := v.Env.Unattended(v.Run) && !v.Env.Executes(v.Run.ID)
	doubtful := func(w *runstate.Step) bool {
		// Steps that another process left in flight are settled first when the run is loaded.
		return w.Phase == runstate.PhaseInDoubt && w.Resolution == nil || left && w.InFlight() && v.Env.LostOutcome(p.Program, w,
			s.Cancelled) == runstate.OutcomeInDoubt
	}
	for _, w := range s.OpenSteps() {
		if w.Item != runstate.NoItem {
			items[w.VisitKey] = append(items[w.VisitKey], w.Item)
			continue
		}
		if doubtful(w) {
			l.doubt = append(l.doubt, v.doubtStep(p, w))
			from(w.Node)
			continue
		}
		if w.Resolution != nil && w.Resolution.Given != "" {
			l.given = append(l.given, v.givenStep(p, w.Node, w.Visit, w.Resolution.Given))
			from(w.Node)
			continue
		}
		if w.Resolution != nil && w.Resolution.Action != runstate.ActionRetry {
			l.keep = append(l.keep, v.answeredStep(p, w)) // it does not run
			from(w.Node)
			continue
		}
		listed[w.Node] = true
		add(w.Node, w.Visit, nil, domain.Message{})
		from(w.Node)
	}
	for _, w := range s.OpenSteps() {
		if w.Item != runstate.NoItem && doubtful(w) {
			l.doubt = append(l.doubt, v.doubtStep(p, w))
		}
	}
	for _, k := range s.OpenForeach() {
		given, runs := s.GivenItems(k)
		for _, why := range slices.Sorted(maps.Keys(given)) {
			step := v.givenStep(p, k.Node, k.Visit, why)
			step.Items = given[why]
			l.given = append(l.given, step)
		}
		if !listed[k.Node] && (runs || len(given) == 0) {
			listed[k.Node] = true
			add(k.Node, k.Visit, slices.DeleteFunc(items[k], func(i int) bool {
				return s.GivenReason(runstate.StepKey{VisitKey: k,
					Item: i}) != ""
			}), domain.Message{})
		}
		from(k.Node)
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		next := func(j int) {
			if !reach[j] && v.mayRun(p, s, j) {
				reach[j] = true
				queue = append(queue, j)
			}
		}
		for _, e := range p.Nodes[i].Out {
			if e.To != walk.End {
				next(e.To)
			}
		}
		for _, j := range p.Nodes[i].Dependents {
			next(j)
		}
	}
	for _, j := range p.Finally {
		if !s.Walk.Finishing() && !reach[j] && v.mayRun(p, s, j) { // they run when all others have ended
			reach[j] = true
			queue = append(queue, j)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, j := range p.Nodes[queue[0]].Dependents {
			if !reach[j] && v.mayRun(p, s, j) {
				reach[j] = true
				queue = append(queue, j)
			}
		}
	}
	ahead, some := map[int]string{}, map[int]map[string][]int{} // the reasons why unopened steps or items have a result
	for k, d := range s.Doubts {
		switch {
		case d.Resolution == nil || d.Resolution.Given == "" || p.Nodes[k.Node].OnCycle:
		case k.Item == runstate.NoItem:
			ahead[k.Node] = d.Resolution.Given
		default:
			if some[k.Node] == nil {
				some[k.Node] = map[string][]int{}
			}
			some[k.Node][d.Resolution.Given] = append(some[k.Node][d.Resolution.Given], k.Item)
		}
	}
	for i := range p.Nodes {
		if reach[i] && ahead[i] == "" {
			for _, why := range slices.Sorted(maps.Keys(some[i])) { // the list may turn out to be longer: the node is named as running too
				step := v.givenStep(p, i, 0, why)
				step.Items = slices.Sorted(slices.Values(some[i][why]))
				l.given = append(l.given, step)
			}
		}
		switch {
		case !reach[i]:
		case ahead[i] != "":
			l.given = append(l.given, v.givenStep(p, i, 0, ahead[i]))
		case listed[i]:
			add(i, 0, nil, domain.Messagef("the loop may repeat"))
		default:
			add(i, 0, nil, domain.Message{})
		}
	}
	return l
}

// mayRun reports whether another visit of a node can begin: of one that has settled, skipped ones
// included, only inside a loop and within its bound. A finally step may have run at an earlier end.
func (v *View) mayRun(p *runstate.Compiled, s *runstate.State, i int) bool {
	n := &p.Nodes[i]
	status, visits := s.Walk.Status(i)
	if n.OnCycle {
		return visits < n.MaxVisits
	}
	if n.Finally {
		return status == "" && !slices.ContainsFunc(s.Walk.Open(), func(k walk.VisitKey) bool { return k.Node == i })
	}
	return status == "" && visits == 0
}

// answeredStep is a visit that a person's word settles.
func (v *View) answeredStep(p *runstate.Compiled, w *runstate.Step) domain.PreviewStep {
	n := &p.Nodes[w.Node]
	step := domain.PreviewStep{Node: n.ID, Visit: w.Visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n))}
	switch w.Resolution.Action {
	case runstate.ActionHappened:
		step.Status, step.Reason = domain.NodeCompleted, domain.Messagef(runstate.ReasonHappened)
	case runstate.ActionSkip:
		step.Status, step.Reason = domain.NodeSkipped, domain.Messagef(runstate.ReasonSkipped)
	case runstate.ActionFail:
		step.Status, step.Reason = domain.NodeFailed, domain.Messagef(runstate.ReasonFailed)
	}
	return step
}

// givenStep is a visit whose result is there before it runs.
func (v *View) givenStep(p *runstate.Compiled, node, visit int, why string) domain.PreviewStep {
	n := &p.Nodes[node]
	return domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n)),
		Status: domain.NodeCompleted, Reason: domain.Messagef(why)}
}

func (v *View) doubtStep(p *runstate.Compiled, w *runstate.Step) domain.PreviewStep {
	n := &p.Nodes[w.Node]
	step := domain.PreviewStep{Node: n.ID, Visit: w.Visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p, n)),
		Status: domain.NodeInDoubt,
		Reason: domain.Messagef("first state whether it happened")}
	if w.Item != runstate.NoItem {
		step.Items = []int{w.Item}
	}
	return step
}

// seen counts the rows of each node that began to run, as far as any row shows.
func (v *View) seen() map[string]int {
	seen := ran(v.Journal)
	if v.Damage != nil {
		for _, s := range v.Damage.Steps {
			seen[s.Node]++
		}
	}
	return seen
}

// ran counts how often each node started. A step that was cancelled before its first attempt does
// not count.
func ran(journal []domain.Entry) map[string]int {
	seen := map[string]int{}
	for i := range journal {
		switch e := &journal[i]; e.Kind {
		case domain.EntryIntent, domain.EntryResult, domain.EntryWait:
			if e.Node != "" && e.Status != domain.NodeSkipped && !(e.Status == domain.NodeCancelled && e.Attempt == 0) {
				seen[e.Node]++
			}
		}
	}
	return seen
}

// kept lists visits that are settled and stay so.
func (v *View) kept(p *runstate.Compiled, s *runstate.State) []domain.PreviewStep {
	var list []domain.PreviewStep
	for _, d := range s.Settled {
		n := &p.Nodes[d.Node]
		if d.Visit == 0 {
			continue // skipped without having run
		}
		list = append(list, domain.PreviewStep{Node: n.ID, Visit: d.Visit, Type: n.TypeName, Effect: string(v.Env.StaticEffect(p,
			n)), Status: d.Status})
	}
	return list
}

// blank is a preview without content yet.
func (v *View) blank(action domain.Action) domain.Preview {
	return domain.Preview{Run: v.Run.ID, Action: action, Rev: v.Run.LastSeq, Hash: v.Run.Hash, Version: v.Run.Version, Damage: v.Damage}
}
