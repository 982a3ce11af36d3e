package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// branch is a new run in the making: what a rerun or fork starts with.
type branch struct {
	view    *view
	prog    *program
	input   domain.RawJSON
	entries []domain.Entry
	kept    []runstate.KeptRow // of the entries, those that were settled anew
	s       *runstate.State
	preview domain.Preview
}

// newRun performs a rerun or a fork.
func (e *Engine) newRun(ctx context.Context, actor domain.Actor, req domain.VerbRequest) (domain.Run, error) {
	if run, ok, err := e.startedBefore(ctx, req.Key); ok || err != nil {
		return run, err
	}
	v, err := e.salvaged(ctx, req.Run)
	if err != nil {
		return domain.Run{}, err
	}
	if d := v.damage; d != nil && len(d.Parts) > 0 {
		return domain.Run{}, endsDamaged(v.run, req, d)
	}
	if req.Rev != 0 && req.Rev != v.run.LastSeq {
		return domain.Run{}, domain.Errorf(domain.CodeStale, "the run has moved on from revision %d to %d", req.Rev, v.run.LastSeq).Suggest("look at it again")
	}
	if needsJournal(v.run, req) {
		return domain.Run{}, purged(v.run)
	}
	b, err := e.branch(ctx, v, req)
	if err != nil {
		return domain.Run{}, err
	}
	action := "run." + string(req.Action)
	if err := e.allow(ctx, actor, neededRole(v, req, b.preview), action, req.Run, ""); err != nil {
		return domain.Run{}, err
	}
	if req.Digest != "" && req.Digest != b.preview.Digest {
		return domain.Run{}, stale()
	}
	n := domain.NewRun{Input: b.input, Actor: actor.Name, Origin: string(req.Action), Session: v.run.Session, Priority: v.run.Priority,
		Labels: v.run.Labels, Limits: runstate.MergeLimits(v.run.Limits, req.Limits), Entries: b.entries, Key: req.Key,
		Audit: []domain.AuditRecord{{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Run: v.run.ID, Reason: req.Reason}}}
	if req.Labels != nil {
		n.Labels = req.Labels
	}
	if d := v.damage; d != nil {
		n.Audit[0].Detail = detail(map[string]any{"damagedRow": d.Row, "at": req.At})
	}
	if v.run.Dry() {
		n.Origin = domain.OriginDry
	}
	if req.Action == domain.ActionRerun {
		n.RerunOf = v.run.ID
	} else {
		n.ForkedFrom, n.ForkSeq = v.run.ID, req.At
	}
	return e.create(ctx, b.prog, n, actor)
}

// branch is what a rerun or fork starts with. It loads what the view's branch needs.
func (e *Engine) branch(ctx context.Context, v *view, req domain.VerbRequest) (*branch, error) {
	prog, err := e.followed(ctx, v, req)
	if err != nil {
		return nil, err
	}
	raw := v.run.Input
	if req.Input != nil {
		raw = req.Input
	}
	input, err := runstate.Decode(raw)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "input: %w", err)
	}
	if prog.InputSchema != nil && (req.Input != nil || prog != v.prog) {
		if err := validate(ctx, prog.InputSchema, raw, "input"); err != nil {
			return nil, err
		}
	}
	// The old run's pins hold for the same version; another one and a rerun are pinned
	// again.
	plans := v.s.Plans
	if prog.hasPlans && (prog != v.prog || req.Action == domain.ActionRerun || plans == nil) {
		if plans, err = e.resolvePlans(ctx, prog); err != nil {
			return nil, err
		}
	}
	return v.branch(req, prog, raw, input, plans)
}

