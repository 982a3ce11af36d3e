package runstate

import (
	"cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// speakerOf is the agent behind a node; empty: none is.
func speakerOf(m *Machine, node int) string {
	if list := m.env.Options.Speakers; node < len(list) {
		return list[node]
	}
	return ""
}

// recordHandoff records the handoff to the agent of a node whose first attempt begins with
// the row.
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

// senderOf is the agent that a node takes over from: that of the last ancestor
// that has one, else the supervisor.
func senderOf(m *Machine, node *walk.ProgramNode) string {
	if m.Program.Kind == walk.KindSteps {
		return PreviousAgent(m.Program.Program, node.Index) // steps have an order of their own
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

// recordMessages records the request that an attempt of an agent begins with, and the
// response or error that it ends with, beside the journal row that records it.
func recordMessages(m *Machine, e *domain.Entry) {
	if e.Node == "" || e.Attempt == 0 || e.Substep != 0 || e.Kind != domain.EntryIntent && e.Kind != domain.EntryResult {
		return
	}
	node := &m.Program.Nodes[m.Program.Index[e.Node]]
	agent := speakerOf(m, node.Index)
	if agent == "" {
		return
	}
	msg := domain.AgentMessage{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Item: e.Item,
		Metadata: domain.MessageMetadata{Timestamp: e.At, Priority: domain.MessagePriority(m.Run.Priority)}}
	from := senderOf(m, node)
	if from == agent { // it continues with its own work: the plan asks it
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

// FailurePayload is what a message about a failure contains.
func FailurePayload(f *domain.Failure, status string) domain.RawJSON {
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

// sessionMemory is what the session of a run keeps of it: its request and its
// answer. Runs that were started without a session, and parts of other
// runs, are not remembered.
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

// stepStates are the steps of a step plan as far as an answer needs them.
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
