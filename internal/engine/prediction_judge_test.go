package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

func (x *prediction) compare(req domain.ActionRequest, run domain.Run, from int64) {
	x.rt.Helper()
	ran := x.ran(run.ID, from, false)
	announced, effects := map[passage]bool{}, map[string]bool{}
	for _, step := range slices.Concat(x.pre.Again, x.pre.New) {
		announced[passage{step.Node, step.Visit}] = true
		if step.Visit > 0 && !ran[passage{step.Node, step.Visit}] {
			x.fail(req, run, from, "%s#%d was to run and did not", step.Node, step.Visit)
		}
	}
	for _, step := range x.pre.Again {
		if !x.before[step.Node] {
			x.fail(req, run, from, "%s is to run again and never ran", step.Node)
		}
	}
	for _, step := range x.pre.New {
		if x.before[step.Node] {
			x.fail(req, run, from, "%s is called new and ran before", step.Node)
		}
	}
	for _, step := range x.pre.Effects {
		effects[step.Node] = true
	}
	for _, step := range x.pre.InDoubt {
		if ran[passage{step.Node, step.Visit}] && len(step.Items) == 0 {
			x.fail(req, run, from, "%s#%d was to wait for a person's word and ran", step.Node, step.Visit)
		}
	}
	for _, step := range slices.Concat(x.pre.Given, x.pre.Later) {
		if ran[passage{step.Node, step.Visit}] && step.Visit > 0 && len(step.Items) == 0 {
			x.fail(req, run, from, "%s#%d was not to run and did", step.Node, step.Visit)
		}
	}
	x.overridden(req, run, from)
	if req.Only != "" && !run.Status.Final() && run.WaitReason != domain.WaitPaused &&
		!ran[passage{strings.Split(req.Only, "#")[0], x.pre.Again[0].Visit}] {
		x.fail(req, run, from, "%s did not run", req.Only)
	}
	x.decisions(req, run, from)
	x.items(req, run, from)
	for _, step := range x.pre.Keep {
		if ran[passage{step.Node, step.Visit}] {
			x.fail(req, run, from, "%s#%d was to be kept and ran", step.Node, step.Visit)
		}
	}
	rows := x.journal(run.ID)
	for p := range ran {
		// An override of a list applies to no item if the list is empty.
		empty := slices.ContainsFunc(rows, func(r domain.Entry) bool {
			return r.Node == p.node && r.Visit == p.visit && r.Item < 0 && r.Final && r.Attempt == 0 && string(r.Output) == "[]"
		}) && slices.ContainsFunc(x.pre.Given, func(s domain.PreviewStep) bool { return s.Node == p.node })
		if !announced[p] && !announced[passage{p.node, 0}] && !empty {
			x.fail(req, run, from, "%s#%d ran and was not announced", p.node, p.visit)
		}
		touches := slices.ContainsFunc(rows, func(r domain.Entry) bool {
			return r.Seq > from && r.Kind == domain.EntryIntent && r.Node == p.node &&
				(r.Effect == string(walk.EffectIdempotent) || r.Effect == string(walk.EffectUnsafe))
		})
		if touches && !effects[p.node] {
			x.fail(req, run, from, "%s touched the world outside and was not announced to", p.node)
		}
	}
	result, err := x.e.Result(context.Background(), run.ID)
	if err != nil {
		x.rt.Fatal(err)
	}
	kept := map[string]int{}
	for _, step := range x.pre.Keep {
		if step.Status == domain.NodeCompleted {
			kept[step.Node]++
		}
	}
	for node, n := range kept {
		got := len(slices.DeleteFunc(slices.Clone(result.Path), func(p string) bool { return p != node }))
		if got < n {
			x.fail(req, run, from, "%d completed visits of %s were to be kept, %d are there", n, node, got)
		}
	}
}

// overridden checks that steps with an override did not run and have the override as their result.
func (x *prediction) overridden(req domain.ActionRequest, run domain.Run, from int64) {
	x.rt.Helper()
	given := map[string]bool{}
	for _, step := range x.pre.Given {
		for _, i := range step.Items {
			given[fmt.Sprintf("%s#%d[%d]", step.Node, step.Visit, i)] = step.Visit > 0
		}
	}
	for _, r := range x.journal(run.ID) {
		if r.Seq <= from || r.Node == "" || r.Kind == domain.EntryResolve || r.Status == domain.NodeSkipped ||
			r.Status == domain.NodeCancelled {
			continue
		}
		name := fmt.Sprintf("%s#%d", r.Node, r.Visit)
		item := fmt.Sprintf("%s[%d]", name, r.Item)
		override, ok := req.Instead[item]
		if !ok {
			// Recorded results apply to the recorded items. The preview names the items of an open
			// visit.
			if override, ok = req.Instead[name]; ok && override.Recorded && r.Item >= 0 {
				ok = given[item]
			}
		}
		if ok != given[item] && given[item] {
			x.fail(req, run, from, "%s was announced as given, and nobody gave it", item)
		}
		if !ok || r.Item < 0 && r.Reason == "" && r.Kind == domain.EntryResult && r.Attempt == 0 {
			continue // a visit without items, or without a list
		}
		switch {
		case !strings.HasPrefix(r.Reason, "a person gave"):
			x.fail(req, run, from, "a result stood in for %s, and it ran", item)
		case !override.Recorded && string(r.Output) != string(override.Output):
			x.fail(req, run, from, "%s was given %s and has %s", item, override.Output, r.Output)
		}
	}
}

