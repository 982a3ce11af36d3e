package preview

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Reasons why a visit has a result without running.
const (
	givenRecorded = "a person gave the recorded result"
	givenStub     = "a person gave a stub"
)

// overrideSteps writes the results that replace steps into the new journal. They apply when the
// steps would run. In a foreach node, every item is a step: an override of the visit applies to
// each item without its own override.
func (b *Branch) overrideSteps(req domain.ActionRequest) error {
	v := b.view
	rows := v.recorded()
	names := slices.Sorted(maps.Keys(req.Instead))
	steps := make([]runstate.StepKey, len(names))
	own := map[runstate.StepKey]bool{}
	for i, name := range names {
		k, err := b.overriddenStep(name, rows)
		if err != nil {
			return err
		}
		steps[i], own[k] = k, true
	}
	kept := b.keptItems()
	for i, name := range names {
		k, override := steps[i], req.Instead[name]
		if kept[k] {
			return domain.Errorf(domain.CodeInvalid, "instead: %s is kept", b.stepName(k)).Suggest("edit the output of %s",
				visitName(b.Program.Nodes[k.Node].ID, k.Visit))
		}
		switch {
		case !override.Recorded:
			out := override.Output
			if len(out) == 0 {
				out = domain.RawJSON("null")
			}
			if err := b.give(name, k, out, givenStub); err != nil {
				return err
			}
		case b.Program.Nodes[k.Node].Foreach != nil:
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

// overriddenStep parses "node", "node#visit", or "node#visit[item]". It returns an error for steps
// whose result cannot be replaced.
func (b *Branch) overriddenStep(name string, rows []candidate) (runstate.StepKey, error) {
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
	i, ok := b.Program.Index[node]
	if !ok {
		return k, domain.Errorf(domain.CodeInvalid, "instead: the version has no step %q", node)
	}
	k.VisitKey = walk.VisitKey{Node: i, Visit: n}
	if item != runstate.NoItem && b.Program.Nodes[i].Foreach == nil {
		return k, domain.Errorf(domain.CodeInvalid, "instead: %s runs once and has no items", node).Suggest("write %s",
			visitName(node, n))
	}
	if b.Program.Nodes[i].Type == walk.TypeApproval || b.view.asked(node) {
		return k, domain.Errorf(domain.CodeForbidden, "instead: %s is decided by a person, and cannot have another result", node)
	}
	if slices.ContainsFunc(b.State.Settled, func(d runstate.Settled) bool { return d.Node == i && d.Visit == n }) {
		return k, domain.Errorf(domain.CodeInvalid, "instead: %s is kept", visitName(node, n)).Suggest("edit its output")
	}
	return k, nil
}

// itemOf parses the item of a step's name, such as "node#visit[3]". Without an item, it returns
// noItem.
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

func (b *Branch) stepName(k runstate.StepKey) string {
	name := visitName(b.Program.Nodes[k.Node].ID, k.Visit)
	if k.Item != runstate.NoItem {
		name += "[" + strconv.Itoa(k.Item) + "]"
	}
	return name
}

// keptItems returns the items that the fork keeps of open visits.
func (b *Branch) keptItems() map[runstate.StepKey]bool {
	kept := map[runstate.StepKey]bool{}
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Kind == domain.EntryResult && e.Final && e.Item != runstate.NoItem {
			kept[runstate.StepKey{VisitKey: walk.VisitKey{Node: b.Program.Index[e.Node], Visit: e.Visit}, Item: e.Item}] = true
		}
	}
	return kept
}

// completed reports whether a row completes the visit or an item of it.
func (b *Branch) completed(c candidate, k runstate.StepKey) bool {
	return c.Node == b.Program.Nodes[k.Node].ID && c.Visit == k.Visit && c.Status == domain.NodeCompleted
}

func (b *Branch) noRecord(k runstate.StepKey) error {
	return domain.Errorf(domain.CodeInvalid, "instead: %s has no recorded result",
		b.stepName(k)).Suggest("set a stub, or let it run")
}

// recorded is the recorded output of a step in the forked run.
type recorded struct {
	runstate.StepKey
	output domain.RawJSON
}

// recordedItems returns the recorded results of the items of a visit, or of the named item. If the
// fork edited the list, the results come from the edited list.
func (b *Branch) recordedItems(k runstate.StepKey, rows []candidate) ([]recorded, error) {
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
				raw, err := jsonvalue.Encode(out)
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

// here returns the step of the new run that corresponds to one of the old run. Visits that a reset forgot
// do not happen in the new run, so later visits of the node have smaller numbers there.
func (b *Branch) here(k runstate.StepKey) runstate.StepKey {
	v := b.view
	forgotten := map[int]bool{}
	for _, e := range slices.Concat(v.Journal, v.After) {
		var r walk.Reset
		if e.Kind != domain.EntryReset || json.Unmarshal(e.Decision, &r) != nil {
			continue
		}
		for _, f := range r.Forgotten {
			if f.Node == b.Program.Nodes[k.Node].ID && f.Visit < k.Visit {
				forgotten[f.Visit] = true
			}
		}
	}
	for _, d := range b.State.Settled {
		if d.Node == k.Node {
			delete(forgotten, d.Visit) // the fork keeps it
		}
	}
	k.Visit -= len(forgotten)
	return k
}

// give writes the row of a result that replaces a step.
func (b *Branch) give(name string, k runstate.StepKey, output domain.RawJSON, reason string) error {
	value, err := jsonvalue.Decode(output)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "instead: %s: %w", name, err)
	}
	if output, err = jsonvalue.Encode(value); err != nil {
		return domain.Errorf(domain.CodeInvalid, "instead: %s: %w", name, err)
	}
	k = b.here(k)
	return b.append(domain.Entry{Kind: domain.EntryResolve, Node: b.Program.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item,
		Decision: runstate.ResolveDecision{Action: runstate.ActionGiven}.JSON(), Output: output, Reason: reason, At: b.view.Env.Now()})
}

// asked reports whether a call of the node required an approval.
func (v *View) asked(node string) bool {
	return slices.ContainsFunc(slices.Concat(v.Journal, v.After), func(e domain.Entry) bool {
		return e.Kind == domain.EntryWait && domain.WaitReason(e.Reason) == domain.WaitApproval && e.Substep == 0 && e.Node == node
	})
}
