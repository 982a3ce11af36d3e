package driver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/engine/enginetest/randomplan"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/temporal/internal/driver"
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
	Replans int
	Path    []string
	Outputs map[string]string
	Rows    []settled
	// Decisions of the walk, by the visit that they are about. The last of several parallel steps or items has the decision
	// about what they share.
	Decisions []string
}

// childIn finds the short ID of a child run in a message.
var childIn = regexp.MustCompile(`\brun [0-9a-z]{4} of\b`)

// masked returns a text without the IDs of child runs.
func masked(text string) string { return childIn.ReplaceAllString(text, "run CHILD of") }

func outcomeOf(r domain.Run, rows []domain.Entry) outcome {
	result := domain.ResultOf(domain.RunDetail{Run: r, Journal: rows})
	o := outcome{Status: r.Status, Output: masked(string(r.Output)), Usage: r.Usage, Steps: r.Steps, Path: result.Path,
		Outputs: map[string]string{}}
	if r.Error != nil {
		o.Error = r.Error.Node + " " + r.Error.Code + ": " + masked(r.Error.Message)
	}
	for k, v := range result.Outputs {
		o.Outputs[k] = masked(string(v))
	}
	for _, e := range rows {
		if e.Kind == domain.EntryReplan {
			o.Replans++
		}
		if e.Final {
			s := settled{e.Node, e.Visit, e.Item, e.Status, e.Effect, masked(string(e.Output)), ""}
			if e.Failure != nil {
				s.Failure = e.Failure.Code + ": " + masked(e.Failure.Message)
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
				list = append(list, masked(fmt.Sprintf("%s: %s", name, p)))
			}
			continue
		}
		list = append(list, masked(fmt.Sprintf("%s#%d %s: %s", e.Node, e.Visit, name, d[name])))
	}
	return list
}

// Random plans take the same path as on the SQLite engine, with the same outputs, decisions, and errors. The SQLite engine
// is compared with the executor in memory in package engine.
func TestRandomPlansRunAsOnTheSQLiteEngine(t *testing.T) {
	t.Parallel()
	b := openBoth(t)
	rapid.Check(t, func(rt *rapid.T) { b.compare(rt, randomplan.Plans(rt), "") })
}

// Plans with timers, blocks, child runs, races, and profiles run as on the SQLite engine, and so do their child runs.
func TestRandomCompositePlansRunAsOnTheSQLiteEngine(t *testing.T) {
	t.Parallel()
	b := openBoth(t)
	for _, key := range slices.Sorted(maps.Keys(randomplan.Parts)) {
		b.parts = append(b.parts, b.e.Save(randomplan.Parts[key]))
	}
	rapid.Check(t, func(rt *rapid.T) {
		src, profile := randomplan.Composite(rt)
		b.compare(rt, src, profile)
	})
}

// both runs plans on the SQLite engine and on Temporal.
type both struct {
	s     *store.Store
	e     *enginetest.Engine
	parts []domain.Version // that plans run
}

func openBoth(t *testing.T) *both {
	s := storetest.Open(t)
	return &both{s: s, e: enginetest.OpenOn(t, s, planned(), engine.Options{})}
}

// planned returns the scripted handlers with a planner.
func planned() *enginetest.Registry {
	r := randomplan.Registry()
	r.Replanner = randomplan.Planner{}
	return r
}

// outcomes returns the outcome of a run, with those of its child runs by the step and item that started them.
func (b *both) outcomes(rt *rapid.T, r domain.Run, rows []domain.Entry, children []domain.Run,
	journal func(run string) []domain.Entry) map[string]outcome {
	all := map[string]outcome{"": outcomeOf(r, rows)}
	for _, c := range children {
		key := fmt.Sprintf("%s#%d[%d]", c.Parent.Node, c.Parent.Visit, c.Parent.Item)
		if _, twice := all[key]; twice {
			rt.Fatalf("%s has two child runs", key)
		}
		all[key] = outcomeOf(c, journal(c.ID))
	}
	return all
}

// dropLateItems removes the child runs of items that only one side has begun, if another item of the list has failed. Which other
// items begin depends on the time of a failure.
func dropLateItems(a, b map[string]outcome) {
	failed := map[string]bool{}
	list := func(key string) string { name, _, _ := strings.Cut(key, "["); return name }
	for _, all := range []map[string]outcome{a, b} {
		for key, o := range all {
			failed[list(key)] = failed[list(key)] || !strings.HasSuffix(key, "[-1]") && o.Status == domain.RunFailed
		}
	}
	drop := func(from, other map[string]outcome) {
		maps.DeleteFunc(from, func(key string, _ outcome) bool {
			_, both := other[key]
			return !both && failed[list(key)]
		})
	}
	drop(a, b)
	drop(b, a)
}

