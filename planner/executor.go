package planner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Handler runs a node in memory. node.Input is the resolved input: the input of the document with
// its references replaced, or state.Last if it has none. If the error wraps a [*walk.Failure], that
// failure states whether a retry can help.
type Handler func(ctx context.Context, node Node, state *State) (any, error)

// Executor walks a graph in memory with Go functions as handlers. It stores nothing. Nodes run one
// after the other, in the order in which the walk makes them ready. The durable engine of kairosd
// uses the same [walk.Walk] and makes the same decisions. Set the fields before the first call of
// Execute. A handler of type "approval" rejects with the output {approved: false} or with a
// [*walk.Failure] that has [walk.CodeRejected].
type Executor struct {
	// Handlers run nodes by type. The executor looks up the type as written, then the type behind
	// an alias, then the name of the tool.
	Handlers map[string]Handler
	// HandlersByID run single nodes by ID. They take precedence over Handlers.
	HandlersByID map[string]Handler
	// Effects are the side-effect classes of node types and tools, for nodes that declare none. A
	// type that is not listed counts as idempotent, so its failed attempts are retried as its node
	// defines.
	Effects map[string]walk.Effect
	// AuditHook, if set, is called when a node starts, completes, or fails.
	AuditHook func(ctx context.Context, event AuditEvent)
	// AuditStore, if set, records the same events.
	AuditStore AuditStore
	// RunID is the value of ${run.id} and the run ID of audit events.
	RunID string
}

// NewExecutor returns an executor with handlers by node type. The types noop, decision, and set are
// built in.
func NewExecutor(handlers map[string]Handler) *Executor {
	return &Executor{Handlers: handlers, HandlersByID: map[string]Handler{}}
}

// Execute walks the graph. A nil state starts with an empty one. The returned state is never nil.
//
// The error is an [*InvalidError] for an invalid graph, an error that wraps a [*walk.Failure] for a
// failed run, or the error of the context. If a failed attempt of an unsafe node may have had its
// effect, the run fails with code [walk.CodeInDoubt] and no further handler is called. The durable
// engine waits for an operator there. Finally nodes run after a failure, but not after the context ends.
func (e *Executor) Execute(ctx context.Context, graph *Graph, state *State) (*State, error) {
	if state == nil {
		state = NewState()
	}
	if state.Outputs == nil {
		state.Outputs = map[string]any{}
	}
	if graph == nil {
		return state, errors.New("no graph")
	}
	program, err := graph.Compile(nil)
	if err != nil {
		return state, err
	}
	var missing error
	walk.EachNode(program, func(path string, n *walk.ProgramNode) {
		if missing == nil && e.handler(n) == nil {
			missing = fmt.Errorf("node %q: no handler for type %q", path, n.TypeName)
		}
	})
	if missing != nil {
		return state, missing
	}
	input, err := jsonvalue.Normalize(state.input())
	if err != nil {
		return state, fmt.Errorf("input: %w", err)
	}
	memory, err := jsonvalue.Normalize(state.Outputs["memory"])
	if err != nil {
		return state, fmt.Errorf("memory: %w", err)
	}
	state.Outputs["input"], state.Last = input, input
	if program.Start.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, program.Start.Timeout, program.Overdue())
		defer cancel()
	}
	x := &execution{e: e, graph: graph, program: program, state: state,
		walk: walk.New(program, walk.Facts{RunID: e.RunID, Input: input, Memory: memory})}
	return state, x.run(ctx)
}

// execution is one walk of an [Executor].
type execution struct {
	e       *Executor
	graph   *Graph
	program *walk.Program
	state   *State
	walk    *walk.Walk
	failed  *walk.Failure // of the iteration or item that settled last
}

func (x *execution) run(ctx context.Context) error {
	for {
		ready := x.walk.Ready()
		if len(ready) == 0 {
			break
		}
		for _, v := range ready {
			if walk.Lost(x.walk, v.Node) {
				if _, err := x.walk.Settle(walk.Settlement{VisitKey: v, Item: -1, Status: walk.Cancelled}); err != nil {
					return err
				}
				continue
			}
			if err := x.visit(ctx, v); err != nil {
				return err
			}
		}
	}
	out := x.walk.Outcome()
	x.state.Last = out.Output
	if out.Failure != nil {
		return named(out.Failure, out.Failure.Node)
	}
	return nil
}

// named adds the name of the node to a failure, and wraps it.
func named(f *walk.Failure, node string) error {
	if node == "" {
		return f
	}
	return fmt.Errorf("node %q failed: %w", node, f)
}