// decisions checks that every predicted decision was made, if the run reached its node.
func (x *prediction) decisions(req domain.ActionRequest, run domain.Run, from int64) {
	x.rt.Helper()
	for _, d := range x.pre.Decisions {
		for _, r := range x.journal(run.ID) {
			var went walk.Decision
			if r.Node != d.Node || r.Visit != d.Visit || !r.Final || r.Item >= 0 || r.Status != domain.NodeCompleted {
				continue
			}
			if len(r.Decision) > 0 && json.Unmarshal(r.Decision, &went) != nil {
				x.rt.Fatal("decision cannot be read")
			}
			if went.To != d.To {
				x.fail(req, run, from, "%s#%d was to lead to %q and led to %q", d.Node, d.Visit, d.To, went.To)
			}
		}
	}
}

// items checks that completed items of a continued list do not run again, unless the preview names
// them.
func (x *prediction) items(req domain.ActionRequest, run domain.Run, from int64) {
	x.rt.Helper()
	rows := x.journal(run.ID)
	for _, step := range slices.Concat(x.pre.Again, x.pre.New) {
		if len(step.Items) == 0 {
			continue
		}
		done := map[int]bool{}
		for _, r := range rows {
			if r.Node != step.Node || r.Visit != step.Visit || r.Item < 0 {
				continue
			}
			if r.Seq <= from {
				done[r.Item] = r.Final && r.Status == domain.NodeCompleted
			} else if done[r.Item] && r.Kind != domain.EntryResolve && !slices.Contains(step.Items, r.Item) {
				x.fail(req, run, from, "item %d of %s#%d had completed, was not announced, and ran again", r.Item, step.Node, step.Visit)
			}
		}
	}
}

// judged checks that a completed fork has the result of the reference interpreter, with the kept
// results of the source run and the script's results for the rest.
func (x *prediction) judged(req domain.ActionRequest, run domain.Run, from int64) {
	x.rt.Helper()
	if run.Status != domain.RunCompleted {
		return // the steps that a failing or waiting run settles depend on timing
	}
	p, err := x.e.Program(context.Background(), run.ProgramRef)
	if err != nil {
		x.rt.Fatal(err)
	}
	kept := map[walk.VisitKey]map[int]domain.Entry{}
	for _, r := range x.journal(run.ID) {
		if r.Final && (r.Seq <= from || strings.HasPrefix(r.Reason, "a person gave")) {
			k := walk.VisitKey{Node: p.Index[r.Node], Visit: r.Visit}
			if kept[k] == nil {
				kept[k] = map[int]domain.Entry{}
			}
			kept[k][r.Item] = r
		}
	}
	want := referenceOutcome(x.rt, p, run.Input, func(k walk.VisitKey, item int, input any) (walk.Status, any, *walk.Failure) {
		n := &p.Nodes[k.Node]
		r, ok := kept[k][item]
		if !ok {
			out, f := moodyScript(x.mood, n.ID, kindOf(n), input)
			return "", out, f
		}
		if r.Failure != nil {
			return walk.Failed, nil, &walk.Failure{Code: r.Failure.Code, Message: r.Failure.Message, Node: n.ID}
		}
		out, err := jsonvalue.Decode(r.Output)
		if err != nil && len(r.Output) > 0 {
			x.rt.Fatal(err)
		}
		return walk.Status(r.Status), out, nil
	})
	result, err := x.e.Result(context.Background(), run.ID)
	if err != nil {
		x.rt.Fatal(err)
	}
	if diff := cmp.Diff(want, outcomeOf(result), cmpopts.EquateEmpty()); diff != "" {
		x.fail(req, run, from, "the reference (-) and the fork (+) differ:\n%s", diff)
	}
}

// cancelled checks that only finally steps began, and that the open steps are cancelled.
func (x *prediction) cancelled(run domain.Run, from int64) {
	req := domain.ActionRequest{Run: run.ID, Action: domain.ActionCancel}
	// A cancel of finally steps keeps the outcome of the run. A finally step may wait for a person.
	finishing := slices.ContainsFunc(x.journal(run.ID), func(r domain.Entry) bool {
		return r.Seq <= from && strings.HasPrefix(r.Node, "f")
	})
	if run.Status != domain.RunCancelled && !(finishing && run.Status.Final()) && run.WaitReason != domain.WaitInDoubt {
		x.fail(req, run, from, "the run is %s", run.Status)
	}
	ran := x.ran(run.ID, from, true)
	for _, step := range slices.Concat(x.pre.New, x.pre.Given) { // finally steps
		for p := range ran {
			if p.node == step.Node && strings.HasPrefix(p.node, "f") {
				delete(ran, p)
			}
		}
	}
	if len(ran) > 0 {
		x.fail(req, run, from, "%v ran after the cancel", ran)
	}
	rows := x.journal(run.ID)
	for _, step := range x.pre.Dropped {
		if step.Visit > 0 && !slices.ContainsFunc(rows, func(r domain.Entry) bool {
			return r.Seq > from && r.Node == step.Node && r.Visit == step.Visit && r.Status == domain.NodeCancelled
		}) {
			x.fail(req, run, from, "%s#%d was to be cancelled and was not", step.Node, step.Visit)
		}
	}
}
