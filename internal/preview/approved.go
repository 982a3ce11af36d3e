package preview

import (
	"bytes"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// approvedFacts determines which answers of a run remain valid in a fork of it.
type approvedFacts struct {
	b     *Branch
	req   domain.ActionRequest
	edits map[string]domain.RawJSON // by visit
}

// changed returns the reason why the answer to an approval step is not valid in the fork. The
// reason is zero if the answer is valid, or if the row belongs to another kind of step. before
// contains the edited visits that settled before it.
func (f approvedFacts) changed(c candidate, before map[string]bool) (reason domain.Message) {
	b := f.b
	i, ok := b.Program.Index[c.Node]
	if !ok || b.Program.Nodes[i].Type != walk.TypeApproval || f.req.Action != domain.ActionFork {
		return reason // a replan keeps the answers, because its new non-idempotent steps have their own requests
	}
	if !b.followed(c.Seq) {
		return domain.Messagef("the approved content has changed: the run follows another version")
	}
	if f.req.Input != nil && !sameJSON(f.req.Input, b.view.Run.Input) {
		return domain.Messagef("the approved content has changed: the run has another input")
	}
	after := b.Program.After(i)
	for _, visit := range slices.Sorted(maps.Keys(f.edits)) {
		if node, _, _ := visitOf(visit, nil); before[visit] || !after[b.Program.Index[node]] {
			return domain.Messagef("the approved content has changed: the output of %s was edited", node)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.req.Instead)) {
		visit, _, err := itemOf(name)
		if err != nil || f.req.Instead[name].Recorded {
			continue // overrideSteps reports the error; or the value was recorded by the run itself
		}
		node, _, err := visitOf(visit, func(string) int { return 1 })
		if n, ok := b.Program.Index[node]; err == nil && ok && !after[n] {
			return domain.Messagef("the approved content has changed: %s has a stub", node)
		}
	}
	return reason
}

// followed reports whether the run followed the fork's version when it wrote the row, or later.
// Answers remain valid after a replan.
func (b *Branch) followed(seq int64) bool {
	if b.Program.Profile != b.view.Program.Profile {
		return false
	}
	if b.Program.Hash == b.view.Program.Hash {
		return true
	}
	for i := range b.view.Journal {
		if e := &b.view.Journal[i]; e.Kind == domain.EntryReplan && e.Seq > seq && runstate.VersionAt(b.view.Journal, e.Seq-1,
			"") == b.Program.Hash {
			return true
		}
	}
	return false
}

// sameJSON reports whether two texts encode the same JSON value.
func sameJSON(x, y domain.RawJSON) bool {
	a, err := runstate.Decode(x)
	if err != nil {
		return false
	}
	b, err := runstate.Decode(y)
	if err != nil {
		return false
	}
	first, err := jsonvalue.Encode(a)
	if err != nil {
		return false
	}
	second, err := jsonvalue.Encode(b)
	return err == nil && bytes.Equal(first, second)
}
