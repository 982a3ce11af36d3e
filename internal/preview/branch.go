package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Branch is the start of a rerun or fork: the first rows of the new run's journal, and the preview.
type Branch struct {
	view    *View
	Program *runstate.Compiled
	Input   domain.RawJSON
	Entries []domain.Entry
	kept    []runstate.KeptRow // entries that were kept from the old run
	State   *runstate.State
	Preview domain.Preview
}

// Branch builds the first rows of a rerun or fork. It walks prog, the version that the new run
// follows, with the rows that are kept of the old run. raw and input are the encoded and decoded
// input of the new run. plans pins its plan nodes.
func (v *View) Branch(req domain.ActionRequest, prog *runstate.Compiled, raw domain.RawJSON, input any,
	plans map[string]string) (*Branch, error) {
	b := &Branch{view: v, Program: prog, Input: raw, Preview: v.blank(req.Action)}
	// Here, ${run.id} is the id of the old run, so that steps that read it can be compared.
	b.State = runstate.New(b.Program.Program, runstate.Facts{Run: v.Run.ID, Slot: v.Run.Slot.String(), Input: input, KeepHistory: true})
	if prog.HasPlans {
		if err := b.append(runstate.PlansRow(plans, v.Run.CreatedAt)); err != nil {
			return nil, err
		}
	}
	if known := v.State.Memory; known != nil && req.Action == domain.ActionFork {
		raw, err := jsonvalue.Encode(known)
		if err != nil {
			return nil, fmt.Errorf("the memory of the run: %w", err)
		}
		if err := b.append(runstate.MemoryRow(raw, 0, v.Run.CreatedAt)); err != nil {
			return nil, err
		}
	}
	var l lists
	why := map[string]domain.Message{}
	if req.Action == domain.ActionFork {
		b.Preview.At = req.At
		b.Preview.Points = v.points()
		if err := b.keep(req, &l, why); err != nil {
			return nil, err
		}
		if err := b.overrideSteps(req); err != nil {
			return nil, err
		}
	}
	v.lost(why)
	o := v.outlook(b.Program, b.State, v.seen(), why)
	again := map[string]bool{}
	for _, step := range o.again {
		again[step.Node] = true
	}
	l.dropped = slices.DeleteFunc(l.dropped, func(s domain.PreviewStep) bool { return again[s.Node] })
	l.keep = v.kept(b.Program, b.State)
	l.again, l.fresh, l.doubt, l.effects = o.again, o.fresh, o.doubt, o.effects
	l.given = o.given
	if req.Action == domain.ActionFork {
		b.Preview.Repeats = b.repeats(&l)
	}
	b.Preview.Allowed = true
	b.Preview.Hash, b.Preview.Version, b.Preview.Profile = b.Program.Hash, b.Program.Version.Number, v.Run.Profile
	if req.Profile != nil {
		b.Preview.Profile = *req.Profile
	}
	l.fill(&b.Preview)
	if len(req.Edits) > 0 || len(req.Instead) > 0 || req.Input != nil {
		// The digest of the preview covers edits and overrides.
		b.Preview.Digest = digestOf(b.Preview.Digest, runstate.MustJSON(req.Edits), runstate.MustJSON(req.Instead), b.Input)
	}
	return b, nil
}

// append adds a row that needs no decision.
func (b *Branch) append(e domain.Entry) error {
	e.Seq = b.State.Seq + 1
	if err := b.State.Apply(&e); err != nil {
		return err
	}
	b.Entries = append(b.Entries, e)
	return nil
}

// points lists the checkpoints from which a fork can start: the start of the run, and every settled
// visit. A point with attempts in flight is open: the fork runs these steps again.
func (v *View) points() []domain.ForkPoint {
	points := []domain.ForkPoint{{Seq: 0, Label: "input", Closed: true}}
	flying := map[string]bool{}
	name := func(e *domain.Entry) string { return fmt.Sprintf("%s\x00%d\x00%d", e.Node, e.Visit, e.Item) }
	for i := range v.Journal {
		e := &v.Journal[i]
		switch {
		case e.Kind == domain.EntryIntent && e.Substep == 0:
			flying[name(e)] = true
		case e.Kind == domain.EntryResult:
			delete(flying, name(e))
			if e.Final && e.Status != domain.NodeCancelled {
				label := "after " + e.Node
				if e.Visit > 1 {
					label += " (visit " + strconv.Itoa(e.Visit) + ")"
				}
				if e.Item != runstate.NoItem {
					label += " [" + strconv.Itoa(e.Item) + "]"
				}
				points = append(points, domain.ForkPoint{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Label: label,
					Closed: len(flying) == 0})
			}
		}
	}
	return points
}

