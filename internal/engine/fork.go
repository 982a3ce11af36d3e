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

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// branch is a new run in the making: what a rerun or fork starts with.
type branch struct {
	view    *view
	prog    *program
	input   kairos.RawJSON
	entries []kairos.Entry
	kept    []keptRow // of the entries, those that were settled anew
	s       *state
	preview kairos.Preview
}

// newRun performs a rerun or a fork.
func (e *Engine) newRun(ctx context.Context, actor kairos.Actor, req kairos.VerbRequest) (kairos.Run, error) {
	v, err := e.salvaged(ctx, req.Run)
	if err != nil {
		return kairos.Run{}, err
	}
	if d := v.damage; d != nil && len(d.Parts) > 0 {
		return kairos.Run{}, endsDamaged(v.run, req, d)
	}
	if req.Rev != 0 && req.Rev != v.run.LastSeq {
		return kairos.Run{}, kairos.Errorf(kairos.CodeStale, "the run has moved on from revision %d to %d", req.Rev, v.run.LastSeq).Suggest("look at it again")
	}
	if needsJournal(v.run, req) {
		return kairos.Run{}, purged(v.run)
	}
	b, err := v.branch(ctx, req)
	if err != nil {
		return kairos.Run{}, err
	}
	action := "run." + string(req.Action)
	if err := e.allow(ctx, actor, neededRole(v, req, b.preview), action, req.Run, ""); err != nil {
		return kairos.Run{}, err
	}
	if req.Digest != "" && req.Digest != b.preview.Digest {
		return kairos.Run{}, stale()
	}
	n := kairos.NewRun{Input: b.input, Actor: actor.Name, Origin: string(req.Action), Session: v.run.Session, Priority: v.run.Priority,
		Labels: v.run.Labels, Limits: merge(v.run.Limits, req.Limits), Entries: b.entries,
		Audit: []kairos.AuditRecord{{Action: action, Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Run: v.run.ID, Reason: req.Reason}}}
	if req.Labels != nil {
		n.Labels = req.Labels
	}
	if d := v.damage; d != nil {
		n.Audit[0].Detail = detail(map[string]any{"damagedRow": d.Row, "at": req.At})
	}
	if v.run.Dry() {
		n.Origin = kairos.OriginDry
	}
	if req.Action == kairos.ActionRerun {
		n.RerunOf = v.run.ID
	} else {
		n.ForkedFrom, n.ForkSeq = v.run.ID, req.At
	}
	return e.create(ctx, b.prog, n, actor)
}