// followed is the version that is asked for: a number, -1 the newest, 0 the one that the
// run followed there.
func (e *Engine) followed(ctx context.Context, v *view, req domain.VerbRequest) (*program, error) {
	r := v.run
	var hash string
	switch {
	case req.Version == 0 && req.Action == domain.ActionRerun && !r.PurgedAt.IsZero():
		// The journal is gone; what was made for one run says whose tail it is.
		ver := v.prog.version
		for ver.Origin == runstate.KindReplan && ver.ParentHash != "" {
			var err error
			if ver, err = e.store.VersionByHash(ctx, ver.ParentHash); err != nil {
				return nil, err
			}
		}
		hash = ver.Hash
	case req.Version == 0:
		// A rerun begins where the run began: a tail was planned for what had been
		// done and had failed in one run, and is never its plan's (SPEC 7.5).
		hash = runstate.VersionAt(v.journal, req.At, v.prog.Hash)
	case req.Version < 0:
		p, err := e.store.Plan(ctx, r.PlanID)
		if err != nil {
			return nil, err
		}
		hash = p.LatestHash
	case req.Version == v.prog.version.Number:
		return v.prog, nil
	default:
		ver, err := e.store.VersionByNumber(ctx, r.PlanID, req.Version)
		if err != nil {
			return nil, err
		}
		hash = ver.Hash
	}
	if hash == v.prog.Hash {
		return v.prog, nil
	}
	return e.program(ctx, hash)
}

// branch builds the journal that the new run starts with, by walking its plan
// with what is kept of the old one.
func (v *view) branch(req domain.VerbRequest, prog *program, raw domain.RawJSON, input any, plans map[string]string) (*branch, error) {
	b := &branch{view: v, prog: prog, input: raw, preview: v.blank(req.Action)}
	// ${run.id} is the old run's here, so that what read it can be compared.
	b.s = runstate.New(b.prog.Program, runstate.Facts{Run: v.run.ID, Input: input, KeepHistory: true})
	if prog.hasPlans {
		if err := b.append(plansRow(plans, v.run.CreatedAt)); err != nil {
			return nil, err
		}
	}
	if known := v.s.Memory; known != nil && req.Action == domain.ActionFork {
		raw, err := planner.EncodeValue(known)
		if err != nil {
			return nil, fmt.Errorf("what the run remembers: %w", err)
		}
		if err := b.append(memoryRow(raw, 0, v.run.CreatedAt)); err != nil {
			return nil, err
		}
	}
	var l lists
	why := map[string]string{}
	if req.Action == domain.ActionFork {
		b.preview.At = req.At
		b.preview.Points = v.points()
		if err := b.keep(req, &l, why); err != nil {
			return nil, err
		}
		if err := b.standIns(req); err != nil {
			return nil, err
		}
	}
	v.lost(why)
	o := v.outlook(b.prog, b.s, v.seen(), why)
	again := map[string]bool{}
	for _, step := range o.again {
		again[step.Node] = true
	}
	l.dropped = slices.DeleteFunc(l.dropped, func(s domain.PreviewStep) bool { return again[s.Node] })
	l.keep = v.kept(b.prog, b.s)
	l.again, l.fresh, l.doubt, l.effects = o.again, o.fresh, o.doubt, o.effects
	l.given = o.given
	if req.Action == domain.ActionFork {
		b.preview.Repeats = b.repeats(&l)
	}
	b.preview.Allowed = true
	b.preview.Hash, b.preview.Version = b.prog.Hash, b.prog.version.Number
	l.fill(&b.preview)
	if len(req.Edits) > 0 || len(req.Instead) > 0 || req.Input != nil {
		// What is edited or given is part of what was previewed.
		b.preview.Digest = digestOf(b.preview.Digest, mustJSON(req.Edits), mustJSON(req.Instead), b.input)
	}
	return b, nil
}

func plansRow(plans map[string]string, at time.Time) domain.Entry {
	return domain.Entry{Seq: 1, Kind: domain.EntryVerb, Item: runstate.NoItem, Decision: runstate.VerbDecision{Verb: runstate.VerbPlans, Plans: plans}.JSON(),
		Actor: domain.System.Name, At: at}
}

// append adds a row that needs no decision.
func (b *branch) append(e domain.Entry) error {
	e.Seq = b.s.Seq + 1
	if err := b.s.Apply(&e); err != nil {
		return err
	}
	b.entries = append(b.entries, e)
	return nil
}

