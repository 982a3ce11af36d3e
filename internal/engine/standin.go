package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
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
// take effect when the steps' turn comes. Of a node that runs once per item every
// item is a step: what is said of the visit is said of each of its items that has
// no word of its own.
func (b *branch) standIns(req domain.VerbRequest) error {
	v := b.view
	rows := v.recorded()
	names := slices.Sorted(maps.Keys(req.Instead))
	steps := make([]runstate.StepKey, len(names))
	own := map[runstate.StepKey]bool{}
	for i, name := range names {
		k, err := b.standsFor(name, rows)
		if err != nil {
			return err
		}
		steps[i], own[k] = k, true
	}
	kept := b.keptItems()
	for i, name := range names {
		k, said := steps[i], req.Instead[name]
		if kept[k] {
			return domain.Errorf(domain.CodeInvalid, "instead: %s is kept", b.stepName(k)).Suggest("edit the output of %s", visitName(b.prog.Nodes[k.Node].ID, k.Visit))
		}
		switch {
		case !said.Recorded:
			out := said.Output
			if len(out) == 0 {
				out = domain.RawJSON("null")
			}
			if err := b.give(name, k, out, givenStub); err != nil {
				return err
			}
		case b.prog.Nodes[k.Node].Foreach != nil:
			list, err := b.recordedItems(k, rows)
			if err != nil {
				return err
			}
			for _, r := range list {
				if item := r.StepKey; !kept[item] && (item == k || !own[item]) {
					if err := b.give(name, item, r.output, givenRecorded); err != nil {
						return err
					}
				}
			}
		default:
			at := slices.IndexFunc(rows, func(c candidate) bool { return b.completed(c, k) && c.Item == runstate.NoItem })
			if at < 0 {
				return b.noRecord(k)
			}
			if err := b.give(name, k, rows[at].Output, givenRecorded); err != nil {
				return err
			}
		}
	}
	return nil
}

// standsFor reads "node", "node#visit" or "node#visit[item]" and refuses steps for
// which nothing may stand in.
func (b *branch) standsFor(name string, rows []candidate) (runstate.StepKey, error) {
	visit, item, err := itemOf(name)
	if err != nil {
		return runstate.StepKey{}, err
	}
	k := runstate.StepKey{Item: item}
	node, n, err := visitOf(visit, func(node string) int {
		latest := 1
		for _, c := range rows {
			if c.Node == node {
				latest = max(latest, c.Visit)
			}
		}
		return latest
	})
	if err != nil {
		return k, err
	}
	i, ok := b.prog.Index[node]
	if !ok {
		return k, domain.Errorf(domain.CodeInvalid, "instead: the version has no node %q", node)
	}
	k.VisitKey = planner.VisitKey{Node: i, Visit: n}
	if item != runstate.NoItem && b.prog.Nodes[i].Foreach == nil {
		return k, domain.Errorf(domain.CodeInvalid, "instead: %s runs once and has no items", node).Suggest("write %s", visitName(node, n))
	}
	if b.prog.Nodes[i].Type == planner.TypeApproval || b.view.asked(node) { // ruling 38
		return k, domain.Errorf(domain.CodeForbidden, "instead: %s is decided by a person; no result stands in for that", node)
	}
	if slices.ContainsFunc(b.s.Settled, func(d runstate.Settled) bool { return d.Node == i && d.Visit == n }) {
		return k, domain.Errorf(domain.CodeInvalid, "instead: %s is kept", visitName(node, n)).Suggest("edit its output")
	}
	return k, nil
}

// itemOf reads the item off a step's name: "node#visit[3]"; noItem: it has none.
func itemOf(name string) (visit string, item int, err error) {
	visit, number, ok := strings.Cut(name, "[")
	if !ok {
		return name, runstate.NoItem, nil
	}
	number, closed := strings.CutSuffix(number, "]")
	if item, err = strconv.Atoi(number); err != nil || !closed || item < 0 {
		return "", 0, domain.Errorf(domain.CodeInvalid, "%q is not node#visit[item]", name).Suggest("items count from 0")
	}
	return visit, item, nil
}

func (b *branch) stepName(k runstate.StepKey) string {
	name := visitName(b.prog.Nodes[k.Node].ID, k.Visit)
	if k.Item != runstate.NoItem {
		name += "[" + strconv.Itoa(k.Item) + "]"
	}
	return name
}

// keptItems are the items that the fork keeps of visits that are still open.
func (b *branch) keptItems() map[runstate.StepKey]bool {
	kept := map[runstate.StepKey]bool{}
	for i := range b.entries {
		if e := &b.entries[i]; e.Kind == domain.EntryResult && e.Final && e.Item != runstate.NoItem {
			kept[runstate.StepKey{VisitKey: planner.VisitKey{Node: b.prog.Index[e.Node], Visit: e.Visit}, Item: e.Item}] = true
		}
	}
	return kept
}

