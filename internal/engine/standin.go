package engine

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// This file is about steps that a fork does not run: a result stands in for them,
// the recorded one or a stub, so that what they did outside is not done twice.

// Why a visit has a result that nothing ran for.
const (
	givenRecorded = "a person gave it the recorded result"
	givenStub     = "a person gave it a stub"
)

// standIns writes the results that stand in for steps into the new journal. They
// take effect when the steps' turn comes.
func (b *branch) standIns(req kairos.VerbRequest) error {
	v := b.view
	rows := v.candidates(v.run.LastSeq)
	for _, name := range slices.Sorted(maps.Keys(req.Instead)) {
		node, visit, err := visitOf(name, func(node string) int {
			latest := 1
			for _, c := range rows {
				if c.Node == node {
					latest = max(latest, c.Visit)
				}
			}
			return latest
		})
		if err != nil {
			return err
		}
		i, ok := b.prog.Index[node]
		if !ok {
			return kairos.Errorf(kairos.CodeInvalid, "instead: the version has no node %q", node)
		}
		if b.prog.Nodes[i].Foreach != nil {
			return kairos.Errorf(kairos.CodeInvalid, "instead: %s runs once per item; no one result stands in for it", node).Suggest("fork after it, and edit its output")
		}
		if b.prog.Nodes[i].Type == planner.TypeApproval || v.asked(node) { // ruling 38
			return kairos.Errorf(kairos.CodeForbidden, "instead: %s is decided by a person; no result stands in for that", node)
		}
		if slices.ContainsFunc(b.s.settled, func(d settled) bool { return d.node == i && d.visit == visit }) {
			return kairos.Errorf(kairos.CodeInvalid, "instead: %s is kept", visitName(node, visit)).Suggest("edit its output")
		}
		said := req.Instead[name]
		row := kairos.Entry{Kind: kairos.EntryResolve, Node: node, Visit: visit, Item: noItem, Decision: payload{Action: actionGiven}.json(), Output: said.Output, Reason: givenStub, At: v.e.now()}
		if said.Recorded {
			at := slices.IndexFunc(rows, func(c candidate) bool {
				return c.Node == node && c.Visit == visit && c.Item == noItem && c.Status == kairos.NodeCompleted
			})
			if at < 0 {
				return kairos.Errorf(kairos.CodeInvalid, "instead: %s has no recorded result", visitName(node, visit)).Suggest("give it a stub, or let it run")
			}
			row.Output, row.Reason = rows[at].Output, givenRecorded
		}
		if len(row.Output) == 0 {
			row.Output = kairos.RawJSON("null")
		}
		value, err := planner.DecodeValue(row.Output)
		if err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "instead: %s: %w", name, err)
		}
		if row.Output, err = planner.EncodeValue(value); err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "instead: %s: %w", name, err)
		}
		if err := b.append(row); err != nil {
			return err
		}
	}
	return nil
}

// asked reports whether a person was asked about a call of the node.
func (v *view) asked(node string) bool {
	return slices.ContainsFunc(v.journal, func(e kairos.Entry) bool {
		return e.Kind == kairos.EntryWait && kairos.WaitReason(e.Reason) == kairos.WaitApproval && e.Substep == 0 && e.Node == node
	})
}