// points lists the checkpoints that a fork can start from: the beginning, and
// every settled visit. A point with attempts in flight is open: what was in
// flight there runs again.
func (v *view) points() []domain.ForkPoint {
	points := []domain.ForkPoint{{Seq: 0, Label: "input", Closed: true}}
	flying := map[string]bool{}
	name := func(e *domain.Entry) string { return fmt.Sprintf("%s\x00%d\x00%d", e.Node, e.Visit, e.Item) }
	for i := range v.journal {
		e := &v.journal[i]
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
				points = append(points, domain.ForkPoint{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Label: label, Closed: len(flying) == 0})
			}
		}
	}
	return points
}

// candidate is a settled row that a fork may keep, with the input it ran with.
type candidate struct {
	*domain.Entry
	input domain.RawJSON
	// same says that the input is the output (set, log) or last (noop).
	same bool
}

// candidates lists the final rows up to a position that later resets left
// standing.
func (v *view) candidates(at int64) []candidate { return v.candidatesOf(v.journal, at) }

// recorded lists all of them, also those behind damage: each is as it was written.
func (v *view) recorded() []candidate {
	return v.candidatesOf(slices.Concat(v.journal, v.after), v.run.LastSeq)
}

func (v *view) candidatesOf(rows []domain.Entry, at int64) []candidate {
	inputs := map[string]domain.RawJSON{}
	name := func(node string, visit, item int) string { return fmt.Sprintf("%s\x00%d\x00%d", node, visit, item) }
	var list []candidate
	for i := range rows {
		e := &rows[i]
		if e.Seq > at {
			break
		}
		switch e.Kind {
		case domain.EntryIntent, domain.EntryWait:
			if e.Substep == 0 && e.Input != nil {
				inputs[name(e.Node, e.Visit, e.Item)] = e.Input
			}
		case domain.EntryReset:
			var r planner.Reset
			if json.Unmarshal(e.Decision, &r) != nil {
				continue // fold has read it already
			}
			list = slices.DeleteFunc(list, func(c candidate) bool {
				of := func(v planner.ResetVisit) bool { return v.Node == c.Node && v.Visit == c.Visit }
				return slices.ContainsFunc(r.Forgotten, of) || slices.ContainsFunc(r.Reopened, func(v planner.ResetVisit) bool {
					return of(v) && (c.Item == runstate.NoItem || slices.Contains(v.Items, c.Item))
				})
			})
		case domain.EntryReplan:
			var r runstate.Replan
			if json.Unmarshal(e.Decision, &r) != nil {
				continue // fold has read it already
			}
			list = standing(r, list)
		case domain.EntryResult:
			if !e.Final {
				continue
			}
			c := candidate{Entry: e, input: e.Input}
			if c.input == nil {
				c.input = inputs[name(e.Node, e.Visit, e.Item)]
			}
			if n, ok := v.prog.Index[e.Node]; ok && c.input == nil && builtin(v.prog.Nodes[n].Type) {
				c.input, c.same = e.Output, true
			}
			list = append(list, c)
		}
	}
	return list
}

// standing are the rows that a re-plan kept, with what was decided there.
func standing(r runstate.Replan, list []candidate) []candidate {
	kept := make(map[int64]domain.RawJSON, len(r.Kept))
	for _, k := range r.Kept {
		kept[k.Seq] = k.Decision
	}
	list = slices.DeleteFunc(list, func(c candidate) bool { _, ok := kept[c.Seq]; return !ok })
	for i, c := range list {
		if d := kept[c.Seq]; d != nil {
			row := *c.Entry
			row.Decision = d
			list[i].Entry = &row
		}
	}
	return list
}

