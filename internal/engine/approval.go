package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/failpoint"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// approvalInput is the input of an `approval` node (SPEC 5).
type approvalInput struct {
	message   string
	form      any
	timeout   time.Duration
	onTimeout string
}

func readApproval(input any) (approvalInput, error) {
	var in approvalInput
	if text, ok := input.(string); ok {
		in.message, in.onTimeout = text, "reject"
		return in, nil
	}
	m, ok := input.(map[string]any)
	if !ok {
		return in, fmt.Errorf("an approval takes {message, form?, timeout?, on_timeout?}")
	}
	in.message = planner.Text(m["message"])
	if m["message"] == nil {
		in.message = ""
	}
	in.form = m["form"]
	if in.form != nil {
		if _, err := compileSchema(in.form); err != nil {
			return in, fmt.Errorf("the form is not a JSON Schema: %w", err)
		}
	}
	if m["timeout"] != nil {
		d, err := time.ParseDuration(planner.Text(m["timeout"]))
		if err != nil || d <= 0 {
			return in, fmt.Errorf("timeout %q is not a positive duration", planner.Text(m["timeout"]))
		}
		in.timeout = d.Truncate(time.Microsecond)
	}
	in.onTimeout = "reject"
	if m["on_timeout"] != nil {
		in.onTimeout = planner.Text(m["on_timeout"])
	}
	switch in.onTimeout {
	case "approve", "reject", "fail":
	default:
		return in, fmt.Errorf("on_timeout is %q; it must be approve, reject or fail", in.onTimeout)
	}
	return in, nil
}

// question is the message of an approval's recorded input.
func question(raw kairos.RawJSON) string {
	v, err := decode(raw)
	if err != nil {
		return ""
	}
	in, _ := readApproval(v)
	return in.message
}

// ask opens an approval: a durable row and a question in the inbox.
func (a *actor) ask(w *work, node *planner.ProgramNode, input any) {
	in, err := readApproval(input)
	if err != nil {
		a.refuse(w, &planner.Failure{Code: planner.CodeInvalidInput, Node: node.ID, Message: fmt.Sprintf("node %q: %s", node.ID, err)})
		return
	}
	now := a.e.now()
	p := kairos.Approval{
		ID: derivedID("approval", a.id, node.ID, w.Visit, w.item, w.attempt+1), Run: a.id, PlanKey: a.run.PlanKey,
		Node: node.ID, Visit: w.Visit, Item: w.item, Message: in.message, Status: "open", OnTimeout: in.onTimeout,
		CreatedAt: now, StartedBy: a.run.Actor,
	}
	if in.form != nil {
		if p.Form, err = planner.EncodeValue(in.form); err != nil {
			a.refuse(w, &planner.Failure{Code: planner.CodeInvalidInput, Node: node.ID, Message: err.Error()})
			return
		}
	}
	if in.timeout > 0 {
		p.DueAt = now.Add(in.timeout)
	}
	p.Label, p.YesWord, p.NoWord = node.Metadata["risk"], node.Metadata["approve"], node.Metadata["reject"]
	p.Digest = approvalDigest(&p, input)
	a.waitRow(w, kairos.WaitApproval, input, func(e *kairos.Entry) { e.Ref, e.DueAt = p.ID, p.DueAt })
	p.Rev = a.s.seq
	a.next.Approvals = append(a.next.Approvals, p)
}

