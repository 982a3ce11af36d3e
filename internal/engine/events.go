package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// Derive turns a stored audit event into what listeners get: one event per
// journal row of a checkpoint, and one for every other record. It is pure, so
// that catching up gives exactly what was sent live (ruling 18).
func Derive(ev kairos.AuditEvent, incarnation string) []kairos.Event {
	var out []kairos.Event
	add := func(typ string, runSeq int64, data map[string]any) {
		if len(data) == 0 {
			data = nil
		}
		e := kairos.Event{Seq: ev.Seq, Type: typ, Run: ev.Run, RunSeq: runSeq, At: ev.At}
		if data != nil {
			e.Data = data
		}
		out = append(out, e)
	}
	rows := ev.Entries
	if len(rows) == 0 && ev.Entry != nil {
		rows = []kairos.Entry{*ev.Entry}
	}
	for i := range rows {
		deriveRow(&rows[i], add)
	}
	if len(rows) == 0 {
		data := map[string]any{}
		if len(ev.Detail) > 0 && json.Unmarshal(ev.Detail, &data) != nil {
			data = map[string]any{}
		}
		for k, v := range map[string]string{"actor": ev.Actor, "object": ev.Object, "reason": ev.Reason, "result": ev.Result} {
			if v != "" {
				data[k] = v
			}
		}
		add(strings.ReplaceAll(ev.Action, ".", "_"), ev.RunSeq, data)
	}
	if n := len(out); n > 0 {
		// Whoever has seen the last event of a record has seen the record.
		out[n-1].ID = fmt.Sprintf("%s-%d", incarnation, ev.Seq)
	}
	return out
}

// deriveRow gives the events of one journal row.
func deriveRow(e *kairos.Entry, add func(string, int64, map[string]any)) {
	data := map[string]any{}
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
		data["due"] = e.DueAt
	}
	if e.Ref != "" {
		data["ref"] = e.Ref
	}
	var p payload
	switch e.Kind {
	case kairos.EntryResolve, kairos.EntryVerb:
		if json.Unmarshal(e.Decision, &p) != nil {
			p = payload{}
		}
	}
	switch e.Kind {
	case kairos.EntryIntent:
		if e.Substep == 0 {
			data["effect"] = e.Effect
			add("node_started", e.Seq, data)
		}
	case kairos.EntrySubstep:
		data["substep"] = e.Substep
		add("node_substep", e.Seq, data)
	case kairos.EntryResult:
		deriveResult(e, data, add)
	case kairos.EntryWait:
		data["reason"] = e.Reason
		switch kairos.WaitReason(e.Reason) {
		case kairos.WaitRetry:
			add("node_retrying", e.Seq, data)
		case kairos.WaitApproval:
			add("approval_requested", e.Seq, data)
		default:
			add("node_waiting", e.Seq, data)
		}
	case kairos.EntryResolve:
		data["action"] = p.Action
		if e.Reason != "" {
			data["reason"] = e.Reason
		}
		switch p.Action {
		case "approved", "rejected", "expired", actionAskBack:
			add("approval_decided", e.Seq, data)
		case actionChild:
			add("child_ended", e.Seq, data)
		case actionLate:
			add("node_late_result", e.Seq, data)
		default:
			add("node_resolved", e.Seq, data)
		}
	case kairos.EntryReset:
		add("run_resumed", e.Seq, data)
	case kairos.EntryReplan:
		var r replan
		if json.Unmarshal(e.Decision, &r) == nil {
			data["version"], data["hash"], data["from"], data["failed"], data["kept"] = r.Version, r.Hash, r.From, r.Node, len(r.Kept)
		}
		if e.Reason != "" {
			data["reason"] = e.Reason
		}
		add("run_replanned", e.Seq, data)
	case kairos.EntryVerb:
		if e.Reason != "" {
			data["reason"] = e.Reason
		}
		if typ := verbEvents[p.Verb]; typ != "" {
			add(typ, e.Seq, data)
		}
	}
}

var verbEvents = map[string]string{"pause": "run_paused", "continue": "run_continued", "cancel": "run_cancelling", "limits": "run_limits",
	"release": "run_released", "retry-now": "run_retry_now", "quarantine": "run_quarantined", "crash": "run_recovered", "stop": "run_put_down"}

func deriveResult(e *kairos.Entry, data map[string]any, add func(string, int64, map[string]any)) {
	if !e.Final {
		switch e.Status {
		case kairos.NodeInDoubt:
			add("node_in_doubt", e.Seq, data)
		case kairos.NodePending:
			add("node_interrupted", e.Seq, data)
		default:
			data["final"] = false
			add("node_failed", e.Seq, data)
		}
		return
	}
	var d planner.Decision
	if len(e.Decision) > 0 && json.Unmarshal(e.Decision, &d) == nil {
		if d.To != "" {
			data["to"] = d.To
		}
		if d.Ended != "" {
			data["ended"] = d.Ended
		}
		if d.Handled != "" {
			data["handled"] = d.Handled
		}
		if d.Visit != "" {
			data["visitStatus"] = d.Visit
		}
	}
	if e.Agent != "" {
		data["agent"] = e.Agent
	}
	if e.Status == kairos.NodeFailed {
		data["final"] = true
	}
	add("node_"+string(e.Status), e.Seq, data)
	for _, c := range d.Settled {
		if c.Status == string(planner.Skipped) {
			add("node_skipped", e.Seq, map[string]any{"node": c.Node, "visit": c.Visit, "reason": c.Reason})
		}
	}
}