// keep walks the new plan with the old run's rows up to the fork point. A visit
// is kept if its id, definition, recomputed input and every decision on its
// path are equal and it read nothing that was edited (rulings 9, 11).
func (b *branch) keep(req domain.VerbRequest, l *lists, why map[string]string) error {
	v := b.view
	if req.At > v.run.LastSeq {
		return domain.Errorf(domain.CodeInvalid, "the journal ends at %d; there is no position %d", v.run.LastSeq, req.At)
	}
	if d := v.damage; d != nil && req.At > d.Good {
		return v.beyond(req.At)
	}
	rows := v.candidates(req.At)
	edits, err := b.edits(req.Edits, rows)
	if err != nil {
		return err
	}
	approved := approvedFacts{b: b, req: req, edits: edits}
	// After a re-plan rows may hold decisions of an earlier version.
	changed := req.Input != nil || len(req.Edits) > 0 || b.prog != v.prog || v.s.ReplanCount > 0
	// What an item decided for its whole visit does not stand when another item of
	// the visit runs again: because it failed, or because a resume opened it.
	reset := slices.ContainsFunc(v.journal, func(e domain.Entry) bool { return e.Kind == domain.EntryReset && e.Seq <= req.At })
	partial := map[string]bool{}
	tainted := map[string]bool{} // nodes whose output differs, or runs again
	diverged := map[int]string{} // nodes behind a decision that differs, and whose
	drop := func(c candidate, reason string) {
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
		if reason == "" {
			reason = b.differs(c, isEdit, tainted, diverged)
		}
		if reason != "" {
			drop(c, reason)
			partial[visitName(c.Node, c.Visit)] = true
			if changed {
				tainted[c.Node] = true
			}
			continue
		}
		i := b.prog.Index[c.Node]
		k := runstate.StepKey{VisitKey: planner.VisitKey{Node: i, Visit: c.Visit}, Item: c.Item}
		row := *c.Entry
		row.Usage = domain.Usage{} // spent by the old run
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
		row.Seq, row.Decision = b.s.Seq+1, nil
		if k.Item != runstate.NoItem {
			b.s.EnsureOpen(k)
		}
		if _, err := b.s.Settle(&row, k, out, v.env.now()); err != nil {
			return err
		}
		b.entries = append(b.entries, row)
		kept := runstate.KeptRow{Seq: c.Seq}
		if !bytes.Equal(old, row.Decision) {
			if kept.Decision = row.Decision; kept.Decision == nil {
				kept.Decision = domain.RawJSON("{}")
			}
		}
		b.kept = append(b.kept, kept)
		if !sameDecision(old, row.Decision) {
			for n := range b.prog.after(i) {
				if diverged[n] == "" {
					diverged[n] = c.Node
				}
			}
		}
	}
	return nil
}

func (b *branch) typeOf(node string) string {
	if i, ok := b.prog.Index[node]; ok {
		return b.prog.Nodes[i].TypeName
	}
	if i, ok := b.view.prog.Index[node]; ok {
		return b.view.prog.Nodes[i].TypeName
	}
	return ""
}

