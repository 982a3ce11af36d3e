package domain

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Result is the current result of a run, as `kairos --json` prints it. GET /runs/{id} has the same
// fields, with the ID as "id". Absent values are null, and lists are never null.
type Result struct {
	RunID string `json:"runId"`
	RunResult
}

// RunResult is a [Result] without the run's ID.
type RunResult struct {
	Status     RunStatus  `json:"status"`
	WaitReason WaitReason `json:"waitReason"` // empty unless the run is waiting
	Waits      []Wait     `json:"waits"`
	Output     RawJSON    `json:"output"`
	// Outputs holds the latest completed output of each node.
	Outputs map[string]RawJSON `json:"outputs"`
	// Path lists node IDs in completion order, one per visit. It contains completed visits, and
	// failed visits that the plan handled.
	Path  []string  `json:"path"`
	Error *RunError `json:"error"`
	Usage Usage     `json:"usage"`
	// FailedSteps lists the steps whose latest visit failed with on_error: continue, in the order
	// of their failures.
	FailedSteps []RunError `json:"failedSteps"`
	// Result is the result of a step plan. It is absent for a graph.
	Result *PlanResult `json:"result,omitempty"`
}

// ResultOf computes the result of a run from its journal. The result of a run that was interrupted
// and resumed equals that of an uninterrupted run.
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
	f := resultFold{at: map[visitKey]int{}, items: map[visitKey]map[int]RawJSON{}}
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

type visitKey struct {
	node  string
	visit int
}

type settledVisit struct {
	visitKey
	output    RawJSON  // nil if it failed and an edge handled the failure
	failure   *Failure // with on_error: continue
	forgotten bool     // a resume reopened it
}

// resultFold is the state of ResultOf after the rows read so far.
type resultFold struct {
	visits []settledVisit
	at     map[visitKey]int // index in visits of visits that are not forgotten
	items  map[visitKey]map[int]RawJSON
}

func (f *resultFold) apply(e *Entry) {
	if e.Kind == EntryReset {
		f.reset(e.Decision)
		return
	}
	if !e.Final || e.Node == "" {
		return
	}
	key := visitKey{e.Node, e.Visit}
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

// settle appends a visit. A visit that settles again, because a resume reopened some of its items,
// moves to the end.
func (f *resultFold) settle(key visitKey, output RawJSON, failure *Failure) {
	f.forget(key)
	f.at[key] = len(f.visits)
	f.visits = append(f.visits, settledVisit{visitKey: key, output: output, failure: failure})
}

func (f *resultFold) forget(key visitKey) {
	if i, ok := f.at[key]; ok {
		f.visits[i].forgotten = true
		delete(f.at, key)
	}
}

// reset removes the visits that a resume reopened. Items that are not listed stay.
func (f *resultFold) reset(raw RawJSON) {
	var reset walk.Reset
	if json.Unmarshal(raw, &reset) != nil {
		return
	}
	for _, v := range reset.Reopened {
		key := visitKey{v.Node, v.Visit}
		f.forget(key)
		for _, i := range v.Items {
			delete(f.items[key], i)
		}
	}
	for _, v := range reset.Forgotten {
		key := visitKey{v.Node, v.Visit}
		f.forget(key)
		delete(f.items, key)
	}
}

func decisionOf(e *Entry) walk.Decision {
	var d walk.Decision
	if len(e.Decision) > 0 {
		// If a decision cannot be decoded, the status of its row counts. The hash is verified when
		// the journal is loaded.
		_ = json.Unmarshal(e.Decision, &d)
	}
	return d
}

// itemFailure returns the element of a foreach output for a failed item.
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

// joinItems returns the output of a foreach visit: the outputs of its items in order.
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
		return RawJSON("null") // the store returns only valid JSON
	}
	return joined
}

func orNull(v RawJSON) RawJSON {
	if v == nil {
		return RawJSON("null")
	}
	return v
}
