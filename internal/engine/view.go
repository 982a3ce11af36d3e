package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// view is a run as stored, folded: what previews and new runs are computed from.
type view struct {
	env     *env
	run     domain.Run
	prog    *program
	journal []domain.Entry
	s       *runstate.State
	// damage is what of the journal cannot be trusted, nil: it can. The view is then
	// of the rows before; after are the intact ones behind.
	damage *domain.Damage
	after  []domain.Entry
}

// view reads and folds a run; one with a damaged journal is CodeCorrupt.
func (e *Engine) view(ctx context.Context, run string) (*view, error) {
	return e.viewBy(ctx, run, e.program)
}

func (e *Engine) viewBy(ctx context.Context, run string, compile func(context.Context, string) (*program, error)) (*view, error) {
	r, err := e.store.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := r.Corrupt(); err != nil {
		return nil, err
	}
	p, err := compile(ctx, r.Hash)
	if err != nil {
		return nil, err
	}
	journal, err := e.journal(ctx, r)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(r.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", run, err)
	}
	s, err := e.foldRun(ctx, p, r, input, journal, true)
	if err != nil {
		return nil, err
	}
	return &view{env: &e.env, run: r, prog: p, journal: journal, s: s}, nil
}

// view is the run as its actor has it, which may be ahead of what is stored.
func (a *actor) view(ctx context.Context) (*view, error) {
	journal, err := a.journal(ctx)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(a.run.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", a.id, err)
	}
	s, err := a.e.foldRun(ctx, a.prog, a.run, input, journal, true)
	if err != nil {
		return nil, err
	}
	return &view{env: &a.e.env, run: a.run, prog: a.prog, journal: journal, s: s}, nil
}

// journal is the run's journal as its actor has it: what is stored, what is on its
// way there, and what is being put together.
func (a *actor) journal(ctx context.Context) ([]domain.Entry, error) {
	journal, err := a.e.store.Journal(ctx, a.id, 0)
	if err != nil {
		return nil, err
	}
	last := int64(len(journal))
	for _, c := range append(slices.Clone(a.inflight), a.next) {
		for _, e := range c.Entries {
			if e.Seq > last {
				journal, last = append(journal, e), e.Seq
			}
		}
	}
	return journal, nil
}

// foldRun folds the journal of a run as it is stored now.
// p is the version that the run follows now; the journal may begin with another.
// history is for looking at the run; it grows with the journal.
func (e *Engine) foldRun(ctx context.Context, p *program, r domain.Run, input any, journal []domain.Entry, history bool) (*runstate.State, error) {
	f := e.factsOf(ctx, r, input)
	f.KeepHistory = history
	first := p.Program
	if hash := runstate.FirstVersion(journal); hash != "" {
		var err error
		if first, err = f.Program(hash); err != nil {
			return nil, err
		}
	}
	s, err := runstate.Fold(first, f, journal)
	if err == nil && !r.PurgedAt.IsZero() {
		s.Seq = r.LastSeq // its rows are gone, their numbers are not given out again
	}
	return s, err
}

func (e *Engine) factsOf(ctx context.Context, r domain.Run, input any) runstate.Facts {
	return runstate.Facts{Run: r.ID, Input: input, Held: r.Status == domain.RunWaiting && r.WaitReason == domain.WaitHeld,
		Quarantined: r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined,
		Program: func(hash string) (*planner.Program, error) {
			p, err := e.program(ctx, hash)
			if err != nil {
				return nil, err
			}
			return p.Program, nil
		}}
}

// purged refuses what needs the journal of a run that retention has removed.
func purged(r domain.Run) error {
	return domain.Errorf(domain.CodeConflict, "the journal of run %s was removed by retention on %s", domain.ShortID(r.ID), r.PurgedAt.Format(time.DateOnly)).
		Suggest("start a new run of its plan, or rerun it with an input")
}

