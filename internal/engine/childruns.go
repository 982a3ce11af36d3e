package engine

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// childRuns starts, cancels, and checks the child runs of plan steps.
type childRuns struct {
	e              *Engine
	cancelledEarly sync.Map // IDs of children that were cancelled before they exist
}

// findChild finds the version that a plan step runs, and reports it to the machine.
func (a *runner) findChild(k runstate.StepKey) {
	hash, failure := a.e.children.versionOf(a.m, k)
	if failure != nil {
		a.handle(&runstate.AttemptRefused{StepKey: k, Failure: failure})
		return
	}
	a.handle(&runstate.ChildReady{StepKey: k, Hash: hash})
}

// versionOf returns the hash of the version that a plan step runs.
func (c *childRuns) versionOf(m *runstate.Machine, k runstate.StepKey) (hash string, f *walk.Failure) {
	ctx := context.WithoutCancel(c.e.base)
	node := &m.Program.Nodes[k.Node]
	depth, err := c.depth(ctx, m.Run)
	if err != nil {
		return "", (&walk.Failure{Code: codeUnknownPlan, Node: node.ID}).WithMessage("node %q: %s", node.ID, err)
	}
	hash, f = ChildVersion(m, k, depth, func(name string) (string, error) { return c.e.Reader.Resolve(ctx, name) })
	if f != nil || node.Block == nil {
		return hash, f
	}
	if hash, err = c.storeBlock(ctx, m, node); err != nil {
		return "", (&walk.Failure{Code: codeUnknownPlan, Node: node.ID}).
			WithMessage("node %q: the block cannot be stored: %s", node.ID, err)
	}
	return hash, nil
}

// ChildVersion returns the hash of the version that a plan step runs. depth is the number of ancestors of the run. find
// finds the version of a plan that the run has not pinned.
func ChildVersion(m *runstate.Machine, k runstate.StepKey, depth int, find func(name string) (string, error)) (string, *walk.Failure) {
	node := &m.Program.Nodes[k.Node]
	fail := func(code, format string, args ...any) (string, *walk.Failure) {
		return "", (&walk.Failure{Code: code, Node: node.ID}).WithMessage(format, args...)
	}
	if depth >= maxRecursion {
		return fail(codeRecursion, "node %q: plans are nested more than %d deep", node.ID, maxRecursion)
	}
	if node.Block != nil {
		return node.Block.Program.Hash, nil
	}
	name, f := walk.ChildPlan(m.State.Walk, k.VisitKey, k.Item)
	if f != nil {
		return "", f
	}
	if hash := m.State.Plans[name]; hash != "" {
		return hash, nil
	}
	hash, err := find(name)
	if err != nil {
		return fail(codeUnknownPlan, "node %q runs plan %q: %s", node.ID, name, err)
	}
	return hash, nil
}

// storeBlock stores the block of a step as a version of a plan of its own, so that its runs are runs like
// any other. It returns the hash of the version.
func (c *childRuns) storeBlock(ctx context.Context, m *runstate.Machine, node *walk.ProgramNode) (string, error) {
	p := node.Block.Program
	if _, err := c.e.program(ctx, domain.AsWritten(p.Hash)); domain.CodeOf(err) != domain.CodeNotFound {
		return p.Hash, err
	}
	parent := m.Program.Version
	_, _, _, err := c.e.store.PutVersion(ctx, domain.NewVersion{Key: p.ID, Name: p.Name, Hash: p.Hash, Kind: string(p.Kind),
		Format: string(planner.FormatJSON), Source: node.Block.Source, Canonical: node.Block.Source, Origin: domain.OriginBlock,
		Semantics: parent.Semantics, ByPerson: parent.ByPerson, Author: parent.Author, ParentHash: m.Program.Hash}, domain.System)
	return p.Hash, err
}

// background runs fn in a goroutine that Stop waits for. Only runners may call it, because Stop
// waits for them too.
func (e *Engine) background(fn func()) { e.wg.Go(fn) }