// branch builds the journal that the new run starts with, by walking its plan
// with what is kept of the old one.
func (v *view) branch(ctx context.Context, req kairos.VerbRequest) (*branch, error) {
	b := &branch{view: v, prog: v.prog, input: v.run.Input, preview: v.blank(req.Action)}
	if err := b.follow(ctx, req); err != nil {
		return nil, err
	}
	if req.Input != nil {
		b.input = req.Input
	}
	input, err := decode(b.input)
	if err != nil {
		return nil, kairos.Errorf(kairos.CodeInvalid, "input: %w", err)
	}
	if b.prog.InputSchema != nil && (req.Input != nil || b.prog != v.prog) {
		if err := validate(b.prog.InputSchema, b.input, "input"); err != nil {
			return nil, err
		}
	}
	// ${run.id} is the old run's here, so that what read it can be compared.
	b.s = newState(b.prog.Program, facts{run: v.run.ID, input: input, history: true})
	if err := b.pinPlans(ctx, req); err != nil {
		return nil, err
	}
	if known := v.s.memory; known != nil && req.Action == kairos.ActionFork {
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
	if req.Action == kairos.ActionFork {
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
	l.dropped = slices.DeleteFunc(l.dropped, func(s kairos.PreviewStep) bool { return again[s.Node] })
	l.keep = v.kept(b.prog, b.s)
	l.again, l.fresh, l.doubt, l.effects = o.again, o.fresh, o.doubt, o.effects
	l.given = o.given
	if req.Action == kairos.ActionFork {
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

// follow switches to the version that is asked for: a number, -1 the newest, 0 the
// one that the run followed there.
func (b *branch) follow(ctx context.Context, req kairos.VerbRequest) error {
	e, r := b.view.e, b.view.run
	var hash string
	switch {
	case req.Version == 0 && req.Action == kairos.ActionRerun && !r.PurgedAt.IsZero():
		// The journal is gone; what was made for one run says whose tail it is.
		v := b.prog.version
		for v.Origin == kindReplan && v.ParentHash != "" {
			var err error
			if v, err = e.store.VersionByHash(ctx, v.ParentHash); err != nil {
				return err
			}
		}
		hash = v.Hash
	case req.Version == 0:
		// A rerun begins where the run began: a tail was planned for what had been
		// done and had failed in one run, and is never its plan's (SPEC 7.5).
		hash = versionAt(b.view.journal, req.At, b.prog.Hash)
	case req.Version < 0:
		p, err := e.store.Plan(ctx, r.PlanID)
		if err != nil {
			return err
		}
		hash = p.LatestHash
	case req.Version == b.prog.version.Number:
		return nil
	default:
		ver, err := e.store.VersionByNumber(ctx, r.PlanID, req.Version)
		if err != nil {
			return err
		}
		hash = ver.Hash
	}
	if hash == b.prog.Hash {
		return nil
	}
	p, err := e.program(ctx, hash)
	if err != nil {
		return err
	}
	b.prog = p
	return nil
}

// pinPlans keeps the old run's pins for the same version, and pins anew for
// another one or a rerun.
func (b *branch) pinPlans(ctx context.Context, req kairos.VerbRequest) error {
	if !b.prog.hasPlans {
		return nil
	}
	plans := b.view.s.plans
	if b.prog != b.view.prog || req.Action == kairos.ActionRerun || plans == nil {
		var err error
		if plans, err = b.view.e.resolvePlans(ctx, b.prog); err != nil {
			return err
		}
	}
	return b.append(plansRow(plans, b.view.run.CreatedAt))
}

func plansRow(plans map[string]string, at time.Time) kairos.Entry {
	return kairos.Entry{Seq: 1, Kind: kairos.EntryVerb, Item: noItem, Decision: payload{Verb: "plans", Plans: plans}.json(),
		Actor: kairos.System.Name, At: at}
}

// append adds a row that needs no decision.
func (b *branch) append(e kairos.Entry) error {
	e.Seq = b.s.seq + 1
	if err := b.s.apply(&e); err != nil {
		return err
	}
	b.entries = append(b.entries, e)
	return nil
}

// points lists the checkpoints that a fork can start from: the beginning, and
// every settled visit. A point with attempts in flight is open: what was in
// flight there runs again.
func (v *view) points() []kairos.ForkPoint {
	points := []kairos.ForkPoint{{Seq: 0, Label: "input", Closed: true}}
	flying := map[string]bool{}
	name := func(e *kairos.Entry) string { return fmt.Sprintf("%s\x00%d\x00%d", e.Node, e.Visit, e.Item) }
	for i := range v.journal {
		e := &v.journal[i]
		switch {
		case e.Kind == kairos.EntryIntent && e.Substep == 0:
			flying[name(e)] = true
		case e.Kind == kairos.EntryResult:
			delete(flying, name(e))
			if e.Final && e.Status != kairos.NodeCancelled {
				label := "after " + e.Node
				if e.Visit > 1 {
					label += " (visit " + strconv.Itoa(e.Visit) + ")"
				}
				if e.Item != noItem {
					label += " [" + strconv.Itoa(e.Item) + "]"
				}
				points = append(points, kairos.ForkPoint{Seq: e.Seq, Node: e.Node, Visit: e.Visit, Label: label, Closed: len(flying) == 0})
			}
		}
	}
	return points
}

// candidate is a settled row that a fork may keep, with the input it ran with.
type candidate struct {
	*kairos.Entry
	input kairos.RawJSON
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

func (v *view) candidatesOf(rows []kairos.Entry, at int64) []candidate {
	inputs := map[string]kairos.RawJSON{}
	name := func(node string, visit, item int) string { return fmt.Sprintf("%s\x00%d\x00%d", node, visit, item) }
	var list []candidate
	for i := range rows {
		e := &rows[i]
		if e.Seq > at {
			break
		}
		switch e.Kind {
		case kairos.EntryIntent, kairos.EntryWait:
			if e.Substep == 0 && e.Input != nil {
				inputs[name(e.Node, e.Visit, e.Item)] = e.Input
			}
		case kairos.EntryReset:
			var r planner.Reset
			if json.Unmarshal(e.Decision, &r) != nil {
				continue // fold has read it already
			}
			list = slices.DeleteFunc(list, func(c candidate) bool {
				of := func(v planner.ResetVisit) bool { return v.Node == c.Node && v.Visit == c.Visit }
				return slices.ContainsFunc(r.Forgotten, of) || slices.ContainsFunc(r.Reopened, func(v planner.ResetVisit) bool {
					return of(v) && (c.Item == noItem || slices.Contains(v.Items, c.Item))
				})
			})
		case kairos.EntryReplan:
			var r replan
			if json.Unmarshal(e.Decision, &r) != nil {
				continue // fold has read it already
			}
			list = r.standing(list)
		case kairos.EntryResult:
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
func (r replan) standing(list []candidate) []candidate {
	kept := make(map[int64]kairos.RawJSON, len(r.Kept))
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
func (b *branch) keep(req kairos.VerbRequest, l *lists, why map[string]string) error {
	v := b.view
	if req.At > v.run.LastSeq {
		return kairos.Errorf(kairos.CodeInvalid, "the journal ends at %d; there is no position %d", v.run.LastSeq, req.At)
	}
	if d := v.damage; d != nil && req.At > d.Good {
		return v.beyond(req.At)
	}
	rows := v.candidates(req.At)
	edits, err := b.edits(req.Edits, rows)
	if err != nil {
		return err
	}
	// After a re-plan rows may hold decisions of an earlier version.
	changed := req.Input != nil || len(req.Edits) > 0 || b.prog != v.prog || v.s.replans > 0
	// What an item decided for its whole visit does not stand when another item of
	// the visit runs again: because it failed, or because a resume opened it.
	reset := slices.ContainsFunc(v.journal, func(e kairos.Entry) bool { return e.Kind == kairos.EntryReset && e.Seq <= req.At })
	partial := map[string]bool{}
	tainted := map[string]bool{} // nodes whose output differs, or runs again
	diverged := map[int]string{} // nodes behind a decision that differs, and whose
	drop := func(c candidate, reason string) {
		l.dropped = append(l.dropped, kairos.PreviewStep{Node: c.Node, Visit: c.Visit, Status: c.Status, Reason: reason,
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
		reason := b.differs(c, isEdit, tainted, diverged)
		if reason != "" {
			drop(c, reason)
			partial[visitName(c.Node, c.Visit)] = true
			if changed {
				tainted[c.Node] = true
			}
			continue
		}
		i := b.prog.Index[c.Node]
		k := workKey{planner.VisitKey{Node: i, Visit: c.Visit}, c.Item}
		row := *c.Entry
		row.Usage = kairos.Usage{} // spent by the old run
		if isEdit {
			edited[visitName(c.Node, c.Visit)] = true
			tainted[c.Node] = true
			k.item, row.Item = noItem, noItem
			row.Output, row.Status, row.Failure, row.Reason = edit, kairos.NodeCompleted, nil, "edited when the run was forked"
		}
		old := row.Decision
		if !changed && (c.Item == noItem || !reset && !partial[visitName(c.Node, c.Visit)]) {
			if err := b.append(row); err != nil {
				return err
			}
			continue
		}
		out, err := decode(row.Output)
		if err != nil {
			return kairos.Errorf(kairos.CodeInvalid, "output of %s: %w", c.Node, err)
		}
		row.Seq, row.Decision = b.s.seq+1, nil
		if k.item != noItem {
			b.s.ensure(k)
		}
		if _, err := b.s.settle(&row, k, out); err != nil {
			return err
		}
		b.entries = append(b.entries, row)
		kept := keptRow{Seq: c.Seq}
		if !bytes.Equal(old, row.Decision) {
			if kept.Decision = row.Decision; kept.Decision == nil {
				kept.Decision = kairos.RawJSON("{}")
			}
		}
		b.kept = append(b.kept, kept)
		if !sameDecision(old, row.Decision) {
			for _, n := range b.behind(i) {
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
	case c.Status == kairos.NodeCancelled:
		return "it was cancelled"
	case c.Status == kairos.NodeFailed && !edited && !handled(c.Decision) && c.Item == noItem:
		return "it failed"
	case c.Status == kairos.NodeFailed && c.Item != noItem && old.Nodes[old.Index[c.Node]].OnError != planner.OnErrorContinue && !edited:
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
	k := workKey{planner.VisitKey{Node: i, Visit: c.Visit}, c.Item}
	if b.s.work[k] == nil && b.s.fans[k.VisitKey] == nil {
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
	if c.Item != noItem {
		if n, failure := b.s.walk.Items(k.VisitKey); failure != nil || c.Item >= n {
			return "its list has no such item"
		}
	} else if b.prog.Nodes[i].Foreach != nil {
		return "its list is resolved again"
	}
	if c.input == nil {
		if c.Status == kairos.NodeFailed || c.Status == kairos.NodeSkipped {
			return ""
		}
		if b.prog.Nodes[i].Type != planner.TypeWait {
			return "" // settled without having been given an input
		}
	}
	now, failure := b.s.walk.Input(k.VisitKey, k.item)
	if c.same && (b.prog.Nodes[i].Type == planner.TypeNoop || b.prog.Nodes[i].Type == planner.TypeDecision) && k.item == noItem {
		now, failure = b.s.walk.Last(k.VisitKey), nil
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

func handled(decision kairos.RawJSON) bool {
	var d planner.Decision
	return len(decision) > 0 && json.Unmarshal(decision, &d) == nil && d.Handled != ""
}

// readDecision is a recorded decision; what cannot be read decided nothing.
func readDecision(raw kairos.RawJSON) planner.Decision {
	var d planner.Decision
	if len(raw) > 0 && json.Unmarshal(raw, &d) != nil {
		return planner.Decision{}
	}
	return d
}

func sameDecision(a, b kairos.RawJSON) bool {
	var x, y planner.Decision
	if len(a) > 0 && json.Unmarshal(a, &x) != nil || len(b) > 0 && json.Unmarshal(b, &y) != nil {
		return false
	}
	return x.To == y.To && x.Ended == y.Ended && x.Handled == y.Handled && bytes.Equal(mustJSON(x.Settled), mustJSON(y.Settled))
}

// behind lists the nodes that can be reached from a node.
func (b *branch) behind(i int) []int {
	seen := map[int]bool{}
	queue := b.next(i)
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if !seen[n] {
			seen[n] = true
			queue = append(queue, b.next(n)...)
		}
	}
	list := make([]int, 0, len(seen))
	for n := range seen {
		list = append(list, n)
	}
	return list
}

func (b *branch) next(i int) []int {
	var list []int
	for _, e := range b.prog.Nodes[i].Out {
		list = append(list, e.To)
	}
	return append(list, b.prog.Nodes[i].Dependents...)
}

func visitName(node string, visit int) string { return node + "#" + strconv.Itoa(visit) }

// edits checks the edited outputs and names each by its visit.
func (b *branch) edits(asked map[string]kairos.RawJSON, rows []candidate) (map[string]kairos.RawJSON, error) {
	edits := make(map[string]kairos.RawJSON, len(asked))
	for name, raw := range asked {
		node, number, numbered := strings.Cut(name, "#")
		visit := 0
		if numbered {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				return nil, kairos.Errorf(kairos.CodeInvalid, "edits: %q is not node or node#visit", name)
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
			return nil, kairos.Errorf(kairos.CodeInvalid, "edits: %s has no settled visit before the fork point", name)
		}
		if i, ok := b.view.prog.Index[node]; ok && b.view.prog.Nodes[i].Type == planner.TypeApproval {
			// Ruling 38: nobody edits what a person said.
			return nil, kairos.Errorf(kairos.CodeForbidden, "edits: the output of the approval %s cannot be edited", node)
		}
		if b.view.asked(node) {
			return nil, kairos.Errorf(kairos.CodeForbidden, "edits: %s was called only after a person had approved it; its output cannot be edited", node)
		}
		v, err := planner.DecodeValue(raw)
		if err != nil {
			return nil, kairos.Errorf(kairos.CodeInvalid, "edits: %s: %w", name, err)
		}
		canonical, err := planner.EncodeValue(v)
		if err != nil {
			return nil, kairos.Errorf(kairos.CodeInvalid, "edits: %s: %w", name, err)
		}
		edits[visitName(node, latest)] = canonical
	}
	return edits, nil
}

func digestOf(parts ...any) string {
	l := lists{}
	p := kairos.Preview{Refusal: fmt.Sprintf("%s", parts)}
	l.fill(&p)
	return p.Digest
}
