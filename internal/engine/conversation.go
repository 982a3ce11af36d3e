package engine

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// Speakers is implemented by registries whose nodes may be agents: their requests
// and answers are recorded as messages.
type Speakers interface {
	// Speaker is the agent behind a node; empty: none is.
	Speaker(node *walk.ProgramNode) string
}

// speakers are the agents behind the nodes of a program, by index; nil: there are none.
func (s *setup) speakers(p *runstate.Compiled) []string {
	var list []string
	known, ok := s.Registry.(Speakers)
	for i := range p.Nodes {
		agent := p.Nodes[i].Agent
		if ok {
			agent = known.Speaker(&p.Nodes[i])
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

// Passing is work that one agent passes on to another inside a node.
type Passing struct {
	From, To            string
	Reason, Explanation string
	// Request is the work.
	Request any
	// Rejected is why it is not passed on; nil: it is.
	Rejected *walk.Failure
}

// mail is what a sub-step's row is stored with.
type mail struct {
	handoff  *domain.Handoff
	messages []domain.AgentMessage
}

// pass records a handoff as sub-step n, once: the request, and its ack or the
// error that rejects it.
func (t *attempt) pass(recorded domain.Entry, n int, p Passing) error {
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
	if t.Spec.Timeout > 0 { // what is left of the attempt's time
		request.Metadata.TTL = max((t.Spec.Timeout - t.handlers.now().Sub(t.StartedAt)).Milliseconds(), 1)
	}
	l := mail{messages: []domain.AgentMessage{request}}
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

// handBack records as sub-step n what the handoff at sub-step request came to.
func (t *attempt) handBack(recorded domain.Entry, n, request int, p Passing, out any, err error) error {
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
	return t.recordSubstep(row, mail{messages: []domain.AgentMessage{answer}})
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
