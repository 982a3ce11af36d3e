package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
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
	steps := make([]workKey, len(names))
	own := map[workKey]bool{}
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
				if item := r.workKey; !kept[item] && (item == k || !own[item]) {
					if err := b.give(name, item, r.output, givenRecorded); err != nil {
						return err
					}
				}
			}
		default:
			at := slices.IndexFunc(rows, func(c candidate) bool { return b.completed(c, k) && c.Item == noItem })
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
func (b *branch) standsFor(name string, rows []candidate) (workKey, error) {
	visit, item, err := itemOf(name)
	if err != nil {
		return workKey{}, err
	}
	k := workKey{item: item}
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
	if item != noItem && b.prog.Nodes[i].Foreach == nil {
		return k, domain.Errorf(domain.CodeInvalid, "instead: %s runs once and has no items", node).Suggest("write %s", visitName(node, n))
	}
	if b.prog.Nodes[i].Type == planner.TypeApproval || b.view.asked(node) { // ruling 38
		return k, domain.Errorf(domain.CodeForbidden, "instead: %s is decided by a person; no result stands in for that", node)
	}
	if slices.ContainsFunc(b.s.settled, func(d settled) bool { return d.node == i && d.visit == n }) {
		return k, domain.Errorf(domain.CodeInvalid, "instead: %s is kept", visitName(node, n)).Suggest("edit its output")
	}
	return k, nil
}

// itemOf reads the item off a step's name: "node#visit[3]"; noItem: it has none.
func itemOf(name string) (visit string, item int, err error) {
	visit, number, ok := strings.Cut(name, "[")
	if !ok {
		return name, noItem, nil
	}
	number, closed := strings.CutSuffix(number, "]")
	if item, err = strconv.Atoi(number); err != nil || !closed || item < 0 {
		return "", 0, domain.Errorf(domain.CodeInvalid, "%q is not node#visit[item]", name).Suggest("items count from 0")
	}
	return visit, item, nil
}

func (b *branch) stepName(k workKey) string {
	name := visitName(b.prog.Nodes[k.Node].ID, k.Visit)
	if k.item != noItem {
		name += "[" + strconv.Itoa(k.item) + "]"
	}
	return name
}

// keptItems are the items that the fork keeps of visits that are still open.
func (b *branch) keptItems() map[workKey]bool {
	kept := map[workKey]bool{}
	for i := range b.entries {
		if e := &b.entries[i]; e.Kind == domain.EntryResult && e.Final && e.Item != noItem {
			kept[workKey{planner.VisitKey{Node: b.prog.Index[e.Node], Visit: e.Visit}, e.Item}] = true
		}
	}
	return kept
}

// completed reports whether a row says that the visit, or an item of it, completed.
func (b *branch) completed(c candidate, k workKey) bool {
	return c.Node == b.prog.Nodes[k.Node].ID && c.Visit == k.Visit && c.Status == domain.NodeCompleted
}

func (b *branch) noRecord(k workKey) error {
	return domain.Errorf(domain.CodeInvalid, "instead: %s has no recorded result", b.stepName(k)).Suggest("give it a stub, or let it run")
}

// recorded is what the forked run recorded of a step.
type recorded struct {
	workKey
	output domain.RawJSON
}