// Detail folds a run: its waits, where it stands.
func (e *Engine) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	v, err := e.viewBy(ctx, run, e.legible)
	if d, is := e.salvage(ctx, run, err, e.legible); is {
		if r := d.run; !r.Status.Final() && r.WaitReason != domain.WaitQuarantined && !e.opts.OwnRunsOnly {
			e.post(r.ID, timerMsg{}) // whoever takes it up puts it aside
		}
		return d.damagedDetail(), nil
	}
	if code := domain.CodeOf(err); code == domain.CodeInvalid || code == domain.CodeCorrupt {
		// A plan that cannot be compiled here, or a journal that does not fit it,
		// hides nothing of what is recorded.
		if r, runErr := e.store.Run(ctx, run); runErr == nil {
			switch journal, journalErr := e.store.Journal(ctx, r.ID, 0); {
			case journalErr == nil:
				return domain.RunDetail{Run: r, Journal: journal}, nil
			case domain.CodeOf(journalErr) == domain.CodeCorrupt:
				return domain.RunDetail{Run: r, Journal: journal, Damage: unreadable(journalErr)}, nil
			}
		}
	}
	if err != nil {
		return domain.RunDetail{}, err
	}
	if !v.run.Status.Final() {
		e.logsOf(v.run.ID, v.journal)
	}
	d := domain.RunDetail{Run: v.run, Journal: v.journal, Plan: planResult(v)}
	if !v.run.Status.Final() || len(v.s.UnresolvedDoubts()) > 0 {
		d.Waits = v.s.Waits()
	}
	return d, nil
}

// Result is what a run has come to so far (SPEC 9.1).
func (e *Engine) Result(ctx context.Context, run string) (domain.Result, error) {
	d, err := e.Detail(ctx, run)
	if err != nil {
		return domain.Result{}, err
	}
	return domain.ResultOf(d), nil
}

// lists sorts the steps of a preview.
type lists struct {
	keep, again, fresh, doubt, dropped, effects, later, given []domain.PreviewStep
}

// fill puts the lists into a preview and seals it with its digest.
func (l lists) fill(p *domain.Preview) {
	some := func(s []domain.PreviewStep) []domain.PreviewStep {
		if s == nil {
			return []domain.PreviewStep{}
		}
		return s
	}
	p.Keep, p.Again, p.New = some(l.keep), some(l.again), some(l.fresh)
	p.InDoubt, p.Dropped, p.Effects = some(l.doubt), some(l.dropped), some(l.effects)
	p.Later, p.Given = l.later, l.given
	sealed := *p
	sealed.Rev, sealed.Digest, sealed.Points = 0, "", nil
	sum := sha256.Sum256(mustJSON(sealed))
	p.Digest = hex.EncodeToString(sum[:])
}

func mustJSON(v any) domain.RawJSON {
	b, err := json.Marshal(v)
	if err != nil {
		panic("engine: " + err.Error()) // types of this module, all of which marshal
	}
	return b
}

// touches reports whether running a node with this effect touches the world
// outside.
func touches(e planner.Effect) bool {
	return e == planner.EffectIdempotent || e == planner.EffectUnsafe
}