// approvalDigest binds a decision to exactly what is asked.
func approvalDigest(p *kairos.Approval, input any) string {
	raw, err := planner.EncodeValue(input)
	if err != nil {
		raw = []byte(err.Error())
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%d\x00%s\x00", p.Run, p.Node, p.Visit, p.Item, p.PlanKey)
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}

// derivedID is an id that follows from what it names: making it twice gives the
// same one.
func derivedID(kind, run, node string, visit, item, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d\x00%d\x00%d", kind, run, node, visit, item, n))
	return kairos.IDFrom([16]byte(sum[:16]))
}

// decideMsg carries a person's answer to an approval.
type decideMsg struct {
	actor kairos.Actor
	req   kairos.DecideRequest
	reply chan decideReply
}

type decideReply struct {
	approval kairos.Approval
	err      error
}

func (m decideMsg) answer(err error) { m.reply <- decideReply{err: err} }

// Decide answers an approval. The digest, if given, must be that of the
// question; values are checked against its form.
func (e *Engine) Decide(ctx context.Context, actor kairos.Actor, req kairos.DecideRequest) (kairos.Approval, error) {
	object := "approval:" + req.Approval
	if err := e.allow(ctx, actor, kairos.RoleOperator, "approval.decide", "", object); err != nil {
		return kairos.Approval{}, err
	}
	p, err := e.store.Approval(ctx, req.Approval)
	if err != nil {
		return kairos.Approval{}, err
	}
	if e.current().SeparateApprovals {
		same, err := e.samePerson(ctx, p.StartedBy, actor.Name)
		if err != nil {
			return p, err
		}
		if same {
			err := kairos.Errorf(kairos.CodeForbidden, "%s started the run and may not answer its approvals", actor.Name).
				Suggest("ask another operator")
			return p, e.denied(ctx, actor, "approval.decide", p.Run, object, err)
		}
	}
	if p.Status != "open" {
		err := kairos.Errorf(kairos.CodeConflict, "the approval was %s by %s already", p.Status, cmp.Or(p.DecidedBy, "the system"))
		if p.DecidedBy == kairos.System.Name && p.Comment != "" {
			err.Message += ": " + p.Comment
		}
		return p, err
	}
	if req.Digest != "" && req.Digest != p.Digest {
		return p, kairos.Errorf(kairos.CodeStale, "the question has changed since you looked").Suggest("read it again, then decide")
	}
	if req.AskBack {
		switch {
		case !p.MayAsk:
			return p, kairos.Errorf(kairos.CodeInvalid, "nobody can be asked back: the plan asks this, not an agent").Suggest("approve or reject")
		case req.Approve || len(req.Values) > 0:
			return p, kairos.Errorf(kairos.CodeInvalid, "to ask back is no answer")
		case strings.TrimSpace(req.Comment) == "":
			return p, kairos.Errorf(kairos.CodeInvalid, "say what you want to know")
		}
	}
	if req.Approve && len(p.Form) > 0 {
		if len(req.Values) == 0 {
			req.Values = kairos.RawJSON("{}") // a form of which nothing was filled in
		}
		if err := validateRaw(p.Form, req.Values, "answer"); err != nil {
			return p, err
		}
	}
	if len(req.Values) > 0 {
		if _, err := planner.DecodeValue(req.Values); err != nil {
			return p, kairos.Errorf(kairos.CodeInvalid, "values: %w", err)
		}
	}
	m := decideMsg{actor, req, make(chan decideReply, 1)}
	if !e.post(p.Run, m) {
		return p, e.notOpen()
	}
	select {
	case r := <-m.reply:
		return r.approval, r.err
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
}

// samePerson reports whether one person may be behind both names: nobody is two
// people by making a token (ruling 38).
func (e *Engine) samePerson(ctx context.Context, a, b string) (bool, error) {
	if a == b || e.opts.People == nil {
		return a == b, nil
	}
	first, err := e.opts.People(ctx, a)
	if err != nil {
		return false, fmt.Errorf("find who %s is: %w", a, err)
	}
	second, err := e.opts.People(ctx, b)
	if err != nil {
		return false, fmt.Errorf("find who %s is: %w", b, err)
	}
	return slices.ContainsFunc(first, func(who string) bool { return slices.Contains(second, who) }), nil
}

// decide applies a person's answer.
func (a *actor) decide(m decideMsg) {
	ctx := context.WithoutCancel(a.e.base)
	p, err := a.e.store.Approval(ctx, m.req.Approval)
	if err != nil {
		m.answer(err)
		return
	}
	w := a.waitingFor(p.ID)
	if w == nil {
		m.answer(kairos.Errorf(kairos.CodeConflict, "the approval is not open any more"))
		return
	}
	action := "rejected"
	switch {
	case m.req.Approve:
		action = "approved"
	case m.req.AskBack:
		action = actionAskBack
	}
	p.Status, p.DecidedAt, p.DecidedBy, p.Comment, p.Values = action, a.e.now(), m.actor.Name, m.req.Comment, m.req.Values
	act := "approval.decide"
	if m.req.AskBack {
		act = "approval.ask_back"
	}
	a.next.Audit = append(a.next.Audit, kairos.AuditRecord{Action: act, Actor: m.actor.Name, Surface: m.actor.Surface, Request: m.actor.Request,
		Run: a.id, Object: "approval:" + p.ID, Reason: m.req.Comment, Detail: detail(map[string]any{"decision": action, "digest": p.Digest, "node": p.Node})})
	failpoint.Hit("decide.before")
	a.answerApproval(w, p, action, m.actor.Name, m.req.Comment)
	a.after(func(err error) {
		failpoint.Hit("decide.durable")
		m.reply <- decideReply{p, err}
	})
}

// answerApproval records the end of an approval and settles its node.
func (a *actor) answerApproval(w *work, p kairos.Approval, action, by, comment string) {
	if a.hasFinal {
		a.flush()
	}
	asked, tail := w.consent, w.tail
	e := a.entry(kairos.EntryResolve, w.workKey)
	e.Decision, e.Ref, e.Actor, e.Reason, e.Attempt = payload{Action: action}.json(), p.ID, by, comment, w.attempt
	a.add(e)
	a.next.Approvals = append(a.next.Approvals, p)
	if asked != nil {
		a.answerConsent(w, *asked)
		return
	}
	if tail != nil {
		a.answerTail(w, *tail, action == "approved", by, comment)
		return
	}
	values, err := decode(p.Values)
	if err != nil {
		values = nil
	}
	if action == "expired" && p.OnTimeout == "fail" {
		a.final(w, kairos.NodeFailed, nil, &kairos.Failure{Code: codeApprovalTimeout, Permanent: true, NoEffect: true,
			Message: fmt.Sprintf("nobody answered within the time given: %s", p.Message)}, nil)
		return
	}
	approved := action == "approved" || action == "expired" && p.OnTimeout == "approve"
	out := map[string]any{"approved": approved, "by": by, "comment": comment, "values": values}
	a.final(w, kairos.NodeCompleted, out, nil, nil)
	a.dueDirty = true
}

// approvalExpired applies on_timeout.
func (a *actor) approvalExpired(w *work) {
	p, err := a.e.store.Approval(context.WithoutCancel(a.e.base), w.ref)
	if err != nil {
		a.e.log.Error("approval cannot be read", "run_id", a.id, "approval", w.ref, "err", err)
		a.e.timers.set(a.id, a.e.now().Add(time.Minute))
		return
	}
	p.Status, p.DecidedAt, p.DecidedBy = "expired", a.e.now(), kairos.System.Name
	a.answerApproval(w, p, "expired", kairos.System.Name, "nobody answered in time")
}

// closeApproval takes a question back.
func (a *actor) closeApproval(w *work, status, by, comment string) {
	p, err := a.e.store.Approval(context.WithoutCancel(a.e.base), w.ref)
	if err != nil {
		a.e.log.Error("approval cannot be read", "run_id", a.id, "approval", w.ref, "err", err)
		return
	}
	p.Status, p.DecidedAt, p.DecidedBy, p.Comment = status, a.e.now(), by, comment
	a.next.Approvals = append(a.next.Approvals, p)
}

// waitingFor finds the work that waits for an approval or child.
func (a *actor) waitingFor(ref string) *work {
	for _, w := range a.s.work {
		if w.phase == phaseWaiting && w.ref == ref {
			return w
		}
	}
	return nil
}

func detail(v map[string]any) kairos.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // plain values only
	}
	return b
}
