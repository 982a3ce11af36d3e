package walk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/planner/message"
)

// Walk is where a run stands in its program: which visits are open, what they
// get as input, and what their outcomes lead to. It is pure and incremental
// (O(degree) per settlement), and not safe for concurrent use.
//
// A driver takes [Walk.Ready], runs each visit, and hands every final outcome
// to [Walk.Settle], which states what was decided. After a crash the same walk
// is rebuilt by [Walk.Replay] from recorded settlements and decisions.
type Walk struct {
	p         *Program
	facts     Facts
	nodes     []nodeState
	tokens    map[int]*token // by source; only in plans with needs
	open      int            // visits that are ready and not settled
	begun     int            // visits that ever became ready
	fresh     []VisitKey     // ready and not yet handed out
	settled   int            // visits settled so far, skipped ones that ran included
	last      any            // output of the visit that settled last
	lastNode  int            // whose it is
	failure   *Failure       // first unhandled failure
	failed    bool
	rejected  bool // by a person, and nothing handled it
	stopped   bool // by Stop
	stamps    []int
	stampNext int
}

// nodeState is the state of a node in a walk.
type nodeState struct {
	visits int // begun
	standing
	unhandled bool   // failed, and nothing took care of it
	unvisited bool   // settled as skipped without having run
	open      *visit // at most one: a node's visits follow one another
	// parked is a visit that was decided while the walk was stopping.
	parked *visit
	// left counts needs that have not settled; meaningful for nodes with needs.
	left     int
	decided  bool     // a node with needs: ready, skipped or parked
	previous *visit   // the settled visit that a reset may open again
	before   standing // what stood when that visit was open
	// broke is set when the node's decision, or its `when`, failed the run.
	broke *Failure
}

// standing is how a node's latest settled visit ended.
type standing struct {
	status    Status // "" if none
	output    any    // if completed
	hasOutput bool
	failure   *Failure
	continued bool // failed under on_error: continue; dependents treat it as completed, with null as output
}

// passed reports whether a node's dependents may treat it as completed.
func (s *standing) passed() bool { return s.status == Completed || s.continued }

// visit is one passage through a node.
type visit struct {
	VisitKey
	order int // in which visits became ready
	last  any
	items *items // of a foreach, once its list is resolved
}

// token is where the token of a source stands.
type token struct {
	source  int
	at      int // node; meaningful once started
	started bool
	ended   bool
	watched []int // nodes of its region that others need
}

// VisitKey names one passage through a node. Visits count from 1.
type VisitKey struct {
	Node  int
	Visit int
}

// Status of a settled visit or item.
type Status string

const (
	Completed Status = "completed"
	Failed    Status = "failed"
	Skipped   Status = "skipped"
	Cancelled Status = "cancelled"
)

// Settlement reports to the walk that a visit, or one item of a foreach visit,
// ended for good: retries are over. Item is -1 for a visit without foreach.
type Settlement struct {
	VisitKey
	Item    int
	Status  Status
	Output  any // JSON value as [jsonvalue.Normalize] gives it
	Failure *Failure
}

// Decision is everything that was decided when a settlement was applied. It is
// stored with the settlement; replaying it needs no evaluation.
// The zero Decision stands for "the only, unconditional edge was taken" or
// "nothing was to be decided".
type Decision struct {
	// Edge is the taken edge's position in the document plus one; 0: none.
	Edge int    `json:"edge,omitempty"`
	To   string `json:"to,omitempty"`
	// Ended states why no edge was taken though the node has some.
	Ended string `json:"ended,omitempty"`
	// Evaluated lists every edge condition that was looked at, in order.
	Evaluated []Evaluation `json:"evaluated,omitempty"`
	// Settled lists nodes that were decided as a consequence, in order: ready
	// or skipped.
	Settled []Consequence `json:"settled,omitempty"`
	// Handled states what took care of a failure: "edge", "skip", "continue".
	Handled string `json:"handled,omitempty"`
	// Visit is set on the item's settlement that ended its foreach visit, to
	// the status with which the visit ended.
	Visit Status `json:"visit,omitempty"`
	// Failure is set when the decision itself failed the run: max_visits, a
	// failing expression, strict without match.
	Failure *Failure `json:"failure,omitempty"`
}

// Evaluation records one condition and the value it saw.
type Evaluation struct {
	To        string `json:"to,omitempty"`
	Condition string `json:"condition"`
	// Result is "true", "false", "not found", "fallback", "error", or of a gate
	// [ResultUnknown].
	Result string `json:"result"`
	// Saw is the text form of the left side, if at most 1 KiB, else its hash
	// as "sha256:…". With a Problem it is the beginning of what was there instead.
	Saw string `json:"saw,omitempty"`
	// Problem states which value the condition reads in vain, and whose it is.
	Problem string `json:"problem,omitempty"`
}

// A gate whose value no one gave is closed.
const (
	ResultUnknown     = "unknown"
	ReasonGateUnknown = "gate_unknown" // of the [Consequence]
)

// Consequence is what became of a node because of another one's settlement.
type Consequence struct {
	Node   string `json:"node"`
	Visit  int    `json:"visit"`
	Status string `json:"status"` // "ready" or "skipped"
	Reason string `json:"reason,omitempty"`
	// Need is the node that Reason names.
	Need string `json:"need,omitempty"`
	// Evaluated holds a `when:` condition that was looked at.
	Evaluated *Evaluation `json:"evaluated,omitempty"`
}

// Message is Reason with its arguments kept apart.
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

// Why returns in words why the node was skipped, or did not run; "": nothing is to be said.
func (c *Consequence) Why() string {
	if c.Evaluated == nil || c.Evaluated.Problem == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Evaluated.Unread()
}

