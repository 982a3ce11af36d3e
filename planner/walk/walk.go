package walk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/planner/message"
)

// Walk holds the position of a run in its program: which visits are open, which input they get, and
// what follows their outcomes. It is pure and incremental: Settle takes time proportional to the
// number of edges and needs of the node. A Walk is not safe for concurrent use.
//
// A driver calls [Walk.Ready], runs each visit, and passes each final outcome to [Walk.Settle],
// which returns what was decided. After a crash, [Walk.Replay] rebuilds the same walk from the
// recorded settlements and decisions.
type Walk struct {
	p         *Program
	facts     Facts
	item      any // of the run's input, in a program with Each
	index     int // of that item; -1 if there is none
	nodes     []nodeState
	tokens    map[int]*token // by source; only in plans with needs
	open      int            // visits that are ready and not settled
	begun     int            // visits that ever became ready
	fresh     []VisitKey     // ready, not yet returned by Ready
	settled   int            // settled visits, including visits that were skipped after they started
	last      any            // output of the visit that settled last
	lastNode  int            // the node of that visit
	failure   *Failure       // first unhandled failure
	failed    bool
	rejected  bool     // a person rejected it, and nothing handled the rejection
	stopped   bool     // by Stop or TimeOut
	overdue   bool     // by TimeOut
	end       *mainEnd // set when the finally steps begin
	stamps    []int
	stampNext int
}

// nodeState is the state of a node in a walk.
type nodeState struct {
	visits int // number of visits that began
	before int // visits of a finally step at earlier ends of the run; no limit counts them
	visitResult
	settledAt int  // position of the latest settled visit in the order of settlements
	late      bool // that visit settled after another node had won the race
	unhandled bool // failed, and nothing handled the failure
	unvisited bool // skipped without a visit
	// lostUnvisited: skipped because another node of its race had completed.
	lostUnvisited bool
	open          *visit // at most one, because visits of a node follow one another
	// held is a visit that became ready while the walk was stopping.
	held *visit
	// openNeeds is the number of needs that have not settled, for nodes with needs.
	openNeeds    int
	decided      bool        // a node with needs is ready, skipped, or held
	previous     *visit      // the settled visit that a reset may open again
	resultBefore visitResult // the state while that visit was open
	// decisionFailure is set if the decision of the node, or its `when`, failed the run.
	decisionFailure *Failure
}

// visitResult is the result of the latest settled visit of a node.
type visitResult struct {
	status    Status // empty if there is none
	output    any    // if status is Completed
	hasOutput bool
	failure   *Failure
	continued bool // failed with on_error: continue; for dependents it counts as completed with output null
	// handedOver: it failed, and an edge handled that. In a plan of steps in order, the steps after it are
	// skipped, and their handedOver is set, too.
	handedOver bool
}

// passed reports whether the node counts as completed for its dependents.
func (s *visitResult) passed() bool { return s.status == Completed || s.continued }

// visit is one iteration of a node.
type visit struct {
	VisitKey
	order int // position in the order in which visits became ready
	last  any
	items *items // in a foreach, after its list was resolved
}

// token is the position of a source's token.
type token struct {
	source  int
	at      int // node; valid if started
	started bool
	ended   bool
	watched []int // nodes of its region that other nodes need
}

// VisitKey identifies a visit. Node is the position of the node in [Program.Nodes]. Visit starts at
// 1.
type VisitKey struct {
	Node  int
	Visit int
}

// Status is the status of a settled visit or item.
type Status string

const (
	Completed Status = "completed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"
	Cancelled Status = "cancelled"
)

// Settlement is the final outcome of a visit, or of one item of a foreach visit, after all retries.
// Item is the index of the item, or -1 for a visit without foreach.
type Settlement struct {
	VisitKey
	Item    int
	Status  Status
	Output  any // a JSON value, as [jsonvalue.Normalize] returns it
	Failure *Failure
}

