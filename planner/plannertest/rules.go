package plannertest

import (
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// afterFailure is what a failure leads to: the first edge of the document for it, or else the target
// of the first rule for it, or else on_error.
func afterFailure(def *walk.ProgramNode, f *walk.Failure) (edge int, on walk.OnError) {
	for i, e := range def.Out {
		if f != nil && !e.Rule && e.Cond.Catches(f.Code) {
			return i, ""
		}
	}
	for _, r := range def.Rules {
		about := len(r.Codes) == 0 || f != nil && slices.Contains(r.Codes, f.Code)
		if about && (r.Edge >= 0 || r.OnError != "") {
			return r.Edge, r.OnError
		}
	}
	return -1, def.OnError
}

// continued reports whether a failed item of a foreach counts as handled. Edges of the document are for
// the whole foreach.
func continued(def *walk.ProgramNode, f *walk.Failure) bool {
	rules := *def
	rules.Out = nil
	edge, on := afterFailure(&rules, f)
	return edge < 0 && on == walk.OnErrorContinue
}

func target(p *walk.Program, to int) string {
	if to == walk.End {
		return "$end"
	}
	return p.Nodes[to].ID
}