// visit runs one iteration of a node and settles it. A node with foreach runs item by item.
func (x *execution) visit(ctx context.Context, v walk.VisitKey) error {
	n := &x.program.Nodes[v.Node]
	if n.Foreach == nil {
		return x.settle(ctx, v, -1)
	}
	count, failure := x.walk.Items(v)
	switch {
	case failure != nil:
		return x.end(v, -1, nil, failure)
	case count == 0:
		return x.end(v, -1, []any{}, nil)
	}
	outputs := make([]any, count)
	for {
		i := x.walk.NextItem(v)
		if i < 0 {
			break
		}
		if err := x.settle(ctx, v, i); err != nil {
			return err
		}
		if outputs[i] = x.state.Last; x.failed != nil {
			outputs[i] = walk.ItemFailure(x.failed)
		}
	}
	if status, _ := x.walk.Status(v.Node); status == walk.Completed {
		x.state.Outputs[n.ID] = outputs
	}
	return nil
}

func (x *execution) settle(ctx context.Context, v walk.VisitKey, item int) error {
	n := &x.program.Nodes[v.Node]
	output, failure, err := x.attempts(ctx, n, v, item)
	if err != nil {
		return err
	}
	return x.end(v, item, output, failure)
}

// end settles an iteration, or one item of it, and stores its output in the state.
func (x *execution) end(v walk.VisitKey, item int, output any, failure *walk.Failure) error {
	n := &x.program.Nodes[v.Node]
	s := walk.Settlement{VisitKey: v, Item: item, Status: walk.Completed, Output: output}
	if failure != nil {
		s.Status, s.Output, s.Failure = walk.Failed, nil, failure
	}
	if _, err := x.walk.Settle(s); err != nil {
		return err
	}
	x.failed, x.state.Last = failure, output
	switch {
	case failure != nil:
		x.state.Last = nil
		delete(x.state.Outputs, n.ID)
	case item < 0:
		x.state.Outputs[n.ID] = output
	}
	if x.walk.Continued(v.Node) {
		x.state.Outputs[n.ID] = nil
	}
	return nil
}

// attempts runs a node until it succeeds, fails permanently, or has no attempts left. The error is
// the context's.
func (x *execution) attempts(ctx context.Context, n *walk.ProgramNode, v walk.VisitKey, item int) (any, *walk.Failure, error) {
	for attempt := 1; ; attempt++ {
		if err := context.Cause(ctx); err != nil {
			return nil, nil, err
		}
		output, failure := x.attempt(ctx, n, v, item)
		if failure == nil {
			return output, nil, nil
		}
		if err := context.Cause(ctx); err != nil {
			return nil, nil, err
		}
		most, waits := n.Retries(failure.Code)
		switch {
		case x.e.effect(n) == walk.EffectUnsafe && !failure.NoEffect:
			doubt := (&walk.Failure{Code: walk.CodeInDoubt, Node: n.ID, Permanent: true}).
				WithMessage("it may have had its effect: %s", failure)
			return nil, nil, named(doubt.WithCause(failure), n.ID)
		case failure.Permanent || attempt >= most:
			return nil, failure, nil
		}
		timer := time.NewTimer(max(waits.Delay(attempt, rand.Float64()), failure.RetryAfter))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, context.Cause(ctx)
		case <-timer.C:
		}
	}
}

func (x *execution) attempt(ctx context.Context, n *walk.ProgramNode, v walk.VisitKey, item int) (any, *walk.Failure) {
	input, failure := x.walk.Input(v, item)
	if failure != nil {
		return nil, failure
	}
	node := x.node(n)
	node.Input = input
	x.state.Last = x.walk.Last(v)
	event := AuditEvent{
		GraphID:   x.program.ID,
		RunID:     x.e.RunID,
		NodeID:    n.ID,
		NodeType:  n.TypeName,
		Status:    AuditStarted,
		StartedAt: time.Now(),
	}
	if err := x.audit(ctx, event); err != nil {
		return nil, walk.CopyFailure(err)
	}
	var cancel context.CancelFunc = func() {}
	attemptCtx := ctx
	if n.Timeout > 0 {
		attemptCtx, cancel = context.WithTimeout(ctx, n.Timeout)
	}
	output, err := guarded(attemptCtx, x.e.handler(n), node, x.state)
	if n.Timeout > 0 && context.Cause(ctx) == nil && errors.Is(attemptCtx.Err(), context.DeadlineExceeded) {
		err = timedOut(n.Timeout, err)
	}
	cancel()
	output, err = n.ApprovalOutput(output, err)
	if err == nil {
		output, err = jsonvalue.Normalize(output)
		if err != nil {
			err = (&walk.Failure{Code: walk.CodeOutput, Permanent: true}).WithMessage("output of node %q: %s", n.ID, err)
		}
	}
	event.FinishedAt, event.Status, event.Output = time.Now(), AuditCompleted, output
	if err != nil {
		event.Status, event.Error, event.Output = AuditFailed, err.Error(), nil
	}
	if auditErr := x.audit(ctx, event); auditErr != nil && err == nil {
		err = auditErr
	}
	if err != nil {
		return nil, walk.CopyFailure(err)
	}
	return output, nil
}