// Decision is everything that was decided when a settlement was applied. A driver stores it with
// the settlement, so that a replay needs no evaluation. The zero Decision means that the only edge,
// without a condition, was taken, or that there was nothing to decide.
type Decision struct {
	// Edge is the position of the taken edge in the document, starting at 1. 0 means that no edge
	// was taken.
	Edge int    `json:"edge,omitempty"`
	To   string `json:"to,omitempty"`
	// Ended is the reason why no edge was taken although the node has edges.
	Ended string `json:"ended,omitempty"`
	// Evaluated holds the edge conditions that were evaluated, in order.
	Evaluated []Evaluation `json:"evaluated,omitempty"`
	// Settled holds the nodes that became ready or were skipped as a consequence, in order.
	Settled []Consequence `json:"settled,omitempty"`
	// Handled is what handled a failure: "edge", "skip", "continue", "race", if another node of the race
	// can win, or "when", if a node with when: failure needs the failed one. A rejection is not handled
	// by "when".
	Handled string `json:"handled,omitempty"`
	// Visit is the final status of a foreach visit, in the decision on the item that ended the
	// visit.
	Visit Status `json:"visit,omitempty"`
	// Failure is set if the decision itself failed the run: max_visits was exceeded, an expression
	// failed, or no edge matched in strict mode.
	Failure *Failure `json:"failure,omitempty"`
}

// Evaluation records a condition and the value that it read.
type Evaluation struct {
	To        string `json:"to,omitempty"`
	Condition string `json:"condition"`
	// Result is "true", "false", "not found", "fallback", or "error", and for a gate also
	// [ResultUnknown].
	Result string `json:"result"`
	// Saw is the text form of the left side, or "sha256:…" if the text exceeds 1 KiB. If Problem
	// is set, Saw is the beginning of the value that was there instead.
	Saw string `json:"saw,omitempty"`
	// Problem describes the value that the condition could not read, and the node that it belongs
	// to.
	Problem string `json:"problem,omitempty"`
}

// A gate is closed if its value is missing.
const (
	ResultUnknown     = "unknown"
	ReasonGateUnknown = "gate_unknown" // Reason of the [Consequence]
)

// Consequence is what a settlement did to another node.
type Consequence struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Status string `json:"status"` // "ready" or "skipped"
	Reason string `json:"reason,omitempty"`
	// Need is the ID of the node that Reason refers to.
	Need string `json:"need,omitempty"`
	// Evaluated holds the `when:` condition, if it was evaluated.
	Evaluated *Evaluation `json:"evaluated,omitempty"`
}

// Message returns Reason with its arguments kept apart.
func (c *Consequence) Message() message.Message {
	switch {
	case c.Need != "" && c.Reason == c.Need+" failed":
		return message.New("the step %s failed", c.Need)
	case c.Need != "" && c.Reason == c.Need+" was skipped":
		return message.New("%s was skipped", c.Need)
	case c.Need != "" && c.Reason == c.Need+" was cancelled":
		return message.New("%s was cancelled", c.Need)
	case c.Evaluated != nil && c.Reason == "its condition is "+c.Evaluated.Result:
		return message.New("its condition is %s", c.Evaluated.Result)
	}
	return message.New(c.Reason)
}

// Explain explains why the node was skipped or did not run. It returns "" if there is nothing to
// explain.
func (c *Consequence) Explain() string {
	if c.Evaluated == nil || c.Evaluated.Problem == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Evaluated.Explain()
}

// Failed reports whether the node did not run because its condition could not be evaluated.
func (c *Consequence) Failed() bool {
	return c.Evaluated != nil && c.Evaluated.Result == "error"
}

// Facts are the values of a run that a walk starts with.
type Facts struct {
	RunID  string
	Slot   string // the time for which a schedule started the run; empty if none did
	Input  any    // the input of the run, a JSON value
	Memory any    // the text that the memory returned; nil if there is none
}

// Outcome is the result of a walk.
type Outcome struct {
	Done    bool
	Status  Status // Completed, Failed, or Cancelled, if Done
	Output  any
	Failure *Failure // the first unhandled failure, if any
}

