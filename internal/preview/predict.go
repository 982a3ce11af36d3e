package preview

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// maxPredictedSteps is the maximum number of steps for which decisions are predicted.
const maxPredictedSteps = 1000

// PredictDecisions predicts decisions of the new run that follow from kept, edited, and given
// values: those that differ from the old run, and those of pure steps. It modifies the state of the
// branch.
func (b *Branch) PredictDecisions() []domain.PreviewDecision {
	v := b.view
	was := map[walk.VisitKey]walk.Decision{}
	for i := range v.Journal {
		e := &v.Journal[i]
		if n, ok := b.Program.Index[e.Node]; ok && e.Final {
			was[walk.VisitKey{Node: n, Visit: e.Visit}] = runstate.ReadDecision(e.Decision)
		}
	}
	var out []domain.PreviewDecision
	predict := func(k walk.VisitKey, d walk.Decision, always bool) {
		old := was[k]
		if len(b.Program.Nodes[k.Node].Out) == 0 || !always && old.To == d.To && old.Ended == d.Ended {
			return
		}
		p := domain.PreviewDecision{Node: b.Program.Nodes[k.Node].ID, Visit: k.Visit, To: d.To, Ended: d.Ended, Was: old.To}
		for _, e := range d.Evaluated {
			if e.To == d.To {
				p.Condition = e.Condition
			}
		}
		out = append(out, p)
	}
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Kind == domain.EntryResult && e.Final {
			predict(walk.VisitKey{Node: b.Program.Index[e.Node], Visit: e.Visit}, runstate.ReadDecision(e.Decision), false)
		}
	}
	tried := map[runstate.StepKey]bool{}
	for range maxPredictedSteps {
		at := slices.IndexFunc(b.State.OpenSteps(), func(w *runstate.Step) bool {
			n := &b.Program.Nodes[w.Node]
			pure := runstate.Builtin(n.Type) && n.Effect == ""
			return !tried[w.StepKey] && w.Phase == runstate.PhaseReady && w.Item == runstate.NoItem && n.Foreach == nil &&
				!walk.Lost(b.State.Walk, w.Node) && (pure ||
				w.Resolution != nil && w.Resolution.Given != "")
		})
		if at < 0 {
			break
		}
		w := b.State.OpenSteps()[at]
		tried[w.StepKey] = true
		value, ok := b.known(w)
		if !ok {
			continue
		}
		raw, err := jsonvalue.Encode(value)
		if err != nil {
			continue
		}
		row := domain.Entry{Seq: b.State.Seq + 1, Kind: domain.EntryResult, Node: b.Program.Nodes[w.Node].ID, Visit: w.Visit,
			Item: runstate.NoItem, Final: true, Status: domain.NodeCompleted, Output: raw, At: v.Env.Now()}
		k := w.VisitKey
		d, err := b.State.Settle(&row, w.StepKey, value, v.Env.Now())
		if err != nil {
			break
		}
		if len(b.Program.Nodes[k.Node].Out) > 1 {
			predict(k, d, true)
		}
	}
	return out
}

// known returns the output of a visit that depends on nothing outside the run.
func (b *Branch) known(w *runstate.Step) (any, bool) {
	if w.Resolution != nil {
		v, err := runstate.Decode(w.Resolution.Output)
		return v, err == nil
	}
	switch b.Program.Nodes[w.Node].Type {
	case walk.TypeFail:
		return nil, false
	case walk.TypeNoop, walk.TypeDecision:
		return b.State.Walk.Last(w.VisitKey), true
	}
	v, failure := b.State.Walk.Input(w.VisitKey, w.Item)
	return v, failure == nil
}
