package events

import (
	"encoding/json"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/walk"
)

// deriver converts one stored audit record to events: those of each journal row of a checkpoint, or
// the single event of another record. Live delivery and replays both use it, and it depends only on
// stored data and the names of agents. Therefore both deliver the same events in the same order.
type deriver struct {
	facts      eventFacts
	agents     func(id string) Agent
	generation string
	ev         domain.AuditEvent
	out        []domain.Event
	// why contains the last failure of each node in this record. A retry may follow it.
	why map[string]string
}

func (d *deriver) derive() []domain.Event {
	rows := d.ev.Entries
	if len(rows) == 0 && d.ev.Entry != nil {
		rows = []domain.Entry{*d.ev.Entry}
	}
	for i := range rows {
		d.row(&rows[i])
	}
	if len(rows) == 0 {
		d.record()
	}
	return d.out
}

// add appends an event; data becomes its fields.
func (d *deriver) add(typ string, runSeq int64, data map[string]any) {
	n := len(d.out) + 1
	d.out = append(d.out, domain.Event{ID: domain.EventID(d.generation, d.ev.Seq, n), Type: typ, Run: d.ev.Run,
		Session: d.facts.session, At: d.ev.At,
		Data: data, Seq: d.ev.Seq, Index: n, RunSeq: runSeq})
}

// actionName makes the type of an event from an action of the audit log.
var actionName = strings.NewReplacer(".", "_", "-", "_")

// record returns the events of a record without rows.
func (d *deriver) record() {
	ev := d.ev
	data := map[string]any{}
	if len(ev.Detail) > 0 && json.Unmarshal(ev.Detail, &data) != nil {
		data = map[string]any{}
	}
	for _, internal := range []string{"message", "seal"} { // the stored form of the status message, and the seal of the run
		delete(data, internal)
	}
	for k, v := range map[string]string{"actor": ev.Actor, "object": ev.Object, "reason": ev.Reason, "result": ev.Result} {
		if v != "" {
			data[k] = v
		}
	}
	d.add(actionName.Replace(ev.Action), ev.RunSeq, data)
	first := d.facts.at(0)
	if first == nil {
		return
	}
	switch ev.Action {
	case "run.created":
		d.planGenerated(first)
	case "run.status":
		d.planCompleted(first)
	}
}

// row returns the events of one journal row. For step plans, it includes the events of [002].
func (d *deriver) row(e *domain.Entry) {
	if e.Failure != nil {
		if d.why == nil {
			d.why = map[string]string{}
		}
		d.why[e.Node] = e.Failure.Message
	}
	if runstate.BeginsAttempt(e) {
		data := d.about(e)
		data["effect"] = e.Effect
		delete(data, "error")
		d.add("node_started", e.Seq, data)
	}
	d.nodeEvents(e)
	d.passed(e)
	d.stepEvents(e)
}

// about returns the fields that all events of a row share.
func (d *deriver) about(e *domain.Entry) map[string]any {
	data := map[string]any{"runSeq": e.Seq}
	if e.Node != "" {
		data["node"], data["visit"] = e.Node, e.Visit
		if e.Item >= 0 {
			data["item"] = e.Item
		}
		if e.Attempt > 0 {
			data["attempt"] = e.Attempt
		}
	}
	if e.Actor != "" {
		data["actor"] = e.Actor
	}
	if e.Failure != nil {
		data["error"] = map[string]any{"code": e.Failure.Code, "message": e.Failure.Message}
	}
	if !e.DueAt.IsZero() {
		data["dueAt"] = e.DueAt
	}
	if e.Ref != "" {
		data["ref"] = e.Ref
	}
	return data
}