// Reset lists what a resume reopens. A driver stores it for [Walk.ReplayReset].
type Reset struct {
	// Reopened holds the visits that run again. For a foreach visit, Items holds the indexes of the
	// items that run again.
	Reopened []ResetVisit `json:"reopened"`
	// Forgotten holds visits that were skipped or decided because of them.
	Forgotten []ResetVisit `json:"forgotten,omitempty"`
	// Decided holds nodes that the reset made ready or skipped.
	Decided []Consequence `json:"decided,omitempty"`
}

// ResetVisit identifies a visit in a [Reset].
type ResetVisit struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Items []int  `json:"items,omitempty"`
}

// New starts a walk at the roots of the program.
func New(p *Program, f Facts) *Walk {
	w := &Walk{p: p, facts: f, index: -1, nodes: make([]nodeState, len(p.Nodes))}
	if p.Each {
		w.facts.Input, w.item, w.index = ItemInput(f.Input)
	}
	if p.UsesNeeds || len(p.Finally) > 0 {
		w.tokens = map[int]*token{}
		for i, source := range p.Owner {
			if source < 0 {
				continue
			}
			t := w.tokens[source]
			if t == nil {
				t = &token{source: source}
				w.tokens[source] = t
			}
			if i != source && len(p.Nodes[i].Dependents) > 0 {
				t.watched = append(t.watched, i)
			}
		}
		for i := range p.Nodes {
			w.nodes[i].openNeeds = len(p.Nodes[i].Needs)
		}
	}
	d := &decider{w: w}
	for _, r := range p.Roots {
		// The condition of a root depends on the run's input alone, so that every replay decides the same.
		if p.Nodes[r].WhenCond != nil {
			d.decide(r)
		} else {
			w.begin(r, w.facts.Input)
		}
	}
	if p.UsesNeeds {
		w.skipUnreachable(d)
	}
	d.finish()
	return w
}

// skipUnreachable settles the nodes that no token can ever reach as skipped, so that nodes which need
// them are decided.
func (w *Walk) skipUnreachable(d *decider) {
	var dead []int
	for i, source := range w.p.Owner {
		if source < 0 && len(w.p.Nodes[i].Dependents) > 0 {
			w.nodes[i].status, w.nodes[i].unvisited = Skipped, true
			dead = append(dead, i)
		}
	}
	for _, i := range dead {
		d.needsOf(i)
	}
}

// begin makes the next visit of a node ready.
func (w *Walk) begin(node int, last any) {
	n := &w.nodes[node]
	n.visits++
	w.start(&visit{VisitKey: VisitKey{node, n.visits}, last: last})
}

func (w *Walk) start(v *visit) {
	w.nodes[v.Node].open = v
	w.open++
	w.begun++
	v.order = w.begun
	w.fresh = append(w.fresh, v.VisitKey)
	if t := w.tokenOf(v.Node); t != nil {
		t.started, t.at = true, v.Node
	}
}

func (w *Walk) tokenOf(node int) *token {
	if w.tokens == nil || w.p.Owner[node] < 0 {
		return nil
	}
	return w.tokens[w.p.Owner[node]]
}

// Ready returns the visits that became ready since the last call, in file order.
func (w *Walk) Ready() []VisitKey {
	if len(w.fresh) == 0 {
		return nil
	}
	out := w.fresh
	w.fresh = nil
	slices.SortFunc(out, func(a, b VisitKey) int { return a.Node - b.Node })
	return out
}

// Open returns all visits that are ready and not settled, in the order in which they became ready.
func (w *Walk) Open() []VisitKey {
	open := make([]*visit, 0, w.open)
	for i := range w.nodes {
		if v := w.nodes[i].open; v != nil {
			open = append(open, v)
		}
	}
	slices.SortFunc(open, func(a, b *visit) int { return a.order - b.order })
	out := make([]VisitKey, len(open))
	for i, v := range open {
		out[i] = v.VisitKey
	}
	return out
}

// errNotOpen reports a mistake of the driver.
func (p *Program) errNotOpen(v VisitKey) error {
	if v.Node < 0 || v.Node >= len(p.Nodes) {
		return fmt.Errorf("walk: no node %d", v.Node)
	}
	return fmt.Errorf("walk: visit %d of node %q is not open", v.Visit, p.Nodes[v.Node].ID)
}