// outlook says what a state leads to: which nodes run when it is set going. seen
// says how often a node ran before.
func (v *view) outlook(p *program, s *runstate.State, seen map[string]int, why map[string]string) lists {
	var l lists
	add := func(i, visit int, items []int, reason string) {
		n := &p.Nodes[i]
		step := domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.env.staticEffect(p, n)), Items: items, Reason: reason}
		if r, ok := why[n.ID]; ok && reason == "" {
			step.Reason = r
		}
		if seen[n.ID] > 0 {
			l.again = append(l.again, step)
		} else {
			l.fresh = append(l.fresh, step)
		}
		if touches(planner.Effect(step.Effect)) {
			l.effects = append(l.effects, step)
		}
	}
	listed := map[int]bool{}
	reach := map[int]bool{}
	var queue []int
	from := func(i int) {
		queue = append(queue, i)
	}
	items := map[planner.VisitKey][]int{}
	left := v.env.unattended(v.run) && !v.env.executes(v.run.ID)
	doubtful := func(w *runstate.Step) bool {
		// What the process that ran it left in flight is settled by whoever takes the
		// run up, before anything else.
		return w.Phase == runstate.PhaseInDoubt && w.Resolution == nil || left && w.InFlight() && v.env.lost(p.Program, w, s.Cancelled) == runstate.OutcomeInDoubt
	}
	for _, w := range s.OpenSteps() {
		if w.Item != runstate.NoItem {
			items[w.VisitKey] = append(items[w.VisitKey], w.Item)
			continue
		}
		if doubtful(w) {
			l.doubt = append(l.doubt, v.doubtStep(p, w))
			from(w.Node)
			continue
		}
		if w.Resolution != nil && w.Resolution.Given != "" {
			l.given = append(l.given, v.givenStep(p, w.Node, w.Visit, w.Resolution.Given))
			from(w.Node)
			continue
		}
		if w.Resolution != nil && w.Resolution.Action != runstate.ActionRetry {
			l.keep = append(l.keep, v.answeredStep(p, w)) // it does not run
			from(w.Node)
			continue
		}
		listed[w.Node] = true
		add(w.Node, w.Visit, nil, "")
		from(w.Node)
	}
	for _, w := range s.OpenSteps() {
		if w.Item != runstate.NoItem && doubtful(w) {
			l.doubt = append(l.doubt, v.doubtStep(p, w))
		}
	}
	for _, k := range s.OpenForeach() {
		given, runs := s.GivenItems(k)
		for _, why := range slices.Sorted(maps.Keys(given)) {
			step := v.givenStep(p, k.Node, k.Visit, why)
			step.Items = given[why]
			l.given = append(l.given, step)
		}
		if !listed[k.Node] && (runs || len(given) == 0) {
			listed[k.Node] = true
			add(k.Node, k.Visit, slices.DeleteFunc(items[k], func(i int) bool { return s.GivenReason(runstate.StepKey{VisitKey: k, Item: i}) != "" }), "")
		}
		from(k.Node)
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		next := func(j int) {
			if !reach[j] && v.mayRun(p, s, j) {
				reach[j] = true
				queue = append(queue, j)
			}
		}
		for _, e := range p.Nodes[i].Out {
			next(e.To)
		}
		for _, j := range p.Nodes[i].Dependents {
			next(j)
		}
	}
	ahead, some := map[int]string{}, map[int]map[string][]int{} // why what has not opened yet, or items of it, has a result
	for k, d := range s.Doubts {
		switch {
		case d.Resolution == nil || d.Resolution.Given == "" || p.Nodes[k.Node].OnCycle:
		case k.Item == runstate.NoItem:
			ahead[k.Node] = d.Resolution.Given
		default:
			if some[k.Node] == nil {
				some[k.Node] = map[string][]int{}
			}
			some[k.Node][d.Resolution.Given] = append(some[k.Node][d.Resolution.Given], k.Item)
		}
	}
	for i := range p.Nodes {
		if reach[i] && ahead[i] == "" {
			for _, why := range slices.Sorted(maps.Keys(some[i])) { // the list may turn out to be longer: the node is named as running too
				step := v.givenStep(p, i, 0, why)
				step.Items = slices.Sorted(slices.Values(some[i][why]))
				l.given = append(l.given, step)
			}
		}
		switch {
		case !reach[i]:
		case ahead[i] != "":
			l.given = append(l.given, v.givenStep(p, i, 0, ahead[i]))
		case listed[i]:
			add(i, 0, nil, "the loop may come round again")
		default:
			add(i, 0, nil, "")
		}
	}
	return l
}

