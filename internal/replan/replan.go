// Package replan contains the rules by which a run follows a new version of its plan: the request to the planner, the version
// that its answer describes, and the rows that the run keeps. It has no I/O: [Answers] gets the planner as a function.
package replan

import (
	"encoding/json"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Request returns the step for which a run waits for a new version, and the request to the planner. version is the version that
// the run follows, with its source. The error has CodeConflict if the run does not wait for a plan.
func Request(v *preview.View, version domain.Version) (*runstate.Step, domain.ReplanRequest, error) {
	req := domain.ReplanRequest{Run: v.Run, Version: version}
	w := v.State.Replanning()
	if w == nil || w.ReplanTarget != nil {
		return nil, req, domain.Errorf(domain.CodeConflict, "the run no longer waits for a plan")
	}
	req.Node = v.Program.Nodes[w.Node].ID
	if w.Failure != nil {
		req.Failure = *w.Failure
	}
	for _, d := range v.State.Settled {
		n := &v.Program.Nodes[d.Node]
		step := domain.ReplanStep{Node: n.ID, Task: n.Task, Agent: n.Agent, Status: d.Status}
		if out, ok := v.State.Walk.Output(n.ID); ok && d.Status == domain.NodeCompleted {
			var err error
			if step.Output, err = jsonvalue.Encode(out); err != nil {
				return w, req, err
			}
		}
		req.Settled = append(req.Settled, step)
	}
	for _, other := range v.State.OpenSteps() {
		if id := v.Program.Nodes[other.Node].ID; other != w && other.Phase == runstate.PhaseWaiting && !slices.Contains(req.Open, id) {
			req.Open = append(req.Open, id)
		}
	}
	return w, req, nil
}

// Recorded returns the recorded answer of the planner for a step, or false. Its usage is recorded, too, and counts once.
func Recorded(w *runstate.Step) (domain.Replanned, bool, error) {
	row, ok := w.Substeps[runstate.ReplanSubstep]
	if !ok {
		return domain.Replanned{}, false, nil
	}
	var p runstate.PlannerAnswer
	if err := json.Unmarshal(row.Output, &p); err != nil {
		return domain.Replanned{}, false, runstate.CorruptRow(&row, "%v", err)
	}
	return domain.Replanned{Source: []byte(p.Source), Reason: p.Reason, Unsafe: p.Unsafe}, true, nil
}

// Version returns the version to store for an answer. doc is the checked document of the answer, and from the version that the
// run follows.
func Version(doc *planner.Document, problems planner.Problems, from domain.Version, reason string) (domain.NewVersion, error) {
	if err := problems.Err(); err != nil {
		return domain.NewVersion{}, domain.Errorf(domain.CodeInvalid, "the new plan is not valid: %w", err)
	}
	if doc.ID != from.PlanKey {
		return domain.NewVersion{}, domain.Errorf(domain.CodeInvalid, "the new plan is %q, not a version of %q", doc.ID, from.PlanKey)
	}
	if doc.Hash == from.Hash {
		return domain.NewVersion{}, domain.Errorf(domain.CodeInvalid, "the new plan equals the current one")
	}
	n := domain.NewVersion{Key: doc.ID, Hash: doc.Hash, Kind: string(doc.Kind()), Format: string(doc.Format), Origin: runstate.KindReplan,
		Semantics: walk.Semantics, Source: doc.Source, Canonical: doc.Canonical(),
		ParentHash: from.Hash, Reason: reason, Author: runstate.ReplanActor.Name}
	if doc.Graph != nil {
		n.Name, n.Description = doc.Graph.Name, doc.Graph.Description
	} else {
		n.Name, n.Description = doc.Steps.Name, doc.Steps.Description
	}
	return n, nil
}

// Follow returns a version that a run may follow, with the rows that it keeps. It must keep every completed step. v.Journal
// contains all rows that were applied.
func Follow(v preview.View, prog *runstate.Compiled, f runstate.Facts, t runstate.ReplanTarget) (*runstate.NewVersion, error) {
	v.Run.LastSeq = v.State.Seq
	kept, dropped, err := v.KeepFor(prog, f)
	if err != nil {
		return nil, err
	}
	for _, d := range dropped {
		if d.Status == domain.NodeCompleted {
			return nil, domain.Errorf(domain.CodeInvalid, "version %d does not keep the completed node %s: %s", t.Version, d.Node, d.Reason)
		}
	}
	return &runstate.NewVersion{Program: prog, Facts: f, Journal: v.Journal, Kept: kept}, nil
}