func (w *Walk) visit(k VisitKey) *visit {
	if k.Node < 0 || k.Node >= len(w.nodes) {
		return nil
	}
	if v := w.nodes[k.Node].open; v != nil && v.Visit == k.Visit {
		return v
	}
	return nil
}

// Stop starts no further visit. The driver settles the open visits, nothing follows them, and the
// walk ends as Cancelled.
func (w *Walk) Stop() { w.stopped = true }

// TimeOut is [Walk.Stop] for a run that has not ended within its timeout. The walk ends as Failed.
func TimeOut(w *Walk) { w.stopped, w.overdue = true, true }

// Stopping reports whether Stop, TimeOut, or an unhandled failure ended the start of new visits, except those
// with `when: failure` or `when: always`. A rejection stops all branches.
func (w *Walk) Stopping() bool {
	return w.stopped || w.failed && (!w.p.ContinueBranches || w.rejected)
}

// Outcome returns the result of the walk. Done is false while visits are open.
func (w *Walk) Outcome() Outcome {
	if w.open > 0 {
		return Outcome{}
	}
	switch {
	case w.end != nil:
		return w.end.Outcome
	case w.overdue:
		return Outcome{Done: true, Status: Failed, Failure: cmp.Or(w.failure, w.p.Overdue())}
	case w.stopped:
		return Outcome{Done: true, Status: Cancelled, Failure: w.failure}
	case w.failed:
		return Outcome{Done: true, Status: Failed, Failure: w.failure}
	}
	output, failure := w.output()
	if failure != nil {
		return Outcome{Done: true, Status: Failed, Failure: failure}
	}
	return Outcome{Done: true, Status: Completed, Output: output}
}

// output returns the output of the run: the plan's result. If the plan has none and no needs, it is the
// output of the node that settled last. With needs, it is that of the only sink, or {sink: output} for
// the sinks that completed.
func (w *Walk) output() (any, *Failure) {
	if w.p.Result != nil {
		s := w.scope(w.last)
		v, f := w.p.Result.render(&s)
		if f != nil {
			f.Code, f.Suggestion = CodeResult, "add a default with ?? to the reference in result:, then fork the run with the new version"
		}
		return v, f
	}
	if !w.p.UsesNeeds {
		return w.answer(w.lastNode, w.last), nil
	}
	var sinks []int
	for i := range w.p.Nodes {
		if n := &w.p.Nodes[i]; len(n.Out) == 0 && len(n.Dependents) == 0 && !n.Finally {
			sinks = append(sinks, i)
		}
	}
	if len(sinks) == 1 {
		return w.answer(sinks[0], w.nodes[sinks[0]].output), nil
	}
	m := map[string]any{}
	for _, i := range sinks {
		if n := &w.nodes[i]; n.passed() {
			m[w.p.Nodes[i].ID] = n.output
		}
	}
	return m, nil
}

// answer returns the output of the run for the output of a node. For a turn of the router graph, it
// is the response and not the whole state.
func (w *Walk) answer(node int, output any) any {
	if state, ok := output.(map[string]any); ok && w.p.Nodes[node].Type == TypeGenerator {
		if response, ok := state["response"]; ok {
			return response
		}
	}
	return output
}

// Output returns the output of the latest completed visit of a node. ok is false if there is none,
// or if no later node can read it and the walk discarded it.
func (w *Walk) Output(node string) (any, bool) {
	i, ok := w.p.Index[node]
	if !ok || !w.nodes[i].hasOutput {
		return nil, false
	}
	return w.nodes[i].output, true
}

// Continued reports whether the latest visit of a node failed with on_error: continue.
func (w *Walk) Continued(node int) bool { return w.nodes[node].continued }

// continues is Continued by node ID.
func (w *Walk) continues(node string) bool {
	i, ok := w.p.Index[node]
	return ok && w.nodes[i].continued
}

// Status returns the status of the latest settled visit of a node, and the number of visits that
// began. It returns Skipped and 0 for a node that was skipped without a visit.
func (w *Walk) Status(node int) (Status, int) {
	n := &w.nodes[node]
	return n.status, n.visits
}

var errRecorded = errors.New("walk: the recorded decision does not fit the program")