// repeats lists the visits that had effects outside, completed in the forked run,
// and would be made again; with what stands in for them.
func (b *branch) repeats(l *lists) []kairos.PreviewRepeat {
	v := b.view
	ahead, given := map[string]bool{}, map[string]string{}
	for _, list := range [][]kairos.PreviewStep{l.again, l.fresh, l.given} {
		for _, s := range list {
			ahead[s.Node] = true
		}
	}
	for _, s := range l.given {
		if given[s.Node] = "stub"; s.Reason == givenRecorded {
			given[s.Node] = "recorded"
		}
	}
	kept := map[planner.VisitKey]bool{}
	for _, d := range b.s.settled {
		kept[planner.VisitKey{Node: d.node, Visit: d.visit}] = true
	}
	var out []kairos.PreviewRepeat
	listed := map[string]bool{}
	for _, c := range v.candidates(v.run.LastSeq) {
		i, ok := b.prog.Index[c.Node]
		name := visitName(c.Node, c.Visit)
		if !ok || listed[name] || !ahead[c.Node] || c.Status != kairos.NodeCompleted || !touches(planner.Effect(c.Effect)) || kept[planner.VisitKey{Node: i, Visit: c.Visit}] {
			continue
		}
		listed[name] = true
		out = append(out, kairos.PreviewRepeat{Node: c.Node, Visit: c.Visit, Type: b.typeOf(c.Node), Effect: c.Effect, Given: given[c.Node]})
	}
	return out
}

// foretoldSteps bounds how far decisions are foretold.
const foretoldSteps = 1000

// foretell says where the new run goes as far as that follows from what is kept,
// edited and given: decisions that come out otherwise, and those that pure steps
// lead to. It uses up the state of the branch.
func (b *branch) foretell() []kairos.PreviewDecision {
	v := b.view
	was := map[planner.VisitKey]planner.Decision{}
	for i := range v.journal {
		e := &v.journal[i]
		if n, ok := b.prog.Index[e.Node]; ok && e.Final {
			was[planner.VisitKey{Node: n, Visit: e.Visit}] = readDecision(e.Decision)
		}
	}
	var out []kairos.PreviewDecision
	say := func(k planner.VisitKey, d planner.Decision, always bool) {
		old := was[k]
		if len(b.prog.Nodes[k.Node].Out) == 0 || !always && old.To == d.To && old.Ended == d.Ended {
			return
		}
		p := kairos.PreviewDecision{Node: b.prog.Nodes[k.Node].ID, Visit: k.Visit, To: d.To, Ended: d.Ended, Was: old.To}
		for _, e := range d.Evaluated {
			if e.To == d.To {
				p.Condition = e.Condition
			}
		}
		out = append(out, p)
	}
	for i := range b.entries {
		if e := &b.entries[i]; e.Kind == kairos.EntryResult && e.Final {
			say(planner.VisitKey{Node: b.prog.Index[e.Node], Visit: e.Visit}, readDecision(e.Decision), false)
		}
	}
	tried := map[workKey]bool{}
	for range foretoldSteps {
		at := slices.IndexFunc(b.s.sorted(), func(w *work) bool {
			n := &b.prog.Nodes[w.Node]
			pure := builtin(n.Type) && n.Effect == ""
			return !tried[w.workKey] && w.phase == phaseReady && w.item == noItem && n.Foreach == nil && (pure || w.answer != nil && w.answer.given != "")
		})
		if at < 0 {
			break
		}
		w := b.s.sorted()[at]
		tried[w.workKey] = true
		value, ok := b.known(w)
		if !ok {
			continue
		}
		raw, err := planner.EncodeValue(value)
		if err != nil {
			continue
		}
		row := kairos.Entry{Seq: b.s.seq + 1, Kind: kairos.EntryResult, Node: b.prog.Nodes[w.Node].ID, Visit: w.Visit, Item: noItem, Final: true, Status: kairos.NodeCompleted, Output: raw, At: v.e.now()}
		k := w.VisitKey
		d, err := b.s.settle(&row, w.workKey, value)
		if err != nil {
			break
		}
		if len(b.prog.Nodes[k.Node].Out) > 1 {
			say(k, d, true)
		}
	}
	return out
}

// known is the output of work that nothing outside has a part in.
func (b *branch) known(w *work) (any, bool) {
	if w.answer != nil {
		v, err := decode(w.answer.output)
		return v, err == nil
	}
	switch b.prog.Nodes[w.Node].Type {
	case planner.TypeNoop, planner.TypeDecision:
		return b.s.walk.Last(w.VisitKey), true
	}
	v, failure := b.s.walk.Input(w.VisitKey, w.item)
	return v, failure == nil
}