// compare runs a plan on both.
func (b *both) compare(rt *rapid.T, src, profile string) {
	ctx := context.Background()
	doc, problems := planner.Parse([]byte(src), planner.WithFormat(planner.FormatJSON))
	if doc == nil || problems.Err() != nil {
		rt.Skip("not a plan")
	}
	_, v, _, _, err := b.e.SavePlan(ctx, enginetest.Operator, []byte(src), planner.FormatJSON, "upload", "")
	if err != nil {
		rt.Skip("not a plan for this installation")
	}
	if v, err = b.s.VersionByHash(ctx, v.Hash); err != nil {
		rt.Fatal(err)
	}
	run, err := b.e.Start(ctx, enginetest.Operator,
		domain.StartRequest{Hash: v.Hash, Profile: profile, Input: domain.RawJSON(propertyInput)})
	if err != nil {
		rt.Fatal(err)
	}
	r := b.e.Settle(run.ID)
	for r.WaitReason == domain.WaitApproval {
		answer(rt, b.e, run.ID)
		r = b.e.Settle(run.ID)
	}
	read := func(id string) []domain.Entry {
		rows, err := b.s.Journal(ctx, id, 0)
		if err != nil {
			rt.Fatal(err)
		}
		return rows
	}
	list, err := b.e.Store.Runs(ctx, domain.RunFilter{Parent: run.ID, Page: domain.Page{Limit: 200}})
	if err != nil {
		rt.Fatal(err)
	}
	var children []domain.Run
	for _, c := range list.Items { // without values
		whole, err := b.s.Run(ctx, c.ID)
		if err != nil {
			rt.Fatal(err)
		}
		children = append(children, whole)
	}
	want := b.outcomes(rt, r, read(run.ID), children, read)

	w := drivertest.New(rt, planned())
	w.Profile = profile
	for _, p := range append(b.parts, v) {
		w.Keep(p)
	}
	answerAll(w)
	workflow := w.RunVersion(v, propertyInput)
	var own []domain.Run
	for _, c := range w.Reports.Runs() {
		if c.Parent != nil && c.Parent.Run == workflow.ID {
			own = append(own, c)
		}
	}
	got := b.outcomes(rt, workflow, w.Reports.Journal(workflow.ID), own, w.Reports.Journal)
	dropLateItems(want, got)
	// Which other steps ran depends on the time of a failure.
	if want[""].Status == domain.RunCompleted || got[""].Status != want[""].Status {
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s\nSQLite (-) and Temporal (+) differ:\n%s\n%s\n%s", src, diff, b.e.Journal(run.ID), w.Reports.Text(workflow.ID))
		}
	}
	// The record of kairosd leads to the state of the workflow.
	ended := workflow
	ended.Input = w.Input.Run.Input
	var programs driver.Programs
	_, state, err := programs.Fold(ended, w.Reports.Journal(workflow.ID),
		func(hash string) (domain.Version, error) { return w.VersionByHash(ctx, hash) })
	if err != nil {
		rt.Fatalf("fold of the reported rows: %v\n%s", err, w.Reports.Text(workflow.ID))
	}
	if end := state.Walk.Outcome(); !end.Done || string(end.Status) != string(workflow.Status) {
		rt.Fatalf("the reported rows lead to %s, the run is %s", end.Status, workflow.Status)
	}
}

func answer(rt *rapid.T, e *enginetest.Engine, run string) {
	list, err := e.Store.Approvals(context.Background(), domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil {
		rt.Fatal(err)
	}
	for _, p := range list.Items {
		_, err := e.Decide(context.Background(), enginetest.Operator,
			domain.DecideRequest{Approval: p.ID, Approve: approves(p), Digest: p.Digest})
		if err != nil && domain.CodeOf(err) != domain.CodeConflict { // the previous answer may have ended the run
			rt.Fatal(err)
		}
	}
}

// approves reports whether a request is approved: its message states it, or it is about a new version.
func approves(p domain.Approval) bool {
	return p.Message == "approve" || strings.HasPrefix(p.Message, "After ")
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
				Request: domain.DecideRequest{Approve: approves(p), Digest: p.Digest}})
		}
		w.At(time.Minute, again)
	}
	w.At(time.Minute, again)
}
