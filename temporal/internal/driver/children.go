package driver

import (
	"context"
	"errors"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// children are the child runs of a run, as child workflows.
type children struct {
	r    *runner
	list []*child // in the order of their start
}

// child is a child run.
type child struct {
	id        string
	future    workflow.ChildWorkflowFuture
	ended     bool
	cancelled bool
}

func (c *children) get(id string) *child {
	if i := slices.IndexFunc(c.list, func(k *child) bool { return k.id == id }); i >= 0 {
		return c.list[i]
	}
	return nil
}

// settled reports whether all children have ended, or will end because they were cancelled.
func (c *children) settled() bool {
	return !slices.ContainsFunc(c.list, func(k *child) bool { return !k.ended && !k.cancelled })
}

// none reports whether no child is active.
func (c *children) none() bool {
	return !slices.ContainsFunc(c.list, func(k *child) bool { return !k.ended })
}

// find finds the version that a plan step runs.
func (c *children) find(k runstate.StepKey) {
	r := c.r
	node := &r.m.Program.Nodes[k.Node]
	hash, failure := engine.ChildVersion(r.m, k, r.in.Depth, func(name string) (string, error) {
		if hash := r.in.Plans[name]; hash != "" { // a later version of the plan names it
			return hash, nil
		}
		return "", domain.Errorf(domain.CodeNotFound, "plan %s was not known when the run started", name)
	})
	if failure == nil && node.Block == nil && r.in.Versions[hash].Hash == "" {
		failure = (&walk.Failure{Code: walk.CodeFailed, Node: node.ID}).WithMessage("node %q: the run has no version %s", node.ID, hash)
	}
	if failure != nil {
		r.handle(&runstate.AttemptRefused{StepKey: k, Failure: failure})
		return
	}
	r.handle(&runstate.ChildReady{StepKey: k, Hash: hash})
}

// start starts the workflow of a child run.
func (c *children) start(t runstate.StartChild) {
	r := c.r
	before, replanned := c.get(t.ID), r.m.State.ReplanCount > 0
	if before != nil && !(before.ended && (t.Resume || replanned)) {
		return // it runs, or its end is on its way
	}
	in, err := c.input(t)
	// After a replan, a step that runs again has the child run that it had before.
	if r.in.Report && (before != nil || r.in.Resumed || replanned || err == nil && c.calledBack(in)) {
		workflow.Go(r.ctx, func(ctx workflow.Context) {
			var known wire.Child
			err := workflow.ExecuteActivity(r.control(ctx), wire.ChildActivity, t.ID).Get(ctx, &known)
			r.post(func() { c.again(t, known, err) })
		})
		return
	}
	c.execute(t, in, err)
}

// calledBack reports whether a run has a callback address.
func (c *children) calledBack(in wire.Input) bool {
	p, err := c.r.programs.Get(in.Versions[in.Run.Hash], in.Run.Profile)
	return err == nil && p.Callback
}

// again starts or resumes a child run that may exist.
func (c *children) again(t runstate.StartChild, known wire.Child, err error) {
	r := c.r
	if k := c.get(t.ID); k != nil && !k.ended || r.m.State.WaitingFor(t.ID) == nil {
		return
	}
	ended := func(refused error) { r.handle(&runstate.ChildEnded{ID: t.ID, Child: known.Run, Refused: refused}) }
	switch {
	case err != nil:
		c.execute(t, wire.Input{}, err)
		return
	case known.Run.ID == "":
		in, err := c.input(t)
		in.Callback = c.callback(in, known)
		c.execute(t, in, err)
		return
	case known.Run.Status.Final() && (!t.Resume || known.Run.Status == domain.RunCompleted):
		ended(nil)
		return
	case known.Refused != "":
		ended(domain.Errorf(domain.CodeConflict, "%s", known.Refused))
		return
	}
	in, err := c.input(t)
	in.Run, in.Journal, in.Rows, in.Known, in.Resumed, in.Begin = known.Run, known.Journal, known.Rows, true, true, known.Resume
	in.Admitted = !known.Run.Status.Final() && !known.Run.StartedAt.IsZero() // it has its concurrency key
	in.Callback = c.callback(in, known)
	c.list = slices.DeleteFunc(c.list, func(k *child) bool { return k.id == t.ID })
	c.execute(t, in, err)
}

// callback returns the callback address of a child run, or "".
func (c *children) callback(in wire.Input, known wire.Child) string {
	if !c.calledBack(in) {
		return ""
	}
	return known.Callback
}

// execute executes the workflow of a child run.
func (c *children) execute(t runstate.StartChild, in wire.Input, err error) {
	r := c.r
	if err == nil && !r.fitsRun(&in) {
		err = domain.Errorf(domain.CodeInvalid, "the input of the child run cannot be passed: %w", errLarge).
			Suggest("write large data to a file and pass its path")
	}
	if err != nil {
		r.post(func() { r.handle(&runstate.ChildEnded{ID: t.ID, Err: err}) })
		return
	}
	ctx := workflow.WithChildOptions(r.ctx, workflow.ChildWorkflowOptions{WorkflowID: workflowID(t.ID),
		ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, WaitForCancellation: true})
	k := &child{id: t.ID, future: workflow.ExecuteChildWorkflow(ctx, wire.RunWorkflow, in)}
	c.list = append(c.list, k)
	workflow.Go(r.ctx, func(own workflow.Context) {
		var run domain.Run
		err := k.future.Get(own, &run)
		r.post(func() {
			k.ended = true
			if refused, ok := errors.AsType[*temporal.ApplicationError](err); ok && refused.Type() == string(domain.CodeConflict) {
				err = domain.Errorf(domain.CodeConflict, "%s", refused.Message()) // by kairosd, because of its concurrency key
			}
			ev := &runstate.ChildEnded{ID: t.ID, Child: run, Err: err}
			ev.CancelledHere = err == nil && run.Status == domain.RunCancelled && k.cancelled
			r.handle(ev)
		})
	})
}

// input returns the input of the workflow of a child run.
func (c *children) input(t runstate.StartChild) (wire.Input, error) {
	r, parent := c.r, &c.r.m.Run
	v, err := c.version(t)
	if err != nil {
		return wire.Input{}, err
	}
	p, err := r.programs.Get(v, parent.Profile)
	if err != nil {
		return wire.Input{}, err
	}
	input, err := engine.ValidInput(context.Background(), p, t.Input)
	if err != nil {
		return wire.Input{}, err
	}
	value, err := runstate.Decode(input)
	if err != nil {
		return wire.Input{}, domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	labels, err := engine.LabelsOf(p, value, parent.Labels)
	if err != nil {
		return wire.Input{}, err
	}
	keys := slices.Clip(r.in.Keys)
	if c := parent.Concurrency; c != nil && c.Key != "" {
		keys = append(keys, c.Key)
	}
	rule, err := engine.ChildConcurrency(p, value, engine.ChildOrigin(*parent, v), keys)
	if err != nil {
		return wire.Input{}, err
	}
	now := r.now()
	ref := t.Parent
	next := wire.Input{Driver: r.in.Driver, Versions: r.in.Versions, Plans: r.in.Plans, Options: r.in.Options, Key: r.in.Key,
		Signer: r.in.Signer, Hold: r.in.Hold, Depth: r.in.Depth + 1, Keys: keys,
		LostAfter: r.in.LostAfter, Report: r.in.Report, Control: r.in.Control, Budgets: r.in.Budgets}
	next.Options.Agents = nil
	next.Run = domain.Run{ID: t.ID, PlanID: v.PlanID, PlanKey: v.PlanKey, Version: v.Number,
		ProgramRef: domain.ProgramRef{Hash: v.Hash, Profile: parent.Profile}, Status: domain.RunQueued, Input: input, Parent: &ref,
		Actor: parent.Actor, Origin: engine.ChildOrigin(*parent, v), Session: parent.Session,
		Priority: parent.Priority, Labels: labels, Slot: parent.Slot, Concurrency: rule,
		Limits: runstate.InitialLimits(domain.Limits{Offline: parent.Limits.Offline}, p.Limits), CreatedAt: now}
	if next.Versions[v.Hash].Hash == "" {
		next.Versions = withVersion(next.Versions, v)
	}
	if plans := Pins(p, r.in.Plans); len(plans) > 0 {
		next.Journal = []domain.Entry{runstate.PlansRow(plans, now)}
		next.Run.LastSeq = 1
	}
	return next, nil
}

// Pins returns the versions of the plans that a program names.
func Pins(p *runstate.Compiled, known map[string]string) map[string]string {
	plans := map[string]string{}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Type == walk.TypePlan && n.Block == nil {
			for _, name := range n.PlanNames() {
				if hash := known[name]; hash != "" {
					plans[name] = hash
				}
			}
		}
	}
	return plans
}

// version returns the version of a child run. That of a block is a part of its plan.
func (c *children) version(t runstate.StartChild) (domain.Version, error) {
	if v := c.r.in.Versions[t.Hash]; v.Hash != "" {
		return v, nil
	}
	parent := c.r.m.Program
	for i := range parent.Nodes {
		if b := parent.Nodes[i].Block; b != nil && b.Program.Hash == t.Hash {
			p := b.Program
			return domain.Version{PlanKey: p.ID, Number: 1, Hash: p.Hash, Kind: string(p.Kind), Format: string(planner.FormatJSON),
				Source: b.Source, Origin: domain.OriginBlock, Semantics: parent.Version.Semantics, ByPerson: parent.Version.ByPerson,
				Author: parent.Version.Author, ParentHash: parent.Hash}, nil
		}
	}
	return domain.Version{}, domain.Errorf(domain.CodeNotFound, "the run has no version %s", t.Hash)
}

func withVersion(known map[string]domain.Version, v domain.Version) map[string]domain.Version {
	all := make(map[string]domain.Version, len(known)+1)
	for hash, k := range known {
		all[hash] = k
	}
	all[v.Hash] = v
	return all
}

// cancel cancels a child run.
func (c *children) cancel(id string) {
	k := c.get(id)
	if k == nil || k.ended || k.cancelled {
		return
	}
	k.cancelled = true
	workflow.Go(c.r.ctx, func(ctx workflow.Context) {
		if k.future.GetChildWorkflowExecution().Get(ctx, nil) != nil {
			return // it was never started, which its future reports
		}
		_ = k.future.SignalChildWorkflow(ctx, wire.CancelSignal, nil).Get(ctx, nil) // fails only if it has ended
		c.r.wake()
	})
}

// cancelExcept cancels the active children, except the needed ones.
func (c *children) cancelExcept(needed []string) {
	for _, k := range c.list {
		if !slices.Contains(needed, k.id) {
			c.cancel(k.id)
		}
	}
}

// workflowID returns the ID of the workflow of a run.
func workflowID(run string) string { return run }

// applicationError returns an error that fails the workflow, and that a retry does not change.
func applicationError(err error) error {
	code := string(domain.CodeInternal)
	if e := refusal(err); e != nil {
		code = string(e.Code)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), code, nil)
}