// mayRun reports whether another visit of a node can begin: of one that has
// settled, skipped ones included, only inside a loop and within its bound.
func (v *view) mayRun(p *program, s *runstate.State, i int) bool {
	n := &p.Nodes[i]
	status, visits := s.Walk.Status(i)
	if n.OnCycle {
		return visits < n.MaxVisits
	}
	return status == "" && visits == 0
}

// answeredStep is a visit that a person's word settles.
func (v *view) answeredStep(p *program, w *runstate.Step) domain.PreviewStep {
	n := &p.Nodes[w.Node]
	step := domain.PreviewStep{Node: n.ID, Visit: w.Visit, Type: n.TypeName, Effect: string(v.env.staticEffect(p, n))}
	switch w.Resolution.Action {
	case runstate.ActionHappened:
		step.Status, step.Reason = domain.NodeCompleted, saidHappened
	case runstate.ActionSkip:
		step.Status, step.Reason = domain.NodeSkipped, saidSkip
	case runstate.ActionFail:
		step.Status, step.Reason = domain.NodeFailed, saidFailed
	}
	return step
}

// givenStep is a visit whose result is there before it runs.
func (v *view) givenStep(p *program, node, visit int, why string) domain.PreviewStep {
	n := &p.Nodes[node]
	return domain.PreviewStep{Node: n.ID, Visit: visit, Type: n.TypeName, Effect: string(v.env.staticEffect(p, n)), Status: domain.NodeCompleted, Reason: why}
}

func (v *view) doubtStep(p *program, w *runstate.Step) domain.PreviewStep {
	n := &p.Nodes[w.Node]
	step := domain.PreviewStep{Node: n.ID, Visit: w.Visit, Type: n.TypeName, Effect: string(v.env.staticEffect(p, n)), Status: domain.NodeInDoubt,
		Reason: "say first whether it happened"}
	if w.Item != runstate.NoItem {
		step.Items = []int{w.Item}
	}
	return step
}

// seen counts how often each node began to run, as far as any row tells.
func (v *view) seen() map[string]int {
	seen := ran(v.journal)
	if v.damage != nil {
		for _, s := range v.damage.Steps {
			seen[s.Node]++
		}
	}
	return seen
}

// ran counts how often each node began to run. What was cancelled before its first
// attempt did not.
func ran(journal []domain.Entry) map[string]int {
	seen := map[string]int{}
	for i := range journal {
		switch e := &journal[i]; e.Kind {
		case domain.EntryIntent, domain.EntryResult, domain.EntryWait:
			if e.Node != "" && e.Status != domain.NodeSkipped && !(e.Status == domain.NodeCancelled && e.Attempt == 0) {
				seen[e.Node]++
			}
		}
	}
	return seen
}

// kept lists visits that are settled and stay so.
func (v *view) kept(p *program, s *runstate.State) []domain.PreviewStep {
	var list []domain.PreviewStep
	for _, d := range s.Settled {
		n := &p.Nodes[d.Node]
		if d.Visit == 0 {
			continue // skipped without having run
		}
		list = append(list, domain.PreviewStep{Node: n.ID, Visit: d.Visit, Type: n.TypeName, Effect: string(v.env.staticEffect(p, n)), Status: d.Status})
	}
	return list
}

