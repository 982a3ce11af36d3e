package preview

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// outlook returns what a state leads to: which nodes run when the run continues. seen is how often
// each node ran before, and why gives reasons by node.
func (v *View) outlook(p *runstate.Compiled, s *runstate.State, seen map[string]int, why map[string]domain.Message) lists {
	o := &outlook{
		View: v, program: p, state: s, seen: seen, why: why,
		listed:     map[int]bool{},
		reached:    map[int]bool{},
		unattended: v.Env.Unattended(v.Run) && !v.Env.Executes(v.Run.ID),
	}
	o.openSteps()
	o.openLists()
	o.follow()
	o.finally()
	o.nodesAhead()
	return o.lists
}

// An outlook collects the steps of a preview.
type outlook struct {
	*View
	lists
	program *runstate.Compiled
	state   *runstate.State
	seen    map[string]int
	why     map[string]domain.Message

	unattended bool         // no process executes the run
	listed     map[int]bool // nodes with an open visit that runs
	reached    map[int]bool // nodes that another visit may reach
	queue      []int        // nodes whose successors are not followed yet
}

// add lists a visit that runs. Its reason is the given one, or that of its node.
func (o *outlook) add(i, visit int, items []int, reason domain.Message) {
	n := &o.program.Nodes[i]
	step := domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(o.Env.StaticEffect(o.program, n)),
		Items: items, Reason: reason}
	if r, ok := o.why[n.ID]; ok && reason.IsZero() {
		step.Reason = r
	}
	if o.seen[n.ID] > 0 {
		o.again = append(o.again, step)
	} else {
		o.fresh = append(o.fresh, step)
	}
	if touches(walk.Effect(step.Effect)) {
		o.effects = append(o.effects, step)
	}
}

// inDoubt reports whether the outcome of a step is unknown. Steps that another process left in
// flight are settled first when the run is loaded.
func (o *outlook) inDoubt(w *runstate.Step) bool {
	if w.Phase == runstate.PhaseInDoubt && w.Resolution == nil {
		return true
	}
	return o.unattended && w.InFlight() && o.Env.LostOutcome(o.program.Program, w, o.state.Cancelled) == runstate.OutcomeInDoubt
}

// openSteps lists the open visits, and the items whose outcome is unknown.
func (o *outlook) openSteps() {
	for _, w := range o.state.OpenSteps() {
		if w.Item != runstate.NoItem || walk.Lost(o.state.Walk, w.Node) {
			continue
		}
		o.queue = append(o.queue, w.Node)
		switch r := w.Resolution; {
		case o.inDoubt(w):
			o.doubt = append(o.doubt, o.doubtStep(o.program, w))
		case r != nil && r.Given != "":
			o.given = append(o.given, o.givenStep(o.program, w.Node, w.Visit, r.Given))
		case r != nil && r.Action != runstate.ActionRetry:
			o.keep = append(o.keep, o.answeredStep(o.program, w)) // it does not run
		default:
			o.listed[w.Node] = true
			o.add(w.Node, w.Visit, nil, domain.Message{})
		}
	}
	for _, w := range o.state.OpenSteps() {
		if w.Item != runstate.NoItem && o.inDoubt(w) {
			o.doubt = append(o.doubt, o.doubtStep(o.program, w))
		}
	}
}

// openLists lists the open visits over lists, with the items that run.
func (o *outlook) openLists() {
	items := map[walk.VisitKey][]int{}
	for _, w := range o.state.OpenSteps() {
		if w.Item != runstate.NoItem {
			items[w.VisitKey] = append(items[w.VisitKey], w.Item)
		}
	}
	for _, k := range o.state.OpenForeach() {
		given, runs := o.state.GivenItems(k)
		for _, why := range slices.Sorted(maps.Keys(given)) {
			step := o.givenStep(o.program, k.Node, k.Visit, why)
			step.Items = given[why]
			o.given = append(o.given, step)
		}
		if !o.listed[k.Node] && (runs || len(given) == 0) {
			o.listed[k.Node] = true
			o.add(k.Node, k.Visit, slices.DeleteFunc(items[k], func(i int) bool {
				return o.state.GivenReason(runstate.StepKey{VisitKey: k, Item: i}) != ""
			}), domain.Message{})
		}
		o.queue = append(o.queue, k.Node)
	}
}

// reach queues a node that another visit may reach.
func (o *outlook) reach(i int) {
	if !o.reached[i] && o.mayRun(o.program, o.state, i) {
		o.reached[i] = true
		o.queue = append(o.queue, i)
	}
}

// follow reaches what comes after the queued nodes, over edges and needs.
func (o *outlook) follow() {
	for ; len(o.queue) > 0; o.queue = o.queue[1:] {
		n := &o.program.Nodes[o.queue[0]]
		for _, e := range n.Out {
			if e.To != walk.End {
				o.reach(e.To)
			}
		}
		for _, i := range n.Dependents {
			o.reach(i)
		}
	}
}

// finally reaches the steps that run when all others have ended, and those that need them.
func (o *outlook) finally() {
	if !o.state.Walk.Finishing() {
		for _, i := range o.program.Finally {
			o.reach(i)
		}
	}
	for ; len(o.queue) > 0; o.queue = o.queue[1:] {
		for _, i := range o.program.Nodes[o.queue[0]].Dependents {
			o.reach(i)
		}
	}
}

// nodesAhead lists the reached nodes. Those with a given result do not run.
func (o *outlook) nodesAhead() {
	whole, some := o.givenAhead()
	for i := range o.program.Nodes {
		if !o.reached[i] {
			continue
		}
		if whole[i] != "" {
			o.given = append(o.given, o.givenStep(o.program, i, 0, whole[i]))
			continue
		}
		// The list may be longer than the items with a result, so its node is listed as running, too.
		for _, why := range slices.Sorted(maps.Keys(some[i])) {
			step := o.givenStep(o.program, i, 0, why)
			step.Items = slices.Sorted(slices.Values(some[i][why]))
			o.given = append(o.given, step)
		}
		reason := domain.Message{}
		if o.listed[i] {
			reason = domain.Messagef("the loop may repeat")
		}
		o.add(i, 0, nil, reason)
	}
}

// givenAhead returns why nodes that are not open have a result: whole nodes, and items by reason.
func (o *outlook) givenAhead() (whole map[int]string, some map[int]map[string][]int) {
	whole, some = map[int]string{}, map[int]map[string][]int{}
	for k, d := range o.state.Doubts {
		switch {
		case d.Resolution == nil || d.Resolution.Given == "" || o.program.Nodes[k.Node].OnCycle:
		case k.Item == runstate.NoItem:
			whole[k.Node] = d.Resolution.Given
		default:
			if some[k.Node] == nil {
				some[k.Node] = map[string][]int{}
			}
			some[k.Node][d.Resolution.Given] = append(some[k.Node][d.Resolution.Given], k.Item)
		}
	}
	return whole, some
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
	return status == "" && visits == 0 && !walk.Lost(s.Walk, i)
}