// differs says why a row cannot be kept; "": it can.
func (b *branch) differs(c candidate, edited bool, tainted map[string]bool, diverged map[int]string) string {
	old := b.view.prog
	switch {
	case c.Status == domain.NodeCancelled:
		return "it was cancelled"
	case c.Status == domain.NodeFailed && !edited && !handled(c.Decision) && c.Item == runstate.NoItem:
		return "it failed"
	case c.Status == domain.NodeFailed && c.Item != runstate.NoItem && old.Nodes[old.Index[c.Node]].OnError != planner.OnErrorContinue && !edited:
		return "the item failed"
	}
	i, ok := b.prog.Index[c.Node]
	if !ok {
		return "the version has no such node"
	}
	if b.prog != old && b.prog.Fingerprint(i) != old.Fingerprint(old.Index[c.Node]) {
		return "its definition differs"
	}
	if by := diverged[i]; by != "" {
		return "the decision of " + by + " differs"
	}
	k := runstate.StepKey{VisitKey: planner.VisitKey{Node: i, Visit: c.Visit}, Item: c.Item}
	if b.s.Open[k] == nil && b.s.Foreach[k.VisitKey] == nil {
		return "what leads to it runs again or leads elsewhere"
	}
	if edited {
		return ""
	}
	for _, n := range b.prog.Reads(i) {
		if id := b.prog.Nodes[n].ID; tainted[id] && id != c.Node {
			return "it read the output of " + id
		}
	}
	if c.Item != runstate.NoItem {
		if n, failure := b.s.Walk.Items(k.VisitKey); failure != nil || c.Item >= n {
			return "its list has no such item"
		}
	} else if b.prog.Nodes[i].Foreach != nil {
		return "its list is resolved again"
	}
	if c.input == nil {
		if c.Status == domain.NodeFailed || c.Status == domain.NodeSkipped {
			return ""
		}
		if b.prog.Nodes[i].Type != planner.TypeWait {
			return "" // settled without having been given an input
		}
	}
	now, failure := b.s.Walk.Input(k.VisitKey, k.Item)
	if c.same && (b.prog.Nodes[i].Type == planner.TypeNoop || b.prog.Nodes[i].Type == planner.TypeDecision) && k.Item == runstate.NoItem {
		now, failure = b.s.Walk.Last(k.VisitKey), nil
	}
	if failure != nil {
		return "its input cannot be computed: " + failure.Message
	}
	raw, err := planner.EncodeValue(now)
	if err != nil || !bytes.Equal(raw, c.input) {
		return "its input differs"
	}
	return ""
}

func handled(decision domain.RawJSON) bool {
	var d planner.Decision
	return len(decision) > 0 && json.Unmarshal(decision, &d) == nil && d.Handled != ""
}

// readDecision is a recorded decision; what cannot be read decided nothing.
func readDecision(raw domain.RawJSON) planner.Decision {
	var d planner.Decision
	if len(raw) > 0 && json.Unmarshal(raw, &d) != nil {
		return planner.Decision{}
	}
	return d
}

func sameDecision(a, b domain.RawJSON) bool {
	var x, y planner.Decision
	if len(a) > 0 && json.Unmarshal(a, &x) != nil || len(b) > 0 && json.Unmarshal(b, &y) != nil {
		return false
	}
	return x.To == y.To && x.Ended == y.Ended && x.Handled == y.Handled && bytes.Equal(mustJSON(x.Settled), mustJSON(y.Settled))
}

func visitName(node string, visit int) string { return node + "#" + strconv.Itoa(visit) }

// edits checks the edited outputs and names each by its visit.
func (b *branch) edits(asked map[string]domain.RawJSON, rows []candidate) (map[string]domain.RawJSON, error) {
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
		if i, ok := b.view.prog.Index[node]; ok && b.view.prog.Nodes[i].Type == planner.TypeApproval {
			// Ruling 38: nobody edits what a person said.
			return nil, domain.Errorf(domain.CodeForbidden, "edits: the output of the approval %s cannot be edited", node)
		}
		if b.view.asked(node) {
			return nil, domain.Errorf(domain.CodeForbidden, "edits: %s was called only after a person had approved it; its output cannot be edited", node)
		}
		v, err := planner.DecodeValue(raw)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "edits: %s: %w", name, err)
		}
		canonical, err := planner.EncodeValue(v)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "edits: %s: %w", name, err)
		}
		edits[visitName(node, latest)] = canonical
	}
	return edits, nil
}

// keepFor walks another version with the rows of a run that follows it from here: which
// of them stand, and which steps the version does not continue.
func (v *view) keepFor(prog *program, f runstate.Facts) (kept []runstate.KeptRow, dropped []domain.PreviewStep, err error) {
	b := &branch{view: v, prog: prog, input: v.run.Input, preview: v.blank(""), s: runstate.New(prog.Program, f)}
	b.s.Remember(v.s.Memory)
	var l lists
	err = b.keep(domain.VerbRequest{At: v.run.LastSeq}, &l, map[string]string{})
	return b.kept, l.dropped, err
}

func digestOf(parts ...any) string {
	l := lists{}
	p := domain.Preview{Refusal: fmt.Sprintf("%s", parts)}
	l.fill(&p)
	return p.Digest
}
