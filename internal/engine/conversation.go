package engine

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// NodeAgents is implemented by registries whose nodes may be agents. Their requests and responses are
// recorded as messages.
type NodeAgents interface {
	// NodeAgent returns the agent of a node, or "".
	NodeAgent(node *walk.ProgramNode) string
}

// nodeAgents returns the agents of the nodes of a program, by index, or nil if there are none.
func (s *setup) nodeAgents(p *runstate.Compiled) []string {
	var list []string
	known, ok := s.Registry.(NodeAgents)
	for i := range p.Nodes {
		agent := p.Nodes[i].Agent
		if ok {
			agent = known.NodeAgent(&p.Nodes[i])
		}
		if agent != "" && list == nil {
			list = make([]string, len(p.Nodes))
		}
		if agent != "" {
			list[i] = agent
		}
	}
	return list
}

// HandoffRequest is a handoff from one agent to another inside a node.
type HandoffRequest struct {
	From, To            string
	Reason, Explanation string
	// Request is the work.
	Request any
	// Rejected is the reason why the handoff is rejected, or nil.
	Rejected *walk.Failure
}

// substepData is the data that is stored with the row of a sub-step.
type substepData struct {
	handoff  *domain.Handoff
	messages []domain.AgentMessage
}

// recordHandoff records a handoff as sub-step n, once: the request, and its acknowledgment or the error that
// rejects it.
func (t *attempt) recordHandoff(recorded domain.Entry, n int, p HandoffRequest) error {
	kind := "handoff:" + p.To
	if recorded.Substep == n && sameSubstep(recorded, kind, p.From) {
		return nil
	}
	_, raw, failure := t.handlers.current().encodeOutput(t.Spec.ID,
		map[string]any{"from": p.From, "to": p.To, "reason": p.Reason, "explanation": p.Explanation, "request": p.Request})
	if failure != nil {
		return runstate.ToPlanner(failure)
	}
	row := t.substepRow(n, kind, p.From)
	row.Input, row.Status, row.Agent = raw, domain.NodeCompleted, p.To
	request := t.message(&row, n, domain.MessageRequest, p.From, p.To, raw)
	request.Metadata.RequiresAck = true
	if t.Spec.Timeout > 0 { // the remaining time of the attempt
		request.Metadata.TTL = max((t.Spec.Timeout - t.handlers.now().Sub(t.StartedAt)).Milliseconds(), 1)
	}
	l := substepData{messages: []domain.AgentMessage{request}}
	if p.Rejected != nil {
		row.Status, row.Failure = domain.NodeFailed, runstate.FromPlanner(p.Rejected, t.Spec.ID)
		refusal := t.message(&row, n, domain.MessageError, p.To, p.From, runstate.FailurePayload(row.Failure, ""))
		refusal.CorrelationID = request.ID
		l.messages = append(l.messages, refusal)
	} else {
		ack := t.message(&row, n, domain.MessageAck, p.To, p.From, nil)
		ack.CorrelationID = request.ID
		l.messages = append(l.messages, ack)
		l.handoff = &domain.Handoff{ID: strings.TrimSuffix(request.ID, ":request"), Run: t.run, From: p.From, To: p.To,
			Node: t.Spec.ID, Reason: p.Reason, Context: p.Explanation, At: row.StartedAt}
	}
	return t.recordSubstep(row, l)
}

// recordHandoffResult records as sub-step n the result of the handoff at sub-step request.
func (t *attempt) recordHandoffResult(recorded domain.Entry, n, request int, p HandoffRequest, out any, err error) error {
	kind := "answer:" + p.To
	if recorded.Substep == n && sameSubstep(recorded, kind, p.From) {
		return nil
	}
	row := t.substepRow(n, kind, p.From)
	row.Status, row.Agent = domain.NodeCompleted, p.To
	answer := t.message(&row, n, domain.MessageResponse, p.To, p.From, nil)
	answer.CorrelationID = runstate.MessageID(t.run, &row, request, domain.MessageRequest)
	if err != nil {
		row.Status, row.Failure = domain.NodeFailed, runstate.FromPlanner(walk.AsFailure(err), t.Spec.ID)
		t.handlers.current().maskFailure(row.Failure)
		answer.Type, answer.Payload = domain.MessageError, runstate.FailurePayload(row.Failure, "")
	} else {
		_, raw, failure := t.handlers.current().encodeOutput(t.Spec.ID, out)
		if failure != nil {
			return runstate.ToPlanner(failure)
		}
		row.Output, answer.Payload = raw, raw
	}
	return t.recordSubstep(row, substepData{messages: []domain.AgentMessage{answer}})
}

func (t *attempt) substepRow(n int, kind, digest string) domain.Entry {
	return domain.Entry{Kind: domain.EntrySubstep, Node: t.Spec.ID, Visit: t.Visit, Item: t.Item, Attempt: t.Number, Substep: n,
		Effect: string(walk.EffectPure), StartedAt: t.handlers.now(), Decision: runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON()}
}

func (t *attempt) message(row *domain.Entry, n int, typ domain.MessageType, from, to string, payload domain.RawJSON) domain.AgentMessage {
	return domain.AgentMessage{
		ID:       runstate.MessageID(t.run, row, n, typ),
		From:     from,
		To:       to,
		Type:     typ,
		Payload:  payload,
		Node:     row.Node,
		Visit:    row.Visit,
		Item:     row.Item,
		Metadata: domain.MessageMetadata{Timestamp: row.StartedAt, Priority: domain.MessagePriority(t.priority)},
	}
}