// depth returns the number of ancestors of a run.
func (c *childRuns) depth(ctx context.Context, r domain.Run) (int, error) {
	n := 0
	for r.Parent != nil && n <= maxRecursion {
		n++
		var err error
		if r, err = c.e.store.Run(ctx, r.Parent.Run); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// ensure creates the child run if it does not exist, resumes a failed one of an earlier opening,
// and reports one that has ended.
func (c *childRuns) ensure(id, hash string, input domain.RawJSON, ref domain.ParentRef, resume bool) {
	ctx := context.WithoutCancel(c.e.base)
	child, err := c.create(ctx, id, hash, input, ref)
	if _, early := c.cancelledEarly.LoadAndDelete(id); early && err == nil {
		c.cancel(id, false)
		return
	}
	if err != nil && c.e.runs.isStopping() {
		return // the next start of the engine creates it
	}
	if err != nil {
		c.e.post(ref.Run, childMsg{run: id, err: err})
		return
	}
	ended := childMsg{run: id}
	if resume && (child.Status == domain.RunFailed || child.Status == domain.RunCancelled) {
		_, err := c.e.Act(
			ctx,
			domain.System,
			domain.ActionRequest{Run: id, Action: domain.ActionResume, Reason: "the parent run was resumed"},
		)
		if err == nil {
			// The parent may have been cancelled in the meantime.
			c.cancelUnneeded([][]string{{ref.Run, id}}) //seed:resumed-orphan
			return
		}
		now, unread := c.e.store.Run(ctx, id)
		if unread == nil {
			child = now // if another request resumed it, that one reports the end
		}
		if child.Status == domain.RunFailed || child.Status == domain.RunCancelled {
			c.e.log.Warn("child run cannot be resumed", "run_id", id, "parent", ref.Run, "err", err)
			ended.refused = err //seed:child-refused
		}
	}
	if child.Status.Final() {
		c.e.post(ref.Run, ended)
	}
}

// ChildOrigin returns the origin of a child run of a version.
func ChildOrigin(parent domain.Run, v domain.Version) string {
	switch {
	case parent.Dry():
		return domain.OriginDry
	case v.Origin == domain.OriginBlock:
		return domain.OriginBlock
	}
	return "child"
}

func (c *childRuns) create(ctx context.Context, id, hash string, input domain.RawJSON, ref domain.ParentRef) (domain.Run, error) {
	if r, err := c.e.store.Run(ctx, id); err == nil || domain.CodeOf(err) != domain.CodeNotFound {
		return r, err
	}
	parent, err := c.e.store.Run(ctx, ref.Run)
	if err != nil {
		return domain.Run{}, err
	}
	p, err := c.e.program(ctx, domain.ProgramRef{Hash: hash, Profile: parent.Profile})
	if err != nil {
		return domain.Run{}, err
	}
	if input, err = ValidInput(ctx, p, input); err != nil {
		return domain.Run{}, err
	}
	return c.e.starts.create(ctx, p, domain.NewRun{ID: id, Profile: parent.Profile, Input: input, Parent: &ref,
		Actor: parent.Actor, Origin: ChildOrigin(parent, p.Version), Session: parent.Session,
		Priority: parent.Priority, Labels: parent.Labels, Slot: parent.Slot, Limits: domain.Limits{Offline: parent.Limits.Offline}},
		domain.System)
}

func (m childMsg) apply(a *runner) {
	if w := a.m.State.WaitingFor(m.run); w == nil || w.Reason != domain.WaitChild {
		return
	}
	ev := &runstate.ChildEnded{ID: m.run, Err: m.err, Refused: m.refused}
	child, err := a.e.store.Run(context.WithoutCancel(a.e.base), m.run)
	if ev.Child = child; ev.Err == nil {
		ev.Err = err
	}
	if ev.Err == nil && m.refused == nil && child.Status == domain.RunCancelled && a.e.children.cancelledByItsParent(m.run) {
		v, err := a.e.View(context.WithoutCancel(a.e.base), m.run)
		ev.CancelledHere, ev.InDoubt = true, err != nil || len(v.State.UnresolvedDoubts()) > 0
	}
	a.handle(ev)
}

// cancelledByItsParent reports whether cancel, and not a person, cancelled the run last. A resume after that
// does not count.
func (c *childRuns) cancelledByItsParent(run string) bool {
	rows, err := c.e.store.Journal(context.WithoutCancel(c.e.base), run, 0)
	if err != nil {
		return false
	}
	for _, r := range slices.Backward(rows) {
		if r.Kind == domain.EntryReset {
			return false
		}
		var p runstate.RunActionDecision
		if r.Kind == domain.EntryAction && json.Unmarshal(r.Decision, &p) == nil && p.Action == runstate.RunActionCancel {
			return r.Actor == domain.System.Name
		}
	}
	return false
}

// cancel cancels a child run. If the child does not exist yet, ensure cancels it later. A second call does
// nothing, because a second cancellation would stop the finally steps of the child.
func (c *childRuns) cancel(id string, overdue bool) {
	c.cancelledEarly.Store(id, true)
	if _, err := c.e.store.Run(c.e.base, id); domain.CodeOf(err) == domain.CodeNotFound {
		return
	}
	c.cancelledEarly.Delete(id)
	if c.cancelledByItsParent(id) {
		return
	}
	reason := "the parent run no longer needs it"
	if overdue {
		reason = "the timeout of the step in the parent run has passed"
	}
	_, err := c.e.Act(context.WithoutCancel(c.e.base), domain.System,
		domain.ActionRequest{Run: id, Action: domain.ActionCancel, Reason: reason})
	switch domain.CodeOf(err) {
	case "", domain.CodeConflict, domain.CodeNotFound, domain.CodeUnavailable:
	default:
		c.e.log.Warn("child run cannot be cancelled", "run_id", id, "err", err)
	}
}

// cancelExcept cancels the unfinished children of a run, except the needed ones.
func (c *childRuns) cancelExcept(run string, needed []string) {
	children, err := c.e.store.LiveChildren(context.WithoutCancel(c.e.base), run)
	if err != nil {
		c.e.log.Error("the children of a run cannot be found", "run_id", run, "err", err)
		return
	}
	for _, id := range children {
		if !slices.Contains(needed, id) {
			c.e.background(func() { c.cancel(id, false) })
		}
	}
}

// parent is a waiting run that may have children.
type parent struct {
	id   string
	ref  domain.ProgramRef
	live int // unfinished children
}

// sweep looks for waiting runs whose child ended or was never created while the engine was stopped.
// It ignores runs whose plan has no more children than are active, because these children notify
// them.
func (c *childRuns) sweep(runs []parent) {
	for _, r := range runs {
		if c.e.base.Err() != nil || c.e.runs.isStopping() {
			return
		}
		p, err := c.e.program(c.e.base, r.ref)
		if err != nil || !p.HasPlans || p.MaxChildren > 0 && p.MaxChildren <= r.live {
			continue
		}
		c.e.post(r.id, childrenMsg{})
	}
}

// cancelUnneeded receives runs, each followed by its unfinished children, and cancels the children that no
// step of the run waits for. The run ended or abandoned the step, and its child was not cancelled: the
// daemon crashed before that, or the child was resumed after that. The runner of the run decides, so that
// a concurrent resume keeps its child.
func (c *childRuns) cancelUnneeded(families [][]string) {
	for _, family := range families {
		run, children := family[0], family[1:]
		if c.e.base.Err() != nil || c.e.runs.isStopping() {
			return
		}
		v, err := c.e.View(c.e.base, run)
		if err != nil {
			c.e.log.Warn("a run with children cannot be read", "run_id", run, "err", err)
			continue
		}
		if len(v.State.UnneededChildren(children)) > 0 { //seed:orphans
			c.e.post(run, childrenMsg{})
		}
	}
}
