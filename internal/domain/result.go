package domain

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Result is the result of a run so far, as `kairos --json` prints it. GET /runs/{id} has
// the same fields, and the id as "id". Absent values are null, lists never are.
type Result struct {
	RunID string `json:"runId"`
	RunResult
}

// RunResult is a [Result] without the id of the run.
type RunResult struct {
	Status     RunStatus  `json:"status"`
	WaitReason WaitReason `json:"waitReason"` // empty unless the run waits
	Waits      []Wait     `json:"waits"`
	Output     RawJSON    `json:"output"`
	// Outputs holds the latest completed output of every node.
	Outputs map[string]RawJSON `json:"outputs"`
	// Path lists node ids in completion order, once per visit: visits that
	// completed, and failed ones that the plan handled and continued from.
	Path  []string  `json:"path"`
	Error *RunError `json:"error"`
	Usage Usage     `json:"usage"`
	// FailedSteps lists the steps whose latest visit failed under on_error: continue, in
	// the order in which they failed.
	FailedSteps []RunError `json:"failedSteps"`
	// Result is what a step plan's run has come to; absent for graphs.
	Result *PlanResult `json:"result,omitempty"`
}

// ResultOf computes the result of a run from its journal. It is pure: what it
// returns of a run that was interrupted and resumed equals what it returns of one
// that was not.
func ResultOf(d RunDetail) Result {
	r := Result{RunID: d.Run.ID, RunResult: RunResult{Status: d.Run.Status, Waits: d.Waits, Output: d.Run.Output,
		Error: d.Run.Error, Usage: d.Run.Usage, Result: d.Plan}}
	if r.Status == RunWaiting {
		r.WaitReason = d.Run.WaitReason
	}
	if r.Waits == nil {
		r.Waits = []Wait{}
	}
	if r.Output == nil {
		r.Output = RawJSON("null")
	}
	f := resultFold{at: map[visitOf]int{}, items: map[visitOf]map[int]RawJSON{}}
	for i := range d.Journal {
		f.apply(&d.Journal[i])
	}
	r.Outputs = make(map[string]RawJSON, len(f.visits))
	r.Path, r.FailedSteps = make([]string, 0, len(f.visits)), []RunError{}
	for _, v := range f.visits {
		if v.forgotten {
			continue
		}
		r.Path = append(r.Path, v.node)
		if v.output != nil {
			r.Outputs[v.node] = v.output
		}
		r.FailedSteps = slices.DeleteFunc(r.FailedSteps, func(e RunError) bool { return e.Node == v.node })
		if v.failure != nil {
			r.FailedSteps = append(r.FailedSteps, RunError{Code: v.failure.Code, Message: v.failure.Message, Node: v.node})
		}
	}
	return r
}

type visitOf struct {
	node  string
	visit int
}

type settledVisit struct {
	visitOf
	output    RawJSON  // nil: it failed and an edge took it from there
	failure   *Failure // under on_error: continue
	forgotten bool     // a resume opened it again
}

// resultFold keeps what ResultOf needs of the rows read so far.
type resultFold struct {
	visits []settledVisit
	at     map[visitOf]int // index in visits of those not forgotten
	items  map[visitOf]map[int]RawJSON
}

func (f *resultFold) apply(e *Entry) {
	if e.Kind == EntryReset {
		f.reset(e.Decision)
		return
	}
	if !e.Final || e.Node == "" {
		return
	}
	key := visitOf{e.Node, e.Visit}
	decision := decisionOf(e)
	status, output := e.Status, e.Output
	if e.Item >= 0 {
		items := f.items[key]
		if items == nil {
			items = map[int]RawJSON{}
			f.items[key] = items
		}
		if items[e.Item] = orNull(e.Output); e.Status == NodeFailed {
			items[e.Item] = itemFailure(e.Failure)
		}
		if decision.Visit == "" {
			return
		}
		status, output = NodeStatus(decision.Visit), joinItems(items)
	}
	switch {
	case status == NodeCompleted:
		f.settle(key, orNull(output), nil)
	case status == NodeFailed && decision.Handled == "continue":
		f.settle(key, RawJSON("null"), cmp.Or(e.Failure, (&Failure{Code: walk.CodeFailed}).WithMessage("failed")))
	case status == NodeFailed && decision.Handled == "edge":
		f.settle(key, nil, nil)
	}
}

// settle appends a visit; one that settles again, because a resume opened some
// of its items, moves to where it settled last.
func (f *resultFold) settle(key visitOf, output RawJSON, failure *Failure) {
	f.forget(key)
	f.at[key] = len(f.visits)
	f.visits = append(f.visits, settledVisit{visitOf: key, output: output, failure: failure})
}

func (f *resultFold) forget(key visitOf) {
	if i, ok := f.at[key]; ok {
		f.visits[i].forgotten = true
		delete(f.at, key)
	}
}

// reset drops what a resume opened again: those visits count where
// they settle next. Items that are not named stay.
func (f *resultFold) reset(raw RawJSON) {
	var reset walk.Reset
	if json.Unmarshal(raw, &reset) != nil {
		return
	}
	for _, v := range reset.Reopened {
		key := visitOf{v.Node, v.Visit}
		f.forget(key)
		for _, i := range v.Items {
			delete(f.items[key], i)
		}
	}
	for _, v := range reset.Forgotten {
		key := visitOf{v.Node, v.Visit}
		f.forget(key)
		delete(f.items, key)
	}
}

func decisionOf(e *Entry) walk.Decision {
	var d walk.Decision
	if len(e.Decision) > 0 {
		// A row whose decision cannot be read still counts as settled by its
		// status; its hash is verified when the journal is loaded.
		_ = json.Unmarshal(e.Decision, &d)
	}
	return d
}

// itemFailure is what stands for an item that failed in the output of its foreach.
func itemFailure(f *Failure) RawJSON {
	var p *walk.Failure
	if f != nil {
		p = &walk.Failure{Code: f.Code, Message: f.Message, Text: f.Text}
	}
	raw, err := jsonvalue.Encode(walk.ItemFailure(p))
	if err != nil {
		return RawJSON("null")
	}
	return raw
}

// joinItems is a foreach visit's output: its items' outputs in item order.
func joinItems(items map[int]RawJSON) RawJSON {
	last := -1
	for i := range items {
		last = max(last, i)
	}
	out := make([]RawJSON, last+1)
	for i := range out {
		out[i] = orNull(items[i])
	}
	joined, err := json.Marshal(out)
	if err != nil {
		return RawJSON("null") // an item that is not JSON cannot come from the store
	}
	return joined
}

func orNull(v RawJSON) RawJSON {
	if v == nil {
		return RawJSON("null")
	}
	return v
}