// timedOut returns the failure of an attempt whose handler returned after its timeout, whatever it
// returned. A more specific failure is kept.
func timedOut(limit time.Duration, err error) *walk.Failure {
	f := (&walk.Failure{Code: walk.CodeTimeout}).WithMessage("timed out after %s", limit)
	if reported, ok := errors.AsType[*walk.Failure](err); ok {
		f.NoEffect, f.Detail = reported.NoEffect, reported.Message
	}
	return f.WithCause(err)
}

// effect is the side-effect class of a node.
func (e *Executor) effect(n *walk.ProgramNode) walk.Effect {
	if n.Effect != "" {
		return n.Effect
	}
	for _, name := range []string{n.TypeName, n.Type, n.Tool} {
		if effect := e.Effects[name]; effect != "" {
			return effect
		}
	}
	return walk.EffectIdempotent
}

// node finds the node of the graph for a compiled node.
func (x *execution) node(n *walk.ProgramNode) Node {
	nodes := x.graph.Nodes
	if n.Finally {
		nodes = x.graph.Finally
	}
	for key, node := range nodes {
		if node.ID == n.ID || node.ID == "" && key == n.ID {
			node.ID = n.ID
			return node
		}
	}
	return Node{ID: n.ID, Type: n.TypeName}
}

func (x *execution) audit(ctx context.Context, event AuditEvent) error {
	if x.e.AuditHook != nil {
		x.e.AuditHook(ctx, event)
	}
	if x.e.AuditStore != nil {
		if err := x.e.AuditStore.Record(ctx, event); err != nil {
			return fmt.Errorf("record audit event: %w", err)
		}
	}
	return nil
}

// guarded converts a panic of a handler to a failure of the node.
func guarded(ctx context.Context, h Handler, n Node, s *State) (out any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = (&walk.Failure{
				Code:      walk.CodePanic,
				Detail:    string(debug.Stack()),
				Permanent: true,
			}).WithMessage("handler of node %q panicked: %v", n.ID, p)
		}
	}()
	return h(ctx, n, s)
}

// handler finds the handler of a node: by ID, by type as written, by type, by tool, or built in.
func (e *Executor) handler(n *walk.ProgramNode) Handler {
	if h := e.HandlersByID[n.ID]; h != nil {
		return h
	}
	if n.Block != nil {
		return e.block(n.Block.Program)
	}
	for _, name := range []string{n.TypeName, n.Type} {
		if h := e.Handlers[name]; h != nil {
			return h
		}
	}
	if n.Type == walk.TypeTool {
		return e.Handlers[n.Tool]
	}
	switch n.Type {
	case walk.TypeNoop, walk.TypeDecision:
		return func(_ context.Context, _ Node, s *State) (any, error) { return s.Last, nil }
	case walk.TypeSet:
		return func(_ context.Context, n Node, _ *State) (any, error) { return n.Input, nil }
	case walk.TypeFail:
		return func(_ context.Context, n Node, _ *State) (any, error) { return nil, walk.StatedFailure(n.Input) }
	}
	return nil
}

// block returns the handler of a node with do: it walks the nodes of the block.
func (e *Executor) block(p *walk.Program) Handler {
	return func(ctx context.Context, n Node, _ *State) (any, error) {
		input := n.Input
		if p.Each {
			input, _, _ = walk.ItemInput(n.Input)
		}
		state := &State{Last: input, Outputs: map[string]any{"input": input}}
		x := &execution{e: e, graph: n.Do, program: p, state: state, walk: walk.New(p, walk.Facts{RunID: e.RunID, Input: n.Input})}
		err := x.run(ctx)
		return state.Last, err
	}
}