// recordedItems are the recorded results of the items of a visit, or of the one
// that is named. A list that a fork edited stands for its items.
func (b *branch) recordedItems(k workKey, rows []candidate) ([]recorded, error) {
	var list []recorded
	add := func(item int, output domain.RawJSON) {
		if k.item == noItem || k.item == item {
			list = append(list, recorded{workKey{k.VisitKey, item}, output})
		}
	}
	for _, c := range rows {
		switch {
		case !b.completed(c, k):
		case c.Item != noItem:
			add(c.Item, c.Output)
		default:
			v, err := decode(c.Output)
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
func (b *branch) give(name string, k workKey, output domain.RawJSON, reason string) error {
	value, err := planner.DecodeValue(output)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "instead: %s: %w", name, err)
	}
	if output, err = planner.EncodeValue(value); err != nil {
		return domain.Errorf(domain.CodeInvalid, "instead: %s: %w", name, err)
	}
	return b.append(domain.Entry{Kind: domain.EntryResolve, Node: b.prog.Nodes[k.Node].ID, Visit: k.Visit, Item: k.item,
		Decision: payload{Action: actionGiven}.json(), Output: output, Reason: reason, At: b.view.e.now()})
}

// given says why a step has a result before it runs; empty: it has none.
func (s *state) given(k workKey) string {
	if w := s.work[k]; w != nil {
		if w.answer != nil {
			return w.answer.given
		}
		return ""
	}
	if said := s.standing(k); said != nil {
		return said.given
	}
	return ""
}

// standing is what was said of a step before its turn: of itself, or of every item
// of its visit; nil: nothing.
func (s *state) standing(k workKey) *answer {
	if d := s.doubts[k]; d != nil {
		return d.answer
	}
	if k.item == noItem {
		return nil
	}
	if d := s.doubts[workKey{k.VisitKey, noItem}]; d != nil && d.answer != nil && d.answer.given != "" {
		return d.answer
	}
	return nil
}

// givenItems sorts what is left of an open foreach visit: the items that have a
// result by why they have it, and whether others run.
func (s *state) givenItems(k planner.VisitKey) (given map[string][]int, runs bool) {
	n, failure := s.walk.Items(k)
	if failure != nil {
		return nil, true
	}
	for i := range n {
		if s.walk.ItemStatus(k, i) != "" {
			continue
		}
		why := s.given(workKey{k, i})
		if why == "" {
			runs = true
			continue
		}
		if given == nil {
			given = map[string][]int{}
		}
		given[why] = append(given[why], i)
	}
	return given, runs
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
	for _, d := range b.s.settled {
		kept[workKey{planner.VisitKey{Node: d.node, Visit: d.visit}, noItem}] = true
	}
	how := map[string]string{givenRecorded: "recorded", givenStub: "stub"}
	var out []domain.PreviewRepeat
	listed := map[planner.VisitKey]int{}
	for _, c := range v.recorded() {
		i, ok := b.prog.Index[c.Node]
		k := workKey{planner.VisitKey{Node: i, Visit: c.Visit}, c.Item}
		if !ok || !ahead[c.Node] || c.Status != domain.NodeCompleted || !touches(planner.Effect(c.Effect)) || kept[k] || kept[workKey{k.VisitKey, noItem}] {
			continue
		}
		given := how[b.s.given(k)]
		at, known := listed[k.VisitKey]
		if !known {
			at = len(out)
			listed[k.VisitKey] = at
			out = append(out, domain.PreviewRepeat{Node: c.Node, Visit: c.Visit, Type: b.typeOf(c.Node), Effect: c.Effect, Given: given, Unrecorded: b.prog.Nodes[i].Foreach != nil})
		}
		if k.item == noItem {
			continue
		}
		r := &out[at]
		r.Unrecorded = false
		r.Items = append(r.Items, domain.RepeatItem{Item: k.item, Given: given})
		if r.Given != given {
			r.Given = ""
		}
	}
	return b.doubtful(out, listed, ahead, kept)
}

// doubtful adds the steps that touch the world outside and of which nobody knows
// whether they were done: what would tell is damaged.
func (b *branch) doubtful(out []domain.PreviewRepeat, listed map[planner.VisitKey]int, ahead map[string]bool, kept map[workKey]bool) []domain.PreviewRepeat {
	if b.view.damage == nil {
		return out
	}
	how := map[string]string{givenRecorded: "recorded", givenStub: "stub"}
	for _, s := range b.view.damage.Steps {
		i, ok := b.prog.Index[s.Node]
		if !ok || !s.Doubtful() || !ahead[s.Node] || !touches(planner.Effect(s.Effect)) {
			continue
		}
		k := workKey{planner.VisitKey{Node: i, Visit: s.Visit}, s.Item}
		if kept[k] || kept[workKey{k.VisitKey, noItem}] {
			continue
		}
		given := how[b.s.given(k)]
		at, known := listed[k.VisitKey]
		if !known {
			at = len(out)
			listed[k.VisitKey] = at
			out = append(out, domain.PreviewRepeat{Node: s.Node, Visit: s.Visit, Type: b.typeOf(s.Node), Effect: s.Effect, Given: given, Unrecorded: true})
		}
		r := &out[at]
		r.Doubtful = true
		if s.Item != noItem {
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
		row := domain.Entry{Seq: b.s.seq + 1, Kind: domain.EntryResult, Node: b.prog.Nodes[w.Node].ID, Visit: w.Visit, Item: noItem, Final: true, Status: domain.NodeCompleted, Output: raw, At: v.e.now()}
		k := w.VisitKey
		d, err := b.s.settle(&row, w.workKey, value, v.e.now())
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
