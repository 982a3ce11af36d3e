package runstate

import (
	"cmp"
	"encoding/json"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// requestApproval opens the approval of an approval step with a durable row.
func requestApproval(m *Machine, w *Step, node *walk.ProgramNode, input any) {
	in, err := ReadApproval(input)
	if err == nil {
		_, err = jsonvalue.Encode(input)
	}
	if err != nil {
		m.refuse(w, (&walk.Failure{Code: walk.CodeInvalidInput, Node: node.ID}).WithMessage("node %q: %s", node.ID, err))
		return
	}
	addWait(m, w, domain.WaitApproval, input, func(e *domain.Entry) {
		e.Ref = requestID(m, "approval", w)
		e.Decision = WaitDecision{Kind: KindApproval, Digest: ApprovalBinding(&m.Run, m.Program, m.State, w.VisitKey, w.Item, input)}.JSON()
		if in.Timeout > 0 {
			e.DueAt = e.At.Add(in.Timeout)
		}
	})
	openApproval(m, w)
}

// requestID returns the ID of the request that the next row opens. Each request has its own.
func requestID(m *Machine, kind string, w *Step) string {
	return DerivedID(kind, m.Run.ID, m.Program.Nodes[w.Node].ID, w.Visit, w.Item, int(m.State.Seq)+1)
}

// approvalOf returns the open approval of the step.
func approvalOf(m *Machine, w *Step) domain.Approval { return ApprovalRequest(&m.Run, m.State, w) }

// openApproval opens the approval request of the step.
func openApproval(m *Machine, w *Step) { m.next.Approvals = append(m.next.Approvals, approvalOf(m, w)) }

// PendingApproval returns the step that waits for an approval. The error has CodeConflict.
func PendingApproval(s *State, id string) (*Step, error) {
	if w := s.WaitingFor(id); w != nil && w.Reason == domain.WaitApproval {
		return w, nil
	}
	return nil, domain.Errorf(domain.CodeConflict, "the approval is no longer pending")
}

func (ev *ApprovalDecided) handle(m *Machine) error {
	p := &ev.Approval
	w, err := PendingApproval(m.State, p.ID)
	if err != nil {
		return err
	}
	action, record := ActionApproved, "approval.decide"
	switch {
	case ev.Request.RequestChanges:
		action, record = ActionChangesRequested, "approval.request_changes"
	case ev.Answer.Rejects():
		action = ActionRejected
	}
	p.Answer, p.Status, p.DecidedAt, p.DecidedBy = ev.Answer.ID, action, m.env.Now, ev.Actor.Name
	p.Comment, p.Values = ev.Request.Comment, ev.Request.Values
	m.record(ev.Request.Receipt, p.ID, domain.AuditRecord{Action: record, Actor: ev.Actor.Name, Source: ev.Actor.Source,
		Request: ev.Actor.Request, Run: m.Run.ID, Object: "approval:" + p.ID, Reason: ev.Request.Comment,
		Detail: detail(map[string]any{"decision": action, "answer": p.Answer, "digest": p.Digest, "node": p.Node})})
	answerApproval(m, w, *p, ev.Version)
	return nil
}

// answerApproval closes an approval and settles its step.
func answerApproval(m *Machine, w *Step, p domain.Approval, v *NewVersion) {
	m.separate()
	asked, target := w.Consent, w.ReplanTarget
	action, by, comment := p.Status, p.DecidedBy, p.Comment
	if action == ActionExpired {
		comment = ReasonExpired
	}
	e := m.entry(domain.EntryResolve, w.StepKey)
	e.Decision, e.Ref, e.Actor, e.Reason, e.Attempt = ResolveDecision{Action: action, Answer: p.Answer}.JSON(), p.ID, by, comment, w.Attempt
	m.add(e)
	m.next.Approvals = append(m.next.Approvals, p)
	m.dueDirty = true
	switch {
	case asked != nil:
		answerConsent(m, w, *asked)
		return
	case target != nil:
		answerReplan(m, w, *target, v, action == ActionApproved, by, comment)
		return
	}
	values, err := Decode(p.Values)
	if err != nil {
		values = nil
	}
	if action == ActionExpired && p.OnTimeout == "fail" {
		f := &domain.Failure{Code: walk.CodeTimeout, Permanent: true, NoEffect: true}
		m.final(w, domain.NodeFailed, nil, f.WithMessage("no answer before the deadline: %s", p.Message), nil)
		return
	}
	approved := action == ActionApproved || action == ActionExpired && p.OnTimeout == "approve"
	node := &m.Program.Nodes[w.Node]
	out, rejected := node.AnswerOutput(p.Answer, approved, by, comment, values)
	if rejected != nil {
		if action == ActionExpired {
			rejected.WithMessage("rejected by %s: no answer in time", by)
		}
		m.final(w, domain.NodeFailed, nil, FromPlanner(rejected, node.ID), nil)
		return
	}
	m.final(w, domain.NodeCompleted, out, nil, nil)
}

// expireApproval applies on_timeout.
func expireApproval(m *Machine, w *Step) {
	p := approvalOf(m, w)
	p.Status, p.DecidedAt, p.DecidedBy = ActionExpired, m.env.Now, domain.System.Name
	if p.OnTimeout != "fail" { // a rejection may have no answer of its own
		given, err := p.AnswerOf(domain.DecideRequest{Approve: p.OnTimeout == "approve"})
		if err != nil {
			given.ID = "reject"
		}
		p.Answer = given.ID
	}
	answerApproval(m, w, p, nil)
}

// closeApproval withdraws the approval request of the step.
func closeApproval(m *Machine, w *Step, by string, why domain.Message) {
	p := approvalOf(m, w) //seed:close-approval
	p.Status, p.DecidedAt, p.DecidedBy, p.Comment, p.Text = "cancelled", m.env.Now, by, why.String(), why
	m.next.Approvals = append(m.next.Approvals, p)
}

// reopenApprovals reopens the requests that were withdrawn when the run was quarantined. Pending
// requests stay unchanged.
func reopenApprovals(m *Machine) {
	for _, w := range m.State.OpenSteps() {
		if w.Phase == PhaseWaiting && w.Reason == domain.WaitApproval {
			openApproval(m, w)
		}
	}
}

// awaitConsent makes a step wait for the approval that its attempt requested. It returns false if
// the attempt ended in another way.
func awaitConsent(m *Machine, ev *AttemptDone, w *Step) bool {
	t := ev.Attempt
	if ev.Asked == nil || len(w.CallsInFlight) > 0 || isCancelled(m, w) {
		return false
	}
	fill := func(e *domain.Entry) {
		e.Attempt, e.StartedAt, e.Log, e.Usage, e.Agent = t.Number, t.StartedAt, ev.Log, ev.Usage, cmp.Or(ev.Agent, t.Spec.Agent)
		if t.Effect == walk.EffectPure { // the attempt has no earlier row
			e.Effect = string(t.Effect)
		}
	}
	if m.State.StoppedWithRun(w) {
		m.final(w, domain.NodeCancelled, nil, nil, fill) // a stopping run requests no approval
		return true
	}
	askConsent(m, w, *ev.Asked, fill)
	return true
}

// askConsent opens a consent request with a durable row.
func askConsent(m *Machine, w *Step, c ConsentRequest, fill func(*domain.Entry)) {
	e := m.entry(domain.EntryWait, w.StepKey)
	e.Status, e.Reason, e.Effect = domain.NodeWaiting, string(domain.WaitApproval), string(walk.EffectControl)
	e.Attempt, e.Substep, e.StartedAt, e.Input = w.Attempt, c.Substep, e.At, c.Args
	e.Ref = requestID(m, "consent", w)
	if timeout := m.env.Options.ConsentTimeout; timeout > 0 {
		e.DueAt = e.At.Add(timeout)
	}
	if c.Substep == 0 {
		e.Attempt++ // the attempt that will follow
	}
	e.Decision = WaitDecision{Kind: KindConsent, Tool: c.Tool, Digest: c.Digest}.JSON()
	if fill != nil {
		fill(&e)
	}
	m.add(e)
	m.dueDirty = true
	openApproval(m, w)
}

// answerConsent continues the step with its call. After a rejection, the step fails, or in a
// conversation the tool call does.
func answerConsent(m *Machine, w *Step, c ConsentRequest) {
	if g := w.Answers[c.Substep]; !g.Approved && c.Substep == 0 {
		m.final(w, domain.NodeFailed, nil, FromPlanner(g.Rejection(c.Tool), m.Program.Nodes[w.Node].ID),
			func(e *domain.Entry) { e.Attempt = w.Attempt + 1 })
		return
	}
	m.queue.push(w.StepKey)
}

// detail encodes the detail of an audit record.
func detail(v map[string]any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // the values are plain
	}
	return b
}