// completed reports whether a row says that the visit, or an item of it, completed.
func (b *branch) completed(c candidate, k runstate.StepKey) bool {
	return c.Node == b.prog.Nodes[k.Node].ID && c.Visit == k.Visit && c.Status == domain.NodeCompleted
}

func (b *branch) noRecord(k runstate.StepKey) error {
	return domain.Errorf(domain.CodeInvalid, "instead: %s has no recorded result", b.stepName(k)).Suggest("give it a stub, or let it run")
}

// recorded is what the forked run recorded of a step.
type recorded struct {
	runstate.StepKey
	output domain.RawJSON
}

// recordedItems are the recorded results of the items of a visit, or of the one
// that is named. A list that a fork edited stands for its items.
func (b *branch) recordedItems(k runstate.StepKey, rows []candidate) ([]recorded, error) {
	var list []recorded
	add := func(item int, output domain.RawJSON) {
		if k.Item == runstate.NoItem || k.Item == item {
			list = append(list, recorded{runstate.StepKey{VisitKey: k.VisitKey, Item: item}, output})
		}
	}
	for _, c := range rows {
		switch {
		case !b.completed(c, k):
		case c.Item != runstate.NoItem:
			add(c.Item, c.Output)
		default:
			v, err := runstate.Decode(c.Output)
			if err != nil {
				return nil, err
			}
			items, _ := v.([]any)
			for i, out := range items {
				raw, err := planner.EncodeValue(out)
				if err != nil {
					return nil, err
				}
				add(i, raw)
			}
		}
	}
	if len(list) == 0 {
		return nil, b.noRecord(k)
	}
	return list, nil
}

// give writes the row that a result stands in for a step.
func (b *branch) give(name string, k runstate.StepKey, output domain.RawJSON, reason string) error {
	value, err := planner.DecodeValue(output)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "instead: %s: %w", name, err)
	}
	if output, err = planner.EncodeValue(value); err != nil {
		return domain.Errorf(domain.CodeInvalid, "instead: %s: %w", name, err)
	}
	return b.append(domain.Entry{Kind: domain.EntryResolve, Node: b.prog.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item,
		Decision: runstate.ResolveDecision{Action: runstate.ActionGiven}.JSON(), Output: output, Reason: reason, At: b.view.env.now()})
}

// asked reports whether a person was asked about a call of the node.
func (v *view) asked(node string) bool {
	return slices.ContainsFunc(slices.Concat(v.journal, v.after), func(e domain.Entry) bool {
		return e.Kind == domain.EntryWait && domain.WaitReason(e.Reason) == domain.WaitApproval && e.Substep == 0 && e.Node == node
	})
}

// repeats lists the steps that had effects outside, completed in the forked run,
// and would be made again; with what stands in for them.
func (b *branch) repeats(l *lists) []domain.PreviewRepeat {
	v := b.view
	ahead := map[string]bool{}
	for _, list := range [][]domain.PreviewStep{l.again, l.fresh, l.given} {
		for _, s := range list {
			ahead[s.Node] = true
		}
	}
	kept := b.keptItems()
	for _, d := range b.s.Settled {
		kept[runstate.StepKey{VisitKey: planner.VisitKey{Node: d.Node, Visit: d.Visit}, Item: runstate.NoItem}] = true
	}
	how := map[string]string{givenRecorded: "recorded", givenStub: "stub"}
	var out []domain.PreviewRepeat
	listed := map[planner.VisitKey]int{}
	for _, c := range v.recorded() {
		i, ok := b.prog.Index[c.Node]
		k := runstate.StepKey{VisitKey: planner.VisitKey{Node: i, Visit: c.Visit}, Item: c.Item}
		if !ok || !ahead[c.Node] || c.Status != domain.NodeCompleted || !touches(planner.Effect(c.Effect)) || kept[k] || kept[runstate.StepKey{VisitKey: k.VisitKey, Item: runstate.NoItem}] {
			continue
		}
		given := how[b.s.GivenReason(k)]
		at, known := listed[k.VisitKey]
		if !known {
			at = len(out)
			listed[k.VisitKey] = at
			out = append(out, domain.PreviewRepeat{Node: c.Node, Visit: c.Visit, Type: b.typeOf(c.Node), Effect: c.Effect, Given: given, Unrecorded: b.prog.Nodes[i].Foreach != nil})
		}
		if k.Item == runstate.NoItem {
			continue
		}
		r := &out[at]
		r.Unrecorded = false
		r.Items = append(r.Items, domain.RepeatItem{Item: k.Item, Given: given})
		if r.Given != given {
			r.Given = ""
		}
	}
	return b.doubtful(out, listed, ahead, kept)
}