// Failed reports whether the node did not run because its condition could not be
// evaluated.
func (c *Consequence) Failed() bool {
	return c.Evaluated != nil && c.Evaluated.Result == "error"
}

// Facts are what is given to a walk about its run from the start.
type Facts struct {
	RunID  string
	Input  any // the run's input, a JSON value
	Memory any // what memory returned; nil: nothing
}

// Outcome is how a walk ended.
type Outcome struct {
	Done    bool
	Status  Status // Completed, Failed or Cancelled, once Done
	Output  any
	Failure *Failure // the first unhandled failure, if any
}

// Reset lists what a resume opens again. It is stored and replayed.
type Reset struct {
	// Reopened are visits that run again; items lists, for a foreach visit,
	// only those of its items that run again.
	Reopened []ResetVisit `json:"reopened"`
	// Forgotten are visits that were skipped or decided because of them.
	Forgotten []ResetVisit `json:"forgotten,omitempty"`
	// Decided are nodes that the reset itself made ready or skipped.
	Decided []Consequence `json:"decided,omitempty"`
}

// ResetVisit names one visit in a [Reset].
type ResetVisit struct {
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Items []int  `json:"items,omitempty"`
}

// New starts a walk at the program's roots.
func New(p *Program, f Facts) *Walk {
	w := &Walk{p: p, facts: f, nodes: make([]nodeState, len(p.Nodes))}
	if p.UsesNeeds {
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
			w.nodes[i].left = len(p.Nodes[i].Needs)
		}
	}
	for _, r := range p.Roots {
		w.begin(r, f.Input)
	}
	if p.UsesNeeds {
		w.neverReached()
	}
	return w
}

// neverReached settles as skipped what no token can ever come to, so that what
// needs it is decided. Nothing is evaluated: a condition in `when`
// needs all completed.
func (w *Walk) neverReached() {
	var dead []int
	for i, source := range w.p.Owner {
		if source < 0 && len(w.p.Nodes[i].Dependents) > 0 {
			w.nodes[i].status, w.nodes[i].unvisited = Skipped, true
			dead = append(dead, i)
		}
	}
	for _, i := range dead {
		(&decider{w: w}).needsOf(i)
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

// Ready returns, in file order, the visits that became ready since the last
// call.
func (w *Walk) Ready() []VisitKey {
	if len(w.fresh) == 0 {
		return nil
	}
	out := w.fresh
	w.fresh = nil
	slices.SortFunc(out, func(a, b VisitKey) int { return a.Node - b.Node })
	return out
}

// Open returns all visits that are ready and not settled, in the order in which
// they became ready.
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

// errNotOpen is a driver's mistake.
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

// Stop makes the walk accept no new visit: open ones are settled by the
// driver, what becomes of them leads nowhere, and the walk ends Cancelled.
func (w *Walk) Stop() { w.stopped = true }

// Stopping reports whether an unhandled failure or Stop closed the walk to new
// visits (but those of `when: failure|always`). A rejection stops every branch.
func (w *Walk) Stopping() bool {
	return w.stopped || w.failed && (!w.p.ContinueBranches || w.rejected)
}

// Outcome reports whether the walk is done, and how it ended.
func (w *Walk) Outcome() Outcome {
	if w.open > 0 {
		return Outcome{}
	}
	switch {
	case w.stopped:
		return Outcome{Done: true, Status: Cancelled, Failure: w.failure}
	case w.failed:
		return Outcome{Done: true, Status: Failed, Failure: w.failure}
	}
	return Outcome{Done: true, Status: Completed, Output: w.output()}
}

// output is the run's: the last settled node's in a plan of tokens; in a plan
// with needs, the only sink's, or {sink: output} of the sinks that completed.
func (w *Walk) output() any {
	if !w.p.UsesNeeds {
		return w.answer(w.lastNode, w.last)
	}
	var sinks []int
	for i := range w.p.Nodes {
		if n := &w.p.Nodes[i]; len(n.Out) == 0 && len(n.Dependents) == 0 {
			sinks = append(sinks, i)
		}
	}
	if len(sinks) == 1 {
		return w.answer(sinks[0], w.nodes[sinks[0]].output)
	}
	m := map[string]any{}
	for _, i := range sinks {
		if n := &w.nodes[i]; n.passed() {
			m[w.p.Nodes[i].ID] = n.output
		}
	}
	return m
}

// answer is the text of a run whose output a node gave: of a turn of the router
// graph its response, not its whole state.
func (w *Walk) answer(node int, output any) any {
	if state, ok := output.(map[string]any); ok && w.p.Nodes[node].Type == TypeGenerator {
		if response, ok := state["response"]; ok {
			return response
		}
	}
	return output
}

// Output returns the output of a node's latest completed visit, as long as the
// plan may still read it: a walk forgets outputs that nothing refers to.
func (w *Walk) Output(node string) (any, bool) {
	i, ok := w.p.Index[node]
	if !ok || !w.nodes[i].hasOutput {
		return nil, false
	}
	return w.nodes[i].output, true
}

// Continued reports whether a node's latest visit failed under on_error: continue.
func (w *Walk) Continued(node int) bool { return w.nodes[node].continued }

// continues is Continued by id.
func (w *Walk) continues(node string) bool {
	i, ok := w.p.Index[node]
	return ok && w.nodes[i].continued
}

// Status returns how a node's latest visit settled, and how many visits of it
// began. A node that was skipped without a visit has status Skipped and 0.
func (w *Walk) Status(node int) (Status, int) {
	n := &w.nodes[node]
	return n.status, n.visits
}

var errRecorded = errors.New("walk: the recorded decision does not fit the program")