// Preview says what a verb would do, by the code that then does it.
func (e *Engine) Preview(ctx context.Context, actor domain.Actor, req domain.VerbRequest) (domain.Preview, error) {
	if err := checkVerb(req); err != nil {
		return domain.Preview{}, err
	}
	v, err := e.salvaged(ctx, req.Run)
	if err != nil {
		return domain.Preview{}, err
	}
	var pre domain.Preview
	switch {
	case needsJournal(v.run, req):
		err = purged(v.run)
	case v.damage != nil && (req.Action != domain.ActionFork && req.Action != domain.ActionRerun || len(v.damage.Parts) > 0):
		pre, err = v.damagedVerb(req)
	case req.Action == domain.ActionResume:
		pre, _, _, err = v.resume(req)
	case req.Action == domain.ActionRerun, req.Action == domain.ActionFork:
		var b *branch
		if b, err = e.branch(ctx, v, req); err == nil {
			pre = b.preview
			pre.Decisions = b.foretell()
		}
	default:
		pre = v.simple(req)
	}
	if err == nil && !actor.Role.Includes(neededRole(v, req, pre)) {
		pre.Allowed, pre.Refusal = false, fmt.Sprintf("this needs the role %s", neededRole(v, req, pre))
	}
	if refusal, ok := err.(*domain.Error); ok && refusesVerb(refusal.Code) {
		pre = v.blank(req.Action)
		pre.Refusal, pre.Suggestion = refusal.Message, refusal.Suggestion
		lists{}.fill(&pre)
		return pre, nil
	}
	return pre, err
}

// needsJournal reports whether an act asks for what retention has removed: with
// an input of its own, a rerun does not.
func needsJournal(r domain.Run, req domain.VerbRequest) bool {
	switch req.Action {
	case domain.ActionResume, domain.ActionFork:
		return !r.PurgedAt.IsZero()
	case domain.ActionRerun:
		return !r.PurgedAt.IsZero() && req.Input == nil
	}
	return false
}

// refusesVerb reports whether a code says "not now" rather than "broken".
func refusesVerb(c domain.Code) bool {
	return c == domain.CodeConflict || c == domain.CodeNotResumable
}

// neededRole: following another version is an author's decision.
func neededRole(v *view, req domain.VerbRequest, pre domain.Preview) domain.Role {
	if (req.Action == domain.ActionFork || req.Action == domain.ActionRerun) && req.Version != 0 && pre.Hash != "" && pre.Hash != v.run.Hash {
		return domain.RoleAuthor
	}
	return domain.RoleOperator
}

func (v *view) blank(action domain.Action) domain.Preview {
	return domain.Preview{Run: v.run.ID, Action: action, Rev: v.run.LastSeq, Hash: v.run.Hash, Version: v.run.Version, Damage: v.damage}
}

// simple previews verbs that move no work: what goes on, what stays.
func (v *view) simple(req domain.VerbRequest) domain.Preview {
	p := v.blank(req.Action)
	p.Allowed = true
	final := v.run.Status.Final()
	refuse := func(on bool, why string) {
		if on && p.Allowed {
			p.Allowed, p.Refusal = false, why
		}
	}
	switch req.Action {
	case domain.ActionDelete:
		refuse(!final, "a run that is not over cannot be deleted")
		refuse(!v.run.DeletedAt.IsZero(), "the run was deleted before")
	case domain.ActionContinue:
		refuse(!v.s.Paused, "the run is not paused")
	case domain.ActionPause:
		refuse(v.s.Paused, "the run is paused already")
	case domain.ActionRelease:
		refuse(!v.s.Held && !v.s.Quarantined, "the run is neither held nor quarantined")
	case domain.ActionStartNow:
		refuse(v.run.Status != domain.RunQueued || !v.run.StartedAt.IsZero() || !v.run.StartAt.After(v.env.now()), "the run waits for no time to start at")
	case domain.ActionRetryNow:
		waiting := false
		for _, w := range v.s.Open {
			waiting = waiting || w.Phase == runstate.PhaseWaiting && w.Reason == domain.WaitRetry
		}
		refuse(!waiting, "no retry is pending")
	}
	refuse(final && req.Action != domain.ActionDelete, fmt.Sprintf("the run is %s", v.run.Status))
	l := lists{keep: v.kept(v.prog, v.s)}
	if !final && req.Action != domain.ActionDelete {
		o := v.outlook(v.prog, v.s, ran(v.journal), nil)
		l.doubt = o.doubt
		if req.Action == domain.ActionCancel {
			l.dropped = append(o.again, o.fresh...)
			for i := range l.dropped {
				l.dropped[i].Reason = v.cancels(l.dropped[i])
			}
		} else if req.Action != domain.ActionPause {
			l.again, l.fresh, l.effects = o.again, o.fresh, o.effects
		}
	}
	l.fill(&p)
	return p
}