// doubtful adds the steps that touch the world outside and of which nobody knows
// whether they were done: what would tell is damaged.
func (b *branch) doubtful(out []domain.PreviewRepeat, listed map[planner.VisitKey]int, ahead map[string]bool, kept map[runstate.StepKey]bool) []domain.PreviewRepeat {
	if b.view.damage == nil {
		return out
	}
	how := map[string]string{givenRecorded: "recorded", givenStub: "stub"}
	for _, s := range b.view.damage.Steps {
		i, ok := b.prog.Index[s.Node]
		if !ok || !s.Doubtful() || !ahead[s.Node] || !touches(planner.Effect(s.Effect)) {
			continue
		}
		k := runstate.StepKey{VisitKey: planner.VisitKey{Node: i, Visit: s.Visit}, Item: s.Item}
		if kept[k] || kept[runstate.StepKey{VisitKey: k.VisitKey, Item: runstate.NoItem}] {
			continue
		}
		given := how[b.s.GivenReason(k)]
		at, known := listed[k.VisitKey]
		if !known {
			at = len(out)
			listed[k.VisitKey] = at
			out = append(out, domain.PreviewRepeat{Node: s.Node, Visit: s.Visit, Type: b.typeOf(s.Node), Effect: s.Effect, Given: given, Unrecorded: true})
		}
		r := &out[at]
		r.Doubtful = true
		if s.Item != runstate.NoItem {
			r.Items = append(r.Items, domain.RepeatItem{Item: s.Item, Given: given})
		}
		if r.Given != given {
			r.Given = ""
		}
	}
	return out
}

// foretoldSteps bounds how far decisions are foretold.
const foretoldSteps = 1000

// foretell says where the new run goes as far as that follows from what is kept,
// edited and given: decisions that come out otherwise, and those that pure steps
// lead to. It uses up the state of the branch.
func (b *branch) foretell() []domain.PreviewDecision {
	v := b.view
	was := map[planner.VisitKey]planner.Decision{}
	for i := range v.journal {
		e := &v.journal[i]
		if n, ok := b.prog.Index[e.Node]; ok && e.Final {
			was[planner.VisitKey{Node: n, Visit: e.Visit}] = readDecision(e.Decision)
		}
	}
	var out []domain.PreviewDecision
	say := func(k planner.VisitKey, d planner.Decision, always bool) {
		old := was[k]
		if len(b.prog.Nodes[k.Node].Out) == 0 || !always && old.To == d.To && old.Ended == d.Ended {
			return
		}
		p := domain.PreviewDecision{Node: b.prog.Nodes[k.Node].ID, Visit: k.Visit, To: d.To, Ended: d.Ended, Was: old.To}
		for _, e := range d.Evaluated {
			if e.To == d.To {
				p.Condition = e.Condition
			}
		}
		out = append(out, p)
	}
	for i := range b.entries {
		if e := &b.entries[i]; e.Kind == domain.EntryResult && e.Final {
			say(planner.VisitKey{Node: b.prog.Index[e.Node], Visit: e.Visit}, readDecision(e.Decision), false)
		}
	}
	tried := map[runstate.StepKey]bool{}
	for range foretoldSteps {
		at := slices.IndexFunc(b.s.OpenSteps(), func(w *runstate.Step) bool {
			n := &b.prog.Nodes[w.Node]
			pure := builtin(n.Type) && n.Effect == ""
			return !tried[w.StepKey] && w.Phase == runstate.PhaseReady && w.Item == runstate.NoItem && n.Foreach == nil && (pure || w.Resolution != nil && w.Resolution.Given != "")
		})
		if at < 0 {
			break
		}
		w := b.s.OpenSteps()[at]
		tried[w.StepKey] = true
		value, ok := b.known(w)
		if !ok {
			continue
		}
		raw, err := planner.EncodeValue(value)
		if err != nil {
			continue
		}
		row := domain.Entry{Seq: b.s.Seq + 1, Kind: domain.EntryResult, Node: b.prog.Nodes[w.Node].ID, Visit: w.Visit, Item: runstate.NoItem, Final: true, Status: domain.NodeCompleted, Output: raw, At: v.env.now()}
		k := w.VisitKey
		d, err := b.s.Settle(&row, w.StepKey, value, v.env.now())
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
func (b *branch) known(w *runstate.Step) (any, bool) {
	if w.Resolution != nil {
		v, err := runstate.Decode(w.Resolution.Output)
		return v, err == nil
	}
	switch b.prog.Nodes[w.Node].Type {
	case planner.TypeNoop, planner.TypeDecision:
		return b.s.Walk.Last(w.VisitKey), true
	}
	v, failure := b.s.Walk.Input(w.VisitKey, w.Item)
	return v, failure == nil
}
