package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// AgentNames is implemented by registries that know how agents are shown.
type AgentNames interface {
	AgentIdentity(id string) (name, icon, color string)
}

// stepRun is what the events of a step plan's run need to know of it.
type stepRun struct {
	prog    *planner.Program // nil: the run is of a graph
	session string
	query   string
}

// maxStepRuns bounds the cache; what falls out is read again.
const maxStepRuns = 4096

// stepRuns remembers runs of step plans, and that others are none.
type stepRuns struct {
	mu    sync.Mutex
	byRun map[string]stepRun
	order []string
}

func (c *stepRuns) get(run string) (stepRun, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.byRun[run]
	return r, ok
}

func (c *stepRuns) put(run string, r stepRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRun == nil {
		c.byRun = map[string]stepRun{}
	}
	if _, ok := c.byRun[run]; !ok {
		if len(c.order) >= maxStepRuns {
			delete(c.byRun, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, run)
	}
	c.byRun[run] = r
}

// remember keeps what the events of a run will need.
func (e *Engine) remember(r kairos.Run, p *planner.Program) {
	s := stepRun{session: r.Session}
	if p.Kind == planner.KindSteps {
		s.prog = p
		if input, err := decode(r.Input); err == nil && input != nil {
			s.query = planner.Text(input)
		}
	}
	e.stepRuns.put(r.ID, s)
}

// derive is [Derive] with the events of step plans.
func (e *Engine) derive(ctx context.Context, ev kairos.AuditEvent, incarnation string) []kairos.Event {
	if _, ok := e.stepRuns.get(ev.Run); !ok && ev.Run != "" {
		r, err := e.store.Run(ctx, ev.Run)
		if err != nil {
			return Derive(ev, incarnation) // its events are still told; the run itself is gone
		}
		p, err := e.program(ctx, r.Hash)
		if err != nil {
			return Derive(ev, incarnation)
		}
		e.remember(r, p.Program)
	}
	return e.deriveLive(ev, incarnation)
}

// deriveLive is derive for what has just been committed: its run is known here,
// and the store's writer, which asks, must not wait for a read.
func (e *Engine) deriveLive(ev kairos.AuditEvent, incarnation string) []kairos.Event {
	out := Derive(ev, incarnation)
	s, ok := e.stepRuns.get(ev.Run)
	if !ok || len(out) == 0 {
		return out
	}
	t := stepTeller{e: e, s: s, ev: ev}
	if s.prog != nil {
		t.tell()
	} else {
		for _, row := range t.rows() {
			t.passed(&row)
		}
	}
	if len(t.out) > 0 {
		last := len(out) - 1
		out = append(out, t.out...)
		out[len(out)-1].ID, out[last].ID = out[last].ID, ""
	}
	return out
}

// stepTeller says in the words of [002] what an audit record of a step plan's
// run means.
type stepTeller struct {
	e   *Engine
	s   stepRun
	ev  kairos.AuditEvent
	out []kairos.Event
	// why holds the last failure of each step in this record: a retry follows it.
	why map[string]string
}

// rows are those that the record stands for.
func (t *stepTeller) rows() []kairos.Entry {
	if len(t.ev.Entries) == 0 && t.ev.Entry != nil {
		return []kairos.Entry{*t.ev.Entry}
	}
	return t.ev.Entries
}

// passed tells of work that an agent passes on to another inside a node, in
// graphs, too (SPEC 6.1).
func (t *stepTeller) passed(e *kairos.Entry) {
	if e.Kind != kairos.EntrySubstep || e.Status != kairos.NodeCompleted {
		return
	}
	var p payload
	if json.Unmarshal(e.Decision, &p) != nil || !strings.HasPrefix(p.Kind, "handoff:") {
		return
	}
	var h struct{ From, To, Reason, Explanation string }
	if json.Unmarshal(e.Input, &h) != nil {
		return
	}
	id := strings.TrimSuffix(messageID(t.ev.Run, e, e.Substep, kairos.MessageRequest), ":request")
	t.add("agent_handoff", e.Seq, map[string]any{"handoffId": id, "fromAgent": t.agent(h.From), "toAgent": t.agent(h.To), "reason": h.Reason, "explanation": h.Explanation})
	t.add("agent_changed", e.Seq, t.agent(h.To))
}

func (t *stepTeller) tell() {
	rows := t.rows()
	for i := range rows {
		if f := rows[i].Failure; f != nil {
			if t.why == nil {
				t.why = map[string]string{}
			}
			t.why[rows[i].Node] = f.Message
		}
		t.row(&rows[i])
	}
	switch t.ev.Action {
	case "run.created":
		t.generated()
	case "run.status":
		var d struct{ Status, Headline string }
		if json.Unmarshal(t.ev.Detail, &d) != nil || !kairos.RunStatus(d.Status).Final() {
			return
		}
		data := map[string]any{"status": d.Status, "summary": t.s.prog.Description}
		if d.Status == string(kairos.RunFailed) {
			data["failureReason"] = d.Headline
		}
		t.add("plan_completed", 0, data)
	}
}

func (t *stepTeller) add(typ string, runSeq int64, data map[string]any) {
	if t.s.prog != nil {
		data["planId"] = t.s.prog.ID
	}
	data["sessionId"], data["timestamp"] = t.s.session, t.ev.At
	data["eventId"] = fmt.Sprintf("%d-%d", t.ev.Seq, len(t.out))
	t.out = append(t.out, kairos.Event{Seq: t.ev.Seq, Type: typ, Run: t.ev.Run, RunSeq: runSeq, At: t.ev.At, Data: data})
}

func (t *stepTeller) agent(id string) map[string]any {
	m := map[string]any{"agentId": id, "agentName": id}
	if id == supervisorAgent {
		m["agentName"] = "Supervisor"
	}
	if names, ok := t.e.current().Registry.(AgentNames); ok {
		if name, icon, color := names.AgentIdentity(id); name != "" {
			m["agentName"], m["agentIcon"], m["agentColor"] = name, icon, color
		}
	}
	return m
}

func (t *stepTeller) generated() {
	var steps []any
	for i := range t.s.prog.Nodes {
		n := &t.s.prog.Nodes[i]
		steps = append(steps, map[string]any{"stepId": n.ID, "stepIndex": i, "agentId": n.Agent, "agentName": t.agent(n.Agent)["agentName"], "task": taskOf(n)})
	}
	t.add("plan_generated", 0, map[string]any{"query": t.s.query, "steps": steps, "estimatedSteps": len(steps)})
}

func (t *stepTeller) row(e *kairos.Entry) {
	t.passed(e)
	i, ok := t.s.prog.Index[e.Node]
	if !ok {
		return
	}
	n := &t.s.prog.Nodes[i]
	step := map[string]any{"stepId": n.ID, "stepIndex": i}
	switch {
	case e.Kind == kairos.EntryIntent && e.Substep == 0 && e.Attempt <= 1 && e.Item <= 0,
		e.Kind == kairos.EntryWait && kairos.WaitReason(e.Reason) != kairos.WaitRetry && e.Item <= 0:
		t.started(e, n, step)
	case e.Kind == kairos.EntryWait && kairos.WaitReason(e.Reason) == kairos.WaitRetry:
		step["attempt"], step["maxAttempts"], step["nextAt"] = e.Attempt, n.MaxAttempts, e.DueAt
		if why := t.why[n.ID]; why != "" {
			step["error"] = why
		}
		t.add("plan_step_retrying", e.Seq, step)
	case e.Kind == kairos.EntryResult && e.Final:
		t.settled(e, n, step)
	}
}

// started tells of a step that begins; when it brings another agent, of the
// handoff to it first.
func (t *stepTeller) started(e *kairos.Entry, n *planner.ProgramNode, step map[string]any) {
	if n.Agent != "" {
		if from := handover(t.s.prog, n.Index); from != n.Agent {
			t.add("agent_handoff", e.Seq, map[string]any{"handoffId": handoffID(t.ev.Run, n.ID), "fromAgent": t.agent(from), "toAgent": t.agent(n.Agent),
				"reason": "plan_step", "explanation": "Executing plan step: " + taskOf(n)})
			t.add("agent_changed", e.Seq, t.agent(n.Agent))
		}
		who := t.agent(n.Agent)
		step["agentId"], step["agentName"] = who["agentId"], who["agentName"]
	}
	step["task"] = taskOf(n)
	t.add("plan_step_started", e.Seq, step)
}

// settled tells what became of a step, and of those that are skipped with it.
func (t *stepTeller) settled(e *kairos.Entry, n *planner.ProgramNode, step map[string]any) {
	var d planner.Decision
	if len(e.Decision) > 0 && json.Unmarshal(e.Decision, &d) != nil {
		d = planner.Decision{}
	}
	status := string(e.Status)
	if e.Item >= 0 {
		status = string(d.Visit) // empty: the step has more items
	}
	if d.Handled == "skip" {
		status = "skipped" // after recovery (SPEC 8)
	}
	if status != "" {
		step["status"] = status
		if e.Item < 0 && status == "completed" && len(e.Output) > 0 {
			if v, err := decode(e.Output); err == nil && v != nil {
				step["result"] = planner.Text(v)
			}
		}
		if e.Failure != nil {
			step["error"] = e.Failure.Message
		}
		t.add("plan_step_completed", e.Seq, step)
	}
	for _, c := range d.Settled {
		if c.Status == string(planner.Skipped) {
			t.add("plan_step_completed", e.Seq, map[string]any{"stepId": c.Node, "stepIndex": t.s.prog.Index[c.Node], "status": "skipped"})
		}
	}
}