// cancels says what a cancel does to a step.
func (v *view) cancels(step domain.PreviewStep) string {
	reason := domain.ReasonCancelled
	for k, w := range v.s.Open {
		if !w.InFlight() || k.Visit != step.Visit || v.prog.Nodes[k.Node].ID != step.Node {
			continue
		}
		if v.env.lost(v.prog.Program, w, true) == runstate.OutcomeInDoubt {
			return domain.ReasonUnsafeWork
		}
		reason = domain.ReasonAtWork
	}
	return reason
}

// resume computes what resuming does: the reset and its preview. The state of
// the view is used up.
func (v *view) resume(req domain.VerbRequest) (domain.Preview, planner.Reset, *runstate.ResumeOptions, error) {
	p := v.blank(domain.ActionResume)
	switch v.run.Status {
	case domain.RunCompleted:
		return p, planner.Reset{}, nil, domain.Errorf(domain.CodeConflict, "a completed run has nothing to resume").Suggest("rerun or fork it")
	case domain.RunFailed, domain.RunCancelled:
		if !v.run.DeletedAt.IsZero() {
			return p, planner.Reset{}, nil, wasDeleted()
		}
	default:
		if asksOptions(req) {
			return p, planner.Reset{}, nil, noOptions()
		}
		p.Allowed = len(resumable(v.s)) > 0 || v.env.unattended(v.run)
		if !p.Allowed {
			p.Refusal = "the run is not stopped"
			if b := v.s.Budget; b != nil {
				p.Refusal, p.Suggestion = b.Message, "raise the limit"
			} else if waits := v.s.Waits(); v.run.Status == domain.RunWaiting && len(waits) > 0 {
				text, _ := waitLine(waits[0].Reason, waits)
				p.Refusal = "nothing to resume: " + text
			}
		}
		l := v.outlook(v.prog, v.s, ran(v.journal), nil)
		l.keep = append(v.kept(v.prog, v.s), l.keep...)
		l.fill(&p)
		return p, planner.Reset{}, nil, nil
	}
	for _, k := range v.s.UnresolvedDoubts() {
		n := &v.prog.Nodes[k.Node]
		return p, planner.Reset{}, nil, domain.Errorf(domain.CodeConflict, "visit %d of node %s is in doubt", k.Visit, n.ID).
			Suggest("say first whether it happened: happened, retry, skip or fail")
	}
	reset, failure := v.s.Walk.Reset()
	if failure != nil {
		return p, planner.Reset{}, nil, &domain.Error{Code: domain.CodeNotResumable, Message: failure.Message, Suggestion: failure.Suggestion,
			Cause: failure}
	}
	asked, err := v.resumeOptions(req, reset)
	if err != nil {
		return p, reset, nil, err
	}
	v.s.AfterReset(reset)
	p.Allowed = true
	why := map[string]string{}
	for _, r := range reset.Reopened {
		why[r.Node] = domain.ReasonReopened
		if v.prog.Nodes[v.prog.Index[r.Node]].Type == planner.TypeApproval {
			why[r.Node] = domain.ReasonAskedAgain
		}
	}
	for _, r := range reset.Forgotten {
		why[r.Node] = "it was decided by what runs again"
	}
	l := v.outlook(v.prog, v.s, ran(v.journal), why)
	l.keep = append(v.kept(v.prog, v.s), l.keep...)
	l.narrowed(asked)
	if asked != nil {
		if p.TimeoutMs, p.Attempts = asked.Timeout.Milliseconds(), asked.Attempts; asked.Only != nil {
			p.Only = visitName(asked.Only.Node, asked.Only.Visit)
		}
	}
	l.fill(&p)
	return p, reset, asked, nil
}
