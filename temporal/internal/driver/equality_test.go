package driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/engine/enginetest/randomplan"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/temporal/internal/drivertest"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

const propertyInput = `{"x": 3, "list": [1, 2, 3]}`

// settled is a settled step with what the walk decided, apart from times and IDs.
type settled struct {
	Node                    string
	Visit, Item             int
	Status                  domain.NodeStatus
	Effect, Output, Failure string
}

// outcome contains the facts of a run that must not depend on how it was executed.
type outcome struct {
	Status  domain.RunStatus
	Output  string
	Error   string
	Usage   domain.Usage
	Steps   int64
	Path    []string
	Outputs map[string]string
	Rows    []settled
	// Decisions of the walk, by the visit that they are about. The last of several parallel steps or items has the decision
	// about what they share.
	Decisions []string
}

func outcomeOf(r domain.Run, rows []domain.Entry) outcome {
	result := domain.ResultOf(domain.RunDetail{Run: r, Journal: rows})
	o := outcome{Status: r.Status, Output: string(r.Output), Usage: r.Usage, Steps: r.Steps, Path: result.Path,
		Outputs: map[string]string{}}
	if r.Error != nil {
		o.Error = r.Error.Node + " " + r.Error.Code + ": " + r.Error.Message
	}
	for k, v := range result.Outputs {
		o.Outputs[k] = string(v)
	}
	for _, e := range rows {
		if e.Final {
			s := settled{e.Node, e.Visit, e.Item, e.Status, e.Effect, string(e.Output), ""}
			if e.Failure != nil {
				s.Failure = e.Failure.Code + ": " + e.Failure.Message
			}
			o.Rows = append(o.Rows, s)
			o.Decisions = append(o.Decisions, decisions(e)...)
		}
	}
	// Which other items of a list ran depends on the time at which one failed.
	for _, f := range slices.Clone(o.Rows) {
		if f.Item >= 0 && f.Status == domain.NodeFailed {
			o.Steps = 0
			o.Rows = slices.DeleteFunc(o.Rows, func(s settled) bool { return s.Node == f.Node && s.Item >= 0 })
		}
	}
	slices.Sort(o.Decisions)
	slices.Sort(o.Path) // parallel steps complete in any order
	slices.SortFunc(o.Rows, func(a, b settled) int { return slices.Compare([]int{a.Visit, a.Item}, []int{b.Visit, b.Item}) })
	slices.SortStableFunc(o.Rows, func(a, b settled) int {
		if a.Node < b.Node {
			return -1
		}
		if a.Node > b.Node {
			return 1
		}
		return 0
	})
	return o
}

// decisions returns the parts of the decision of a row.
func decisions(e domain.Entry) (list []string) {
	var d map[string]json.RawMessage
	if json.Unmarshal(e.Decision, &d) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		var parts []json.RawMessage
		if json.Unmarshal(d[name], &parts) == nil {
			for _, p := range parts {
				list = append(list, fmt.Sprintf("%s: %s", name, p))
			}
			continue
		}
		list = append(list, fmt.Sprintf("%s#%d %s: %s", e.Node, e.Visit, name, d[name]))
	}
	return list
}

// Random plans take the same path as on the SQLite engine, with the same outputs, decisions, and errors. The SQLite engine
// is compared with the executor in memory in package engine.
func TestRandomPlansRunAsOnTheSQLiteEngine(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	e := enginetest.OpenOn(t, s, randomplan.Registry(), engine.Options{})
	rapid.Check(t, func(rt *rapid.T) {
		src := randomplan.Plans(rt)
		doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
		if doc == nil || problems.Err() != nil {
			rt.Skip("not a plan")
		}
		_, v, _, _, err := e.SavePlan(context.Background(), enginetest.Operator, []byte(src), planner.FormatJSON, "upload", "")
		if err != nil {
			rt.Skip("not a plan for this installation")
		}
		v, err = s.VersionByHash(context.Background(), v.Hash)
		if err != nil {
			rt.Fatal(err)
		}
		run := e.Begin(v, propertyInput)
		r := e.Settle(run.ID)
		for r.WaitReason == domain.WaitApproval {
			answer(rt, e, run.ID)
			r = e.Settle(run.ID)
		}
		rows, err := s.Journal(context.Background(), run.ID, 0)
		if err != nil {
			rt.Fatal(err)
		}
		want := outcomeOf(r, rows)

		w := drivertest.New(rt, randomplan.Registry())
		w.Keep(v)
		answerAll(w)
		workflow := w.RunVersion(v, propertyInput)
		got := outcomeOf(workflow, w.Reports.Journal(workflow.ID))
		if want.Status == domain.RunCompleted || got.Status != want.Status { // which other steps ran depends on the time of a failure
			if diff := cmp.Diff(want, got); diff != "" {
				rt.Fatalf("%s\nSQLite (-) and Temporal (+) differ:\n%s\n%s\n%s", src, diff, e.Journal(run.ID), w.Reports.Text(workflow.ID))
			}
		}
		// The record of kairosd leads to the state of the workflow.
		p, err := e.Reader.Compile(context.Background(), domain.AsWritten(v.Hash))
		if err != nil {
			rt.Fatal(err)
		}
		input, err := runstate.Decode(workflow.Input)
		if err != nil {
			rt.Fatal(err)
		}
		state, err := runstate.Fold(p.Program, runstate.Facts{Run: workflow.ID, Input: input}, w.Reports.Journal(workflow.ID))
		if err != nil {
			rt.Fatalf("fold of the reported rows: %v\n%s", err, w.Reports.Text(workflow.ID))
		}
		if end := state.Walk.Outcome(); !end.Done || string(end.Status) != string(workflow.Status) {
			rt.Fatalf("the reported rows lead to %s, the run is %s", end.Status, workflow.Status)
		}
	})
}

func answer(rt *rapid.T, e *enginetest.Engine, run string) {
	list, err := e.Store.Approvals(context.Background(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil {
		rt.Fatal(err)
	}
	for _, p := range list.Items {
		_, err := e.Decide(context.Background(), enginetest.Operator,
			domain.DecideRequest{Approval: p.ID, Approve: p.Message == "approve", Digest: p.Digest})
		if err != nil && domain.CodeOf(err) != domain.CodeConflict { // the previous answer may have ended the run
			rt.Fatal(err)
		}
	}
}

// answerAll answers every request of the run as its message states, once a minute.
func answerAll(w *drivertest.World) {
	var again func()
	again = func() {
		if w.Env.IsWorkflowCompleted() {
			return
		}
		for _, p := range w.Approvals() {
			w.Update(wire.DecideUpdate, wire.Decision{Actor: drivertest.Operator, Approval: p.ID,
				Request: domain.DecideRequest{Approve: p.Message == "approve", Digest: p.Digest}})
		}
		w.At(time.Minute, again)
	}
	w.At(time.Minute, again)
}
