package handler

import (
	"context"
	"errors"
	"sync"

	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/planner/walk"
)

// Numbers of the substeps in the conversations of one node. Each handoff has its own block of
// numbers, in the order in which the handoffs were made. The order is the same in every attempt.
const (
	stepBlock   = 100_000
	answerStep  = stepBlock - 1 // in a block: the result of the handoff
	memoryStep  = stepBlock - 2 // in the first block
	maxHandoffs = 20            // per node
)

// table runs the conversations of one node: that of the agent that the node names, and those of the
// agents that receive handoffs.
type table struct {
	r      *Registry
	m      *Models
	call   *engine.Call
	schema map[string]any

	mu      sync.Mutex
	made    int      // number of requested handoffs, including rejected ones
	reached []string // the targets of accepted handoffs
}

// converse lets an agent answer, and returns the agent that gave the final answer. If final is
// true, the answer is the node's output and must match its schema.
func (t *table) converse(ctx context.Context, a Agent, task, memory string, block int, final bool) (out any, who string, err error) {
	who = a.ID
	l := t.m.loop(a, t.call)
	l.FirstStep = block * stepBlock
	if !final {
		l.Schema = nil
	}
	for _, name := range a.Tools {
		if name == conversation.HandoffTool {
			l.Handoff = func(ctx context.Context, args any) (any, bool, error) {
				answer, last, back, err := t.handOver(ctx, a, args, final)
				if err == nil && !back {
					who = last
				}
				return answer, !back, err
			}
			continue
		}
		tool, ok := t.r.tools.Lookup(name)
		if !ok {
			return nil, who, (&walk.Failure{Code: walk.CodeUnknownTool, Permanent: true, NoEffect: true,
				Suggestion: "fix tools of the agent in the configuration"}).
				WithMessage("agent %s has a tool %q that does not exist", a.ID, name)
		}
		l.Tools = append(l.Tools, offered{t.r, tool.Spec(), t.call, a.Permissions})
	}
	l.Approve = func(step int, name string, args any) error {
		return t.r.consent(t.call, a.Permissions, step, name, args)
	}
	out, err = l.Run(ctx, task, memory)
	return out, who, err
}

// handOver executes a handoff that an agent requests. The agent's model receives a rejection as the
// failure of its call.
func (t *table) handOver(ctx context.Context, from Agent, args any, final bool) (answer any, who string, back bool, err error) {
	h, err := conversation.ParseHandoff(args)
	if err != nil {
		return nil, "", true, err
	}
	t.mu.Lock()
	t.made++
	block := t.made
	rejected := h.Check(from.ID, t.m.targets(), t.reached)
	if rejected == nil && block > maxHandoffs {
		rejected = (&walk.Failure{
			Code:      conversation.CodeHandoffLoop,
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("at most %d handoffs are made in one node", maxHandoffs)
	}
	if rejected == nil {
		t.reached = append(t.reached, h.Target)
	}
	t.mu.Unlock()

	p := engine.HandoffRequest{From: from.ID, To: h.Target, Reason: h.Reason, Explanation: h.Explanation, Request: args}
	if f, ok := errors.AsType[*walk.Failure](rejected); ok {
		p.Rejected = f
	}
	first := block * stepBlock
	if err := t.call.RecordHandoff(first, p); err != nil {
		return nil, "", true, err
	}
	if rejected != nil {
		return nil, "", true, rejected
	}
	target, _ := t.m.Agent(h.Target)
	out, who, err := t.converse(ctx, target, h.Task(), "", block, final && !h.ReturnControl)
	if err != nil && (context.Cause(ctx) != nil || !isAnswer(err)) {
		return nil, who, h.ReturnControl, err // the attempt ends without an answer
	}
	if recordErr := t.call.RecordHandoffResult(first+answerStep, first, p, out, err); recordErr != nil {
		return nil, who, h.ReturnControl, recordErr
	}
	return out, who, h.ReturnControl, err
}

// isAnswer reports whether a failure is an answer. It is not an answer if the attempt ends: because
// of a pending approval, a cancel, a timeout, or a call in doubt.
func isAnswer(err error) bool {
	f, ok := errors.AsType[*walk.Failure](err)
	return ok && f.Code != walk.CodeCancelled && f.Code != walk.CodeTimeout && !conversation.InDoubt(err) &&
		!errors.Is(err, engine.ErrApprovalPending)
}

// targets returns the properties of agents that the rules for handoffs check.
func (m *Models) targets() map[string]conversation.HandoffTarget {
	out := make(map[string]conversation.HandoffTarget, len(m.agents))
	for id, a := range m.agents {
		if a.Remote != nil {
			continue // only steps use it
		}
		out[id] = conversation.HandoffTarget{System: a.System, Capabilities: a.Capabilities}
	}
	return out
}
