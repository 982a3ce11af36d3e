package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// completion is a completed step with side effects.
type completion struct {
	ref     domain.UndoneRef
	at      time.Time
	node    *walk.ProgramNode
	version domain.Version
	path    []string       // the steps that ran the child runs, and the step
	values  map[string]any // of the references in its undo
	failure *walk.Failure  // why these have no values
	reason  domain.Message // why it is not undone, or zero
	effect  string
}

func (c *completion) key() string { return undoKey(c.ref) }

// kept lists the step in a preview as one whose effect stays.
func (c *completion) kept(reason domain.Message) domain.PreviewStep {
	s := domain.PreviewStep{Node: strings.Join(c.path, "/"), Visit: c.ref.Visit, Type: c.node.TypeName, Effect: c.effect,
		Status: domain.NodeCompleted, Reason: reason}
	if c.ref.Item != runstate.NoItem {
		s.Items = []int{c.ref.Item}
	}
	return s
}

// completions lists the completed steps with side effects of a run and of its child runs, in the order of
// their completion. A step that runs another plan and has an undo of its own stands for the steps of the
// child run that it completed with.
func (in *Inspector) completions(ctx context.Context, v *preview.View, seen map[string]bool) ([]*completion, error) {
	c := collector{in: in, ctx: ctx, v: v, seen: seen, began: map[runstate.StepRef]bool{}, latest: map[runstate.StepRef]*childRun{}}
	seen[v.Run.ID] = true
	input, err := runstate.Decode(v.Run.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", v.Run.ID, err)
	}
	f := in.Facts(ctx, v.Run, input)
	f.Before = func(s *runstate.State, e *domain.Entry) {
		if c.err == nil {
			c.err = c.row(s, e)
		}
	}
	if _, err := in.foldWith(v.Program, v.Run, f, v.Journal); err != nil {
		return nil, err
	}
	if c.err != nil {
		return nil, c.err
	}
	var list []*completion
	for _, child := range c.children {
		steps, err := c.stepsOf(child)
		if err != nil {
			return nil, err
		}
		list = append(list, steps...)
	}
	// Rows of one run are in order, even if a clock was set back. Child runs are merged by time.
	list = append(list, c.list...)
	slices.SortStableFunc(list, func(a, b *completion) int { return a.at.Compare(b.at) })
	return list, nil
}

// collector collects the completed steps of one run.
type collector struct {
	in       *Inspector
	ctx      context.Context
	v        *preview.View
	seen     map[string]bool
	list     []*completion
	now      time.Time // of the newest row; it never goes back
	began    map[runstate.StepRef]bool
	children []*childRun
	latest   map[runstate.StepRef]*childRun // by the step that waits
	err      error
}

// childRun is a child run that a step waited for, once or several times.
type childRun struct {
	id, node   string
	since, end time.Time
	covered    bool // by the undo of the step
}

// row applies a row of the journal before the fold does.
func (c *collector) row(s *runstate.State, e *domain.Entry) error {
	if e.At.After(c.now) {
		c.now = e.At
	}
	if e.Node == "" {
		return nil
	}
	ref := runstate.StepRef{Node: e.Node, Visit: e.Visit, Item: e.Item}
	switch {
	case e.Kind == domain.EntryIntent && e.Substep == 0:
		c.began[ref] = true
	case e.Kind == domain.EntryWait && domain.WaitReason(e.Reason) == domain.WaitChild:
		c.began[ref] = true
		i := slices.IndexFunc(c.children, func(child *childRun) bool { return child.id == e.Ref })
		if i < 0 {
			i, c.children = len(c.children), append(c.children, &childRun{id: e.Ref, node: e.Node, since: c.now})
		}
		c.latest[ref] = c.children[i]
	case e.Kind == domain.EntryResult && e.Final:
		k, err := s.Key(e)
		if err != nil {
			return err
		}
		return c.settled(s, e, k, ref)
	}
	return nil
}

// settled adds a step that has ended.
func (c *collector) settled(s *runstate.State, e *domain.Entry, k runstate.StepKey, ref runstate.StepRef) error {
	n := &s.Program.Nodes[k.Node]
	began := c.began[ref]
	if child := c.latest[ref]; child != nil {
		child.end, child.covered = c.now, e.Status == domain.NodeCompleted && n.Undo != nil
	}
	delete(c.latest, ref)
	delete(c.began, ref)
	if e.Status != domain.NodeCompleted || n.Foreach != nil && e.Item == runstate.NoItem {
		return nil
	}
	done := &completion{at: c.now, node: n, version: c.v.Program.Version, path: []string{e.Node},
		ref:    domain.UndoneRef{Run: c.v.Run.ID, Node: e.Node, Visit: e.Visit, Item: e.Item, Seq: e.Seq},
		effect: e.Effect}
	if done.effect == "" {
		done.effect = string(c.in.c.Env.StaticEffect(c.v.Program, n))
	}
	touches := walk.Effect(done.effect) == walk.EffectIdempotent || walk.Effect(done.effect) == walk.EffectUnsafe
	switch {
	case n.Undo == nil && (!touches || !began):
		return nil
	case n.Undo == nil:
		done.reason = domain.Messagef("it has no undo")
	case !began && c.v.Run.ForkedFrom != "":
		done.reason = domain.Messagef("run %s ran it; undo that run", domain.ShortID(c.v.Run.ForkedFrom))
	case !began:
		done.reason = domain.Messagef("it did not run, because its result was given")
	default:
		output, err := runstate.Decode(e.Output)
		if err != nil {
			return domain.Errorf(domain.CodeCorrupt, "output of %s: %w", e.Node, err)
		}
		done.values, done.failure = walk.UndoValues(s.Walk, k.VisitKey, k.Item, output)
	}
	c.list = append(c.list, done)
	return nil
}

// stepsOf returns the completed steps of a child run. Their times lie between the start of the step that
// ran it and its end.
func (c *collector) stepsOf(child *childRun) ([]*completion, error) {
	if child.covered || c.seen[child.id] {
		return nil, nil
	}
	v, err := c.in.View(c.ctx, child.id)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound: // it was never created
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := v.MayUndoChild(); err != nil {
		return nil, err
	}
	list, err := c.in.completions(c.ctx, v, c.seen)
	for _, done := range list {
		if done.at.Before(child.since) {
			done.at = child.since
		} else if !child.end.IsZero() && done.at.After(child.end) {
			done.at = child.end
		}
		done.path = append([]string{child.node}, done.path...)
	}
	return list, err
}