// keep walks the new plan with the rows of the old run up to the fork point. A visit is kept if its
// id, its definition, its recomputed input, and every decision on its path are equal, and it read
// no edited value.
func (b *Branch) keep(req domain.ActionRequest, l *lists, why map[string]domain.Message) error {
	v := b.view
	if req.At > v.Run.LastSeq {
		return domain.Errorf(domain.CodeInvalid, "the journal ends at %d; there is no position %d", v.Run.LastSeq, req.At)
	}
	if d := v.Damage; d != nil && req.At > d.Good {
		return v.beyond(req.At)
	}
	rows := v.candidates(req.At)
	edits, err := b.edits(req.Edits, rows)
	if err != nil {
		return err
	}
	approved := approvedFacts{b: b, req: req, edits: edits}
	// After a replan, rows may contain decisions of an earlier version.
	changed := req.Input != nil || len(req.Edits) > 0 || b.Program != v.Program || v.State.ReplanCount > 0
	// The decision of an item for its whole visit is void if another item of the visit runs again.
	reset := slices.ContainsFunc(v.Journal, func(e domain.Entry) bool { return e.Kind == domain.EntryReset && e.Seq <= req.At })
	partial := map[string]bool{}
	tainted := map[string]bool{} // nodes whose output differs, or runs again
	diverged := map[int]string{} // steps after a decision that differs, and the step that decided
	drop := func(c candidate, reason domain.Message) {
		l.dropped = append(l.dropped, domain.PreviewStep{Node: c.Node, Visit: c.Visit, Status: c.Status, Reason: reason,
			Effect: c.Effect, Type: b.typeOf(c.Node)})
		if _, ok := why[c.Node]; !ok {
			why[c.Node] = reason
		}
	}
	edited := map[string]bool{}
	for _, c := range rows {
		edit, isEdit := edits[visitName(c.Node, c.Visit)]
		if isEdit && edited[visitName(c.Node, c.Visit)] {
			continue // further items of an edited foreach visit
		}
		reason := approved.changed(c, edited)
		if reason.IsZero() {
			reason = b.differs(c, isEdit, tainted, diverged)
		}
		if !reason.IsZero() {
			drop(c, reason)
			partial[visitName(c.Node, c.Visit)] = true
			if changed {
				tainted[c.Node] = true
			}
			continue
		}
		i := b.Program.Index[c.Node]
		k := runstate.StepKey{VisitKey: walk.VisitKey{Node: i, Visit: c.Visit}, Item: c.Item}
		row := *c.Entry
		row.Usage = domain.Usage{} // counted for the old run
		if isEdit {
			edited[visitName(c.Node, c.Visit)] = true
			tainted[c.Node] = true
			k.Item, row.Item = runstate.NoItem, runstate.NoItem
			row.Output, row.Status, row.Failure, row.Reason = edit, domain.NodeCompleted, nil, "edited when the run was forked"
		}
		old := row.Decision
		if !changed && (c.Item == runstate.NoItem || !reset && !partial[visitName(c.Node, c.Visit)]) {
			if err := b.append(row); err != nil {
				return err
			}
			continue
		}
		out, err := runstate.Decode(row.Output)
		if err != nil {
			return domain.Errorf(domain.CodeInvalid, "output of %s: %w", c.Node, err)
		}
		row.Seq, row.Decision = b.State.Seq+1, nil
		if k.Item != runstate.NoItem {
			b.State.EnsureOpen(k)
		}
		if _, err := b.State.Settle(&row, k, out, v.Env.Now()); err != nil {
			return err
		}
		b.Entries = append(b.Entries, row)
		kept := runstate.KeptRow{Seq: c.Seq}
		if !bytes.Equal(old, row.Decision) {
			if kept.Decision = row.Decision; kept.Decision == nil {
				kept.Decision = domain.RawJSON("{}")
			}
		}
		b.kept = append(b.kept, kept)
		if !sameDecision(old, row.Decision) {
			for n := range b.Program.After(i) {
				if diverged[n] == "" {
					diverged[n] = c.Node
				}
			}
		}
	}
	return nil
}

func (b *Branch) typeOf(node string) string {
	if i, ok := b.Program.Index[node]; ok {
		return b.Program.Nodes[i].TypeName
	}
	if i, ok := b.view.Program.Index[node]; ok {
		return b.view.Program.Nodes[i].TypeName
	}
	return ""
}

