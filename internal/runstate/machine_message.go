package runstate

import (
	"cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// agentOf returns the agent of a node, or "".
func agentOf(m *Machine, node int) string {
	if list := m.env.Options.Agents; node < len(list) {
		return list[node]
	}
	return ""
}

// recordHandoff records the handoff to the agent of a node whose first attempt begins with the row.
func recordHandoff(m *Machine, e *domain.Entry) {
	if !BeginsAttempt(e) || m.Run.Dry() {
		return
	}
	node := &m.Program.Nodes[m.Program.Index[e.Node]]
	if node.Agent == "" {
		return
	}
	from := senderOf(m, node)
	if !HandsOver(e, node.Agent, from) {
		return
	}
	m.next.Handoffs = append(m.next.Handoffs, domain.Handoff{ID: HandoffID(m.Run.ID, e.Seq), Run: m.Run.ID, Seq: e.Seq,
		From: from, To: node.Agent, Node: node.ID, Reason: HandoffReason, Context: node.Task, At: e.At})
}

// senderOf returns the agent that a node takes over from: that of the last ancestor with an agent,
// or else the supervisor.
func senderOf(m *Machine, node *walk.ProgramNode) string {
	if m.Program.Kind == walk.KindSteps {
		return PreviousAgent(m.Program.Program, node.Index) // a step plan has its own order
	}
	from := SupervisorAgent
	seen := map[int]bool{node.Index: true}
	queue := append([]int(nil), m.Program.Predecessors[node.Index]...)
	ancestors := map[int]bool{}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if seen[i] {
			continue
		}
		seen[i], ancestors[i] = true, true
		queue = append(queue, m.Program.Predecessors[i]...)
	}
	last := int64(0)
	for i, c := range m.State.Completed {
		if ancestors[i] && c[0].Seq > last {
			from, last = m.Program.Nodes[i].Agent, c[0].Seq
		}
	}
	return from
}

// recordMessages records the request at the start of an agent's attempt, and the response or error
// at its end, with the journal row.
func recordMessages(m *Machine, e *domain.Entry) {
	if e.Node == "" || e.Attempt == 0 || e.Substep != 0 || e.Kind != domain.EntryIntent && e.Kind != domain.EntryResult {
		return
	}
	node := &m.Program.Nodes[m.Program.Index[e.Node]]
	agent := agentOf(m, node.Index)
	if agent == "" {
		return
	}
	msg := domain.AgentMessage{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Item: e.Item,
		Metadata: domain.MessageMetadata{Timestamp: e.At, Priority: domain.MessagePriority(m.Run.Priority)}}
	from := senderOf(m, node)
	if from == agent { // it continues its own work, so the plan is the sender
		from = SupervisorAgent
	}
	if e.Kind == domain.EntryIntent {
		msg.ID, msg.Type = MessageID(m.Run.ID, e, 0, domain.MessageRequest), domain.MessageRequest
		msg.From, msg.To, msg.Payload = from, agent, e.Input
		msg.Metadata.TTL, msg.Metadata.RetryCount = node.Timeout.Milliseconds(), e.Attempt-1
		if m.Program.Kind == walk.KindSteps {
			msg.Metadata.IsPlanContext, msg.Metadata.StepID = true, e.Node
		}
		m.next.Messages = append(m.next.Messages, msg)
		return
	}
	msg.Type, msg.Payload = domain.MessageResponse, e.Output
	if e.Status != domain.NodeCompleted {
		msg.Type, msg.Payload = domain.MessageError, FailurePayload(e.Failure, string(e.Status))
	}
	msg.ID, msg.CorrelationID = MessageID(m.Run.ID, e, 0, "answer"), MessageID(m.Run.ID, e, 0, domain.MessageRequest)
	msg.From, msg.To = cmp.Or(e.Agent, agent), from
	if msg.From == msg.To { // it was handed over to the caller
		msg.From = agent
	}
	m.next.Messages = append(m.next.Messages, msg)
}

// FailurePayload returns the payload of a message about a failure.
func FailurePayload(f *domain.Failure, status string) domain.RawJSON {
	v := map[string]any{"code": status, "message": "it was " + status}
	if f != nil {
		v["code"], v["message"] = f.Code, f.Message
	}
	raw, err := jsonvalue.Encode(v)
	if err != nil {
		return nil // two strings can always be encoded
	}
	return raw
}

// sessionMemory returns the exchange that the session of a run stores. It is nil for runs without a
// session and for child runs.
func sessionMemory(m *Machine) *domain.Memory {
	if m.Run.Session == "" || m.Run.Session == m.Run.ID || m.Run.Parent != nil || m.Run.Output == nil {
		return nil
	}
	input, err := Decode(m.Run.Input)
	if err != nil || input == nil {
		return nil
	}
	output, err := Decode(m.Run.Output)
	if err != nil || output == nil {
		return nil
	}
	mem := &domain.Memory{Owner: m.Run.Actor, Session: m.Run.Session, Run: m.Run.ID,
		Input: jsonvalue.Text(input), Output: jsonvalue.Text(output), At: m.env.Now}
	if m.Program.Kind == walk.KindSteps {
		mem.Output = AggregateSteps(stepStates(m))
	}
	return mem
}

// stepStates returns the steps of a step plan with the fields that an answer needs.
func stepStates(m *Machine) []domain.PlanStepState {
	out := make([]domain.PlanStepState, len(m.Program.Nodes))
	for i := range m.Program.Nodes {
		status, _ := m.State.Walk.Status(i)
		out[i] = domain.PlanStepState{Task: TaskOf(&m.Program.Nodes[i]), Status: string(status)}
		if v, ok := m.State.Walk.Output(m.Program.Nodes[i].ID); ok && status == walk.Completed && v != nil {
			out[i].Result = m.Program.Nodes[i].Text(v)
		}
	}
	return out
}
