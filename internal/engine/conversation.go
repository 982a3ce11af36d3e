package engine

import (
	"cmp"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Speakers is implemented by registries whose nodes may be agents: what these
// are asked and answer is recorded as messages.
type Speakers interface {
	// Speaker is the agent behind a node; empty: none is.
	Speaker(node *walk.ProgramNode) string
}

func (e *Engine) speaker(node *walk.ProgramNode) string {
	if s, ok := e.current().Registry.(Speakers); ok {
		return s.Speaker(node)
	}
	return node.Agent
}

// converse records the request that an attempt of an agent begins with, and the
// response or error that it ends with, beside the journal row that says so.
func (a *runner) converse(e *domain.Entry) {
	if e.Node == "" || e.Attempt == 0 || e.Substep != 0 || e.Kind != domain.EntryIntent && e.Kind != domain.EntryResult {
		return
	}
	node := &a.prog.Nodes[a.prog.Index[e.Node]]
	agent := a.e.speaker(node)
	if agent == "" {
		return
	}
	m := domain.Message{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Item: e.Item,
		Metadata: domain.MessageMetadata{Timestamp: e.At, Priority: domain.MessagePriority(a.run.Priority)}}
	from := a.sender(node)
	if from == agent { // it goes on with its own work: the plan asks it
		from = runstate.SupervisorAgent
	}
	if e.Kind == domain.EntryIntent {
		m.ID, m.Type, m.From, m.To, m.Payload = runstate.MessageID(a.id, e, 0, domain.MessageRequest), domain.MessageRequest, from, agent, e.Input
		m.Metadata.TTL, m.Metadata.RetryCount = node.Timeout.Milliseconds(), e.Attempt-1
		if a.prog.Kind == walk.KindSteps {
			m.Metadata.IsPlanContext, m.Metadata.StepID = true, e.Node
		}
		a.pipe.next.Messages = append(a.pipe.next.Messages, m)
		return
	}
	m.Type, m.Payload = domain.MessageResponse, e.Output
	if e.Status != domain.NodeCompleted {
		m.Type, m.Payload = domain.MessageError, failurePayload(e.Failure, string(e.Status))
	}
	m.ID, m.CorrelationID = runstate.MessageID(a.id, e, 0, "answer"), runstate.MessageID(a.id, e, 0, domain.MessageRequest)
	m.From, m.To = cmp.Or(e.Agent, agent), from
	if m.From == m.To { // it was handed over to whoever asked
		m.From = agent
	}
	a.pipe.next.Messages = append(a.pipe.next.Messages, m)
}

func failurePayload(f *domain.Failure, status string) domain.RawJSON {
	v := map[string]any{"code": status, "message": "it was " + status}
	if f != nil {
		v["code"], v["message"] = f.Code, f.Message
	}
	raw, err := jsonvalue.Encode(v)
	if err != nil {
		return nil // two strings: cannot happen
	}
	return raw
}

// Passing is work that one agent passes on to another inside a node.
type Passing struct {
	From, To            string
	Reason, Explanation string
	// Request is what the other is asked.
	Request any
	// Rejected is why it is not passed on; nil: it is.
	Rejected *walk.Failure
}

// mail is what a sub-step's row is stored with.
type mail struct {
	handoff  *domain.Handoff
	messages []domain.Message
}

// pass records a handoff as sub-step n, once: the request, and its ack or the
// error that rejects it.
func (a *runner) pass(t *attempt, recorded domain.Entry, n int, p Passing) error {
	kind := "handoff:" + p.To
	if recorded.Substep == n && sameSubstep(recorded, kind, p.From) {
		return nil
	}
	_, raw, failure := t.e.encodeOutput(t.node.ID, map[string]any{"from": p.From, "to": p.To, "reason": p.Reason, "explanation": p.Explanation, "request": p.Request})
	if failure != nil {
		return runstate.ToPlanner(failure)
	}
	row := t.substepRow(n, kind, p.From)
	row.Input, row.Status, row.Agent = raw, domain.NodeCompleted, p.To
	request := t.message(&row, n, domain.MessageRequest, p.From, p.To, raw)
	request.Metadata.RequiresAck = true
	if t.node.Timeout > 0 { // what is left of the attempt's time
		request.Metadata.TTL = max((t.node.Timeout - t.e.now().Sub(t.started)).Milliseconds(), 1)
	}
	l := mail{messages: []domain.Message{request}}
	if p.Rejected != nil {
		row.Status, row.Failure = domain.NodeFailed, runstate.FromPlanner(p.Rejected, t.node.ID)
		refusal := t.message(&row, n, domain.MessageError, p.To, p.From, failurePayload(row.Failure, ""))
		refusal.CorrelationID = request.ID
		l.messages = append(l.messages, refusal)
	} else {
		ack := t.message(&row, n, domain.MessageAck, p.To, p.From, nil)
		ack.CorrelationID = request.ID
		l.messages = append(l.messages, ack)
		l.handoff = &domain.Handoff{ID: strings.TrimSuffix(request.ID, ":request"), Run: t.run, From: p.From, To: p.To, Node: t.node.ID, Reason: p.Reason, Context: p.Explanation, At: row.StartedAt}
	}
	return t.recordSubstep(row, l)
}

// handBack records as sub-step n what the handoff at sub-step request came to.
func (a *runner) handBack(t *attempt, recorded domain.Entry, n, request int, p Passing, out any, err error) error {
	kind := "answer:" + p.To
	if recorded.Substep == n && sameSubstep(recorded, kind, p.From) {
		return nil
	}
	row := t.substepRow(n, kind, p.From)
	row.Status, row.Agent = domain.NodeCompleted, p.To
	answer := t.message(&row, n, domain.MessageResponse, p.To, p.From, nil)
	answer.CorrelationID = runstate.MessageID(t.run, &row, request, domain.MessageRequest)
	if err != nil {
		row.Status, row.Failure = domain.NodeFailed, runstate.FromPlanner(walk.AsFailure(err), t.node.ID)
		t.e.maskFailure(row.Failure)
		answer.Type, answer.Payload = domain.MessageError, failurePayload(row.Failure, "")
	} else {
		_, raw, failure := t.e.encodeOutput(t.node.ID, out)
		if failure != nil {
			return runstate.ToPlanner(failure)
		}
		row.Output, answer.Payload = raw, raw
	}
	return t.recordSubstep(row, mail{messages: []domain.Message{answer}})
}

func (t *attempt) substepRow(n int, kind, digest string) domain.Entry {
	return domain.Entry{Kind: domain.EntrySubstep, Node: t.node.ID, Visit: t.key.Visit, Item: t.key.Item, Attempt: t.number, Substep: n,
		Effect: string(walk.EffectPure), StartedAt: t.e.now(), Decision: runstate.SubstepDecision{Kind: kind, Digest: digest}.JSON()}
}

func (t *attempt) message(row *domain.Entry, n int, typ domain.MessageType, from, to string, payload domain.RawJSON) domain.Message {
	return domain.Message{ID: runstate.MessageID(t.run, row, n, typ), From: from, To: to, Type: typ, Payload: payload, Node: row.Node, Visit: row.Visit, Item: row.Item,
		Metadata: domain.MessageMetadata{Timestamp: row.StartedAt, Priority: domain.MessagePriority(t.priority)}}
}

// remembered is what the session of a run keeps of it: what it was asked and
// what it answered. Runs that were started without a session, and parts of other
// runs, are not remembered.
func (a *runner) remembered(now time.Time) *domain.Memory {
	if a.run.Session == "" || a.run.Session == a.id || a.run.Parent != nil || a.run.Output == nil {
		return nil
	}
	input, err := runstate.Decode(a.run.Input)
	if err != nil || input == nil {
		return nil
	}
	output, err := runstate.Decode(a.run.Output)
	if err != nil || output == nil {
		return nil
	}
	m := &domain.Memory{Owner: a.run.Actor, Session: a.run.Session, Run: a.id, Input: jsonvalue.Text(input), Output: jsonvalue.Text(output), At: now}
	if a.prog.Kind == walk.KindSteps {
		m.Output = runstate.AggregateSteps(a.stepStates())
	}
	return m
}

// stepStates are the steps of a step plan as far as an answer needs them.
func (a *runner) stepStates() []domain.PlanStepState {
	out := make([]domain.PlanStepState, len(a.prog.Nodes))
	for i := range a.prog.Nodes {
		status, _ := a.s.Walk.Status(i)
		out[i] = domain.PlanStepState{Task: runstate.TaskOf(&a.prog.Nodes[i]), Status: string(status)}
		if v, ok := a.s.Walk.Output(a.prog.Nodes[i].ID); ok && status == walk.Completed && v != nil {
			out[i].Result = a.prog.Nodes[i].Text(v)
		}
	}
	return out
}