// differs returns the reason why a row cannot be kept, or zero.
func (b *Branch) differs(c candidate, edited bool, tainted map[string]bool, diverged map[int]string) (reason domain.Message) {
	old := b.view.Program
	switch {
	case c.Status == domain.NodeCancelled:
		return domain.Messagef("it was cancelled")
	case b.view.undoneBy(c.Entry) != "":
		return domain.Messagef("run %s undid it", domain.ShortID(b.view.undoneBy(c.Entry)))
	case c.Status == domain.NodeFailed && !edited && !handled(c.Decision) && c.Item == runstate.NoItem:
		return domain.Messagef("it failed")
	case c.Status == domain.NodeFailed && c.Item != runstate.NoItem &&
		!old.Nodes[old.Index[c.Node]].ContinuesItem(runstate.ToPlanner(c.Failure)) && !edited:
		return domain.Messagef("the item failed")
	}
	i, ok := b.Program.Index[c.Node]
	if !ok {
		return domain.Messagef("the version has no such step")
	}
	if b.Program != old && b.Program.Fingerprint(i) != old.Fingerprint(old.Index[c.Node]) {
		return domain.Messagef("its definition differs")
	}
	if by := diverged[i]; by != "" {
		return domain.Messagef("the decision of %s differs", by)
	}
	k := runstate.StepKey{VisitKey: walk.VisitKey{Node: i, Visit: c.Visit}, Item: c.Item}
	if b.State.Open[k] == nil && b.State.Foreach[k.VisitKey] == nil {
		return domain.Messagef("a previous step runs again or leads elsewhere")
	}
	if edited {
		return reason
	}
	for _, n := range b.Program.Reads(i) {
		if id := b.Program.Nodes[n].ID; tainted[id] && id != c.Node {
			return domain.Messagef("it read the output of %s", id)
		}
	}
	if c.Item != runstate.NoItem {
		if n, failure := b.State.Walk.Items(k.VisitKey); failure != nil || c.Item >= n {
			return domain.Messagef("its list has no such item")
		}
	} else if b.Program.Nodes[i].Foreach != nil {
		return domain.Messagef("its list is resolved again")
	}
	if c.input == nil {
		if c.Status == domain.NodeFailed || c.Status == domain.NodeSkipped {
			return reason
		}
		if b.Program.Nodes[i].Type != walk.TypeWait {
			return reason // the step settled without an input
		}
	}
	now, failure := b.State.Walk.Input(k.VisitKey, k.Item)
	if c.same && (b.Program.Nodes[i].Type == walk.TypeNoop || b.Program.Nodes[i].Type == walk.TypeDecision) &&
		k.Item == runstate.NoItem {
		now, failure = b.State.Walk.Last(k.VisitKey), nil
	}
	if failure != nil {
		return domain.Messagef("its input cannot be computed: %s", failure)
	}
	raw, err := jsonvalue.Encode(now)
	if err != nil || !bytes.Equal(raw, c.input) {
		return domain.Messagef("its input differs")
	}
	return reason
}

func handled(decision domain.RawJSON) bool {
	var d walk.Decision
	return len(decision) > 0 && json.Unmarshal(decision, &d) == nil && d.Handled != ""
}

func sameDecision(a, b domain.RawJSON) bool {
	var x, y walk.Decision
	if len(a) > 0 && json.Unmarshal(a, &x) != nil || len(b) > 0 && json.Unmarshal(b, &y) != nil {
		return false
	}
	return x.To == y.To && x.Ended == y.Ended && x.Handled == y.Handled && bytes.Equal(runstate.MustJSON(x.Settled),
		runstate.MustJSON(y.Settled))
}

// edits checks the edited outputs, and returns them by visit.
func (b *Branch) edits(asked map[string]domain.RawJSON, rows []candidate) (map[string]domain.RawJSON, error) {
	edits := make(map[string]domain.RawJSON, len(asked))
	for name, raw := range asked {
		node, number, numbered := strings.Cut(name, "#")
		visit := 0
		if numbered {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return nil, domain.Errorf(domain.CodeInvalid, "edits: %q is not node or node#visit", name)
			}
			visit = n
		}
		latest := 0
		for _, c := range rows {
			if c.Node == node && (visit == 0 || c.Visit == visit) {
				latest = max(latest, c.Visit)
			}
		}
		if latest == 0 {
			return nil, domain.Errorf(domain.CodeInvalid, "edits: %s has no settled visit before the fork point", name)
		}
		if i, ok := b.view.Program.Index[node]; ok && b.view.Program.Nodes[i].Type == walk.TypeApproval {
			// A person's answer cannot be edited.
			return nil, domain.Errorf(domain.CodeForbidden, "edits: the output of the approval %s cannot be edited", node)
		}
		if b.view.asked(node) {
			return nil, domain.Errorf(domain.CodeForbidden,
				"edits: %s was called after an approval; its output cannot be edited", node)
		}
		v, err := jsonvalue.Decode(raw)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "edits: %s: %w", name, err)
		}
		canonical, err := jsonvalue.Encode(v)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "edits: %s: %w", name, err)
		}
		edits[visitName(node, latest)] = canonical
	}
	return edits, nil
}

// KeepFor walks prog with the rows of a run that will follow it. kept contains the rows that remain
// valid. dropped contains the open steps that prog does not continue.
func (v *View) KeepFor(prog *runstate.Compiled, f runstate.Facts) (kept []runstate.KeptRow, dropped []domain.PreviewStep, err error) {
	b := &Branch{view: v, Program: prog, Input: v.Run.Input, Preview: v.blank(""), State: runstate.New(prog.Program, f)}
	b.State.SetMemory(v.State.Memory)
	var l lists
	err = b.keep(domain.ActionRequest{At: v.Run.LastSeq}, &l, map[string]domain.Message{})
	return b.kept, l.dropped, err
}

func digestOf(parts ...any) string {
	l := lists{}
	p := domain.Preview{Refusal: domain.Verbatim(fmt.Sprintf("%s", parts))}
	l.fill(&p)
	return p.Digest
}