// nodeEvents returns the events that the runs of all kinds of plans have.
func (d *deriver) nodeEvents(e *domain.Entry) {
	data := d.about(e)
	switch e.Kind {
	case domain.EntrySubstep:
		data["kind"] = runstate.SubstepKind(e)
		d.add("node_substep", e.Seq, data)
	case domain.EntryResult:
		d.resultEvent(e, data)
	case domain.EntryWait:
		data["reason"] = e.Reason
		switch domain.WaitReason(e.Reason) {
		case domain.WaitRetry:
			d.add("node_retrying", e.Seq, data)
		case domain.WaitApproval:
			d.add("approval_requested", e.Seq, data)
		default:
			d.add("node_waiting", e.Seq, data)
		}
	case domain.EntryResolve:
		p := readRow[runstate.ResolveDecision](e)
		data["action"] = p.Action
		if e.Reason != "" {
			data["reason"] = e.Reason
		}
		switch p.Action {
		case runstate.ActionApproved, runstate.ActionRejected, runstate.ActionExpired, runstate.ActionChangesRequested:
			if p.Answer != "" {
				data["answer"] = p.Answer
			}
			d.add("approval_decided", e.Seq, data)
		case runstate.ActionChild:
			d.add("child_ended", e.Seq, data)
		case runstate.ActionLate:
			d.add("node_late_result", e.Seq, data)
		default:
			d.add("node_resolved", e.Seq, data)
		}
	case domain.EntryReset:
		d.add("run_resumed", e.Seq, data)
	case domain.EntryReplan:
		var r runstate.Replan
		if json.Unmarshal(e.Decision, &r) == nil {
			data["version"], data["hash"], data["from"], data["failed"], data["kept"] = r.Version, r.Hash, r.From, r.Node, len(r.Kept)
		}
		if e.Reason != "" {
			data["reason"] = e.Reason
		}
		d.add("run_replanned", e.Seq, data)
	case domain.EntryAction:
		if e.Reason != "" {
			data["reason"] = e.Reason
		}
		if typ := verbEvents[readRow[runstate.RunActionDecision](e).Action]; typ != "" {
			d.add(typ, e.Seq, data)
		}
	}
}

var verbEvents = map[string]string{"pause": "run_paused", "unpause": "run_unpaused", "cancel": "run_cancelling",
	"limits":  "run_limits_changed",
	"release": "run_released", "retry-now": "run_retried", "quarantine": "run_quarantined", "crash": "run_recovered",
	"stop": "run_suspended"}

// readRow decodes the Decision of a row. It returns the zero value if the decision cannot be read.
func readRow[T any](e *domain.Entry) T {
	var d, none T
	if json.Unmarshal(e.Decision, &d) != nil {
		return none
	}
	return d
}

func (d *deriver) resultEvent(e *domain.Entry, data map[string]any) {
	if !e.Final {
		switch e.Status {
		case domain.NodeInDoubt:
			d.add("node_in_doubt", e.Seq, data)
		case domain.NodePending:
			d.add("node_interrupted", e.Seq, data)
		default:
			data["final"] = false
			d.add("node_failed", e.Seq, data)
		}
		return
	}
	decided := runstate.ReadDecision(e.Decision)
	if decided.To != "" {
		data["to"] = decided.To
	}
	if decided.Ended != "" {
		data["endReason"] = decided.Ended
	}
	if decided.Handled != "" {
		data["handled"] = decided.Handled
	}
	if decided.Visit != "" {
		data["visitStatus"] = decided.Visit
	}
	if e.Agent != "" {
		data["agent"] = e.Agent
	}
	status := e.Status
	switch {
	case status == domain.NodeFailed && decided.Handled == runstate.HandledSkip:
		status = domain.NodeSkipped
	case status == domain.NodeFailed:
		data["final"] = true
	}
	d.add("node_"+string(status), e.Seq, data)
	for _, c := range decided.Settled {
		if c.Status == string(walk.Skipped) {
			skipped := map[string]any{"runSeq": e.Seq, "node": c.Node, "visit": c.Visit, "reason": c.Reason}
			if c.Evaluated != nil && c.Evaluated.Problem != "" {
				skipped["detail"] = c.Evaluated.Explain()
			}
			d.add("node_skipped", e.Seq, skipped)
		}
	}
}
