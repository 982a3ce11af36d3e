package inspect

import (
	"context"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/preview"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/internal/versions"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store contains the methods that read runs.
type Store interface {
	Run(ctx context.Context, id string) (domain.Run, error)
	// Journal returns a run's rows with Seq > after, in order. It verifies their hashes. If a row
	// is damaged, the error is CodeCorrupt, and the result contains the rows before it.
	Journal(ctx context.Context, run string, after int64) ([]domain.Entry, error)
	// Intact reads a journal even if it is damaged. It returns the intact rows, and the rows that
	// are damaged or missing up to last.
	Intact(ctx context.Context, run string, last int64) ([]domain.Entry, []domain.DamagedRow, error)
	// EventsAfter returns audit events with Seq > after, in order.
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	Approval(ctx context.Context, id string) (domain.Approval, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
	// ActiveByConcurrency returns the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// UndoRuns returns the runs that undo steps of a run, oldest first.
	UndoRuns(ctx context.Context, run string) ([]domain.Run, error)
}

// Config configures an [Inspector]. Every field is required.
type Config struct {
	Store    Store
	Versions *versions.Reader
	Env      *preview.Env
	// Describe adds the logs of running attempts to their intent rows, so that active steps can be
	// watched, and returns the waits for workers. The rows are a copy.
	Describe func(ctx context.Context, run string, journal []domain.Entry) []domain.WorkerWait
	// Quarantine requests the quarantine of a run with a damaged journal.
	Quarantine func(run string)
}

// Inspector reads runs. It is safe for concurrent use.
type Inspector struct{ c Config }

// New returns an inspector.
func New(c Config) *Inspector { return &Inspector{c} }

// View reads and folds a run. If its journal is damaged, the error is CodeCorrupt.
func (in *Inspector) View(ctx context.Context, run string) (*preview.View, error) {
	return in.viewBy(ctx, run, in.c.Versions.Compile)
}

// compileFunc compiles a version.
type compileFunc func(ctx context.Context, ref domain.ProgramRef) (*runstate.Compiled, error)

func (in *Inspector) viewBy(ctx context.Context, run string, compile compileFunc) (*preview.View, error) {
	r, err := in.c.Store.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := r.Corrupt(); err != nil {
		return nil, err
	}
	p, err := compile(ctx, r.ProgramRef)
	if err != nil {
		return nil, err
	}
	journal, err := in.Journal(ctx, r)
	if err != nil {
		return nil, err
	}
	input, err := runstate.Decode(r.Input)
	if err != nil {
		return nil, domain.Errorf(domain.CodeCorrupt, "input of run %s: %w", run, err)
	}
	s, err := in.Fold(ctx, p, r, input, journal, true)
	if err != nil {
		return nil, err
	}
	return &preview.View{Env: in.c.Env, Run: r, Program: p, Journal: journal, State: s}, nil
}

// Fold folds the given journal of a run. p is the version that the run follows now; the journal may
// begin with another. With history, the state keeps all settled visits, and so grows with the
// journal.
func (in *Inspector) Fold(ctx context.Context, p *runstate.Compiled, r domain.Run, input any,
	journal []domain.Entry, history bool) (*runstate.State, error) {
	f := in.Facts(ctx, r, input)
	f.KeepHistory = history
	return in.foldWith(p, r, f, journal)
}

func (in *Inspector) foldWith(p *runstate.Compiled, r domain.Run, f runstate.Facts, journal []domain.Entry) (*runstate.State, error) {
	first := p.Program
	if hash := runstate.FirstVersion(journal); hash != "" {
		var err error
		if first, err = f.Program(hash); err != nil {
			return nil, err
		}
	}
	s, err := runstate.Fold(first, f, journal)
	if err == nil && !r.PurgedAt.IsZero() {
		s.Seq = r.LastSeq // the rows are deleted, but their numbers are not used again
	}
	return s, err
}

func (in *Inspector) Facts(ctx context.Context, r domain.Run, input any) runstate.Facts {
	return runstate.Facts{Run: r.ID, Slot: r.Slot.String(), Input: input,
		Held:        r.Status == domain.RunWaiting && r.WaitReason == domain.WaitHeld,
		Quarantined: r.Status == domain.RunWaiting && r.WaitReason == domain.WaitQuarantined,
		Program: func(hash string) (*walk.Program, error) {
			p, err := in.c.Versions.Compile(ctx, domain.ProgramRef{Hash: hash, Profile: r.Profile})
			if err != nil {
				return nil, err
			}
			return p.Program, nil
		}}
}

// Detail folds a run and describes its waits and its steps.
func (in *Inspector) Detail(ctx context.Context, run string) (domain.RunDetail, error) {
	v, err := in.viewBy(ctx, run, in.c.Versions.CompileReadOnly)
	return in.detail(ctx, run, v, err)
}

// Look returns Detail and the preview of a resume from one reading of the journal, because reading
// 50,000 steps takes a third of a second. resume is nil if Preview must compute the preview.
func (in *Inspector) Look(ctx context.Context, actor domain.Actor, run string) (
	d domain.RunDetail, resume func() (domain.Preview, error), err error) {
	v, err := in.viewBy(ctx, run, in.c.Versions.CompileReadOnly)
	if d, err = in.detail(ctx, run, v, err); err != nil || v == nil {
		return d, nil, err
	}
	if p, err := in.c.Versions.Compile(ctx, v.Run.ProgramRef); err != nil || p != v.Program {
		return d, nil, nil // the plan is not compatible with this server
	}
	return d, func() (domain.Preview, error) {
		return in.previewOf(ctx, actor, v, domain.ActionRequest{Run: run, Action: domain.ActionResume})
	}, nil
}

func (in *Inspector) detail(ctx context.Context, run string, v *preview.View, err error) (domain.RunDetail, error) {
	if d, is := in.Salvage(ctx, run, err, in.c.Versions.CompileReadOnly); is {
		if r := d.Run; !r.Status.Final() && r.WaitReason != domain.WaitQuarantined && !in.c.Env.OwnRunsOnly {
			in.c.Quarantine(r.ID)
		}
		return d.DamagedDetail(), nil
	}
	if code := domain.CodeOf(err); code == domain.CodeInvalid || code == domain.CodeCorrupt {
		// If the plan cannot be compiled, or does not match the journal, the recorded data is still
		// shown.
		if r, runErr := in.c.Store.Run(ctx, run); runErr == nil {
			switch journal, journalErr := in.c.Store.Journal(ctx, r.ID, 0); {
			case journalErr == nil:
				return domain.RunDetail{Run: r, Journal: journal}, nil
			case domain.CodeOf(journalErr) == domain.CodeCorrupt:
				return domain.RunDetail{Run: r, Journal: journal, Damage: preview.UnreadableDamage(journalErr)}, nil
			}
		}
	}
	if err != nil {
		return domain.RunDetail{}, err
	}
	d := domain.RunDetail{Run: v.Run, Journal: v.Journal, Plan: v.PlanResult()}
	if !v.Run.Status.Final() {
		d.WorkerWaits = in.c.Describe(ctx, v.Run.ID, v.Journal)
	}
	if !v.Run.Status.Final() || len(v.State.UnresolvedDoubts()) > 0 {
		d.Waits = v.State.Waits()
	}
	if d.Undos, err = in.undoRuns(ctx, v.Run.ID); err != nil {
		return d, err
	}
	d.BlockedBy, err = in.blockedBy(ctx, v.Run)
	return d, err
}

// blockedBy returns the active runs that a queued run waits for because they have its concurrency key.
func (in *Inspector) blockedBy(ctx context.Context, run domain.Run) (list []string, err error) {
	c := run.Concurrency
	if c == nil || run.Status != domain.RunQueued {
		return nil, nil
	}
	active, err := in.c.Store.ActiveByConcurrency(ctx, c.Key)
	for _, r := range active {
		if r.ID != run.ID && r.Status != domain.RunQueued {
			list = append(list, r.ID)
		}
	}
	if len(list) < max(c.Limit, 1) {
		return nil, err
	}
	return list, err
}

// Result returns the results of a run so far.
func (in *Inspector) Result(ctx context.Context, run string) (domain.Result, error) {
	d, err := in.Detail(ctx, run)
	if err != nil {
		return domain.Result{}, err
	}
	return domain.ResultOf(d), nil
}

// Preview returns the effect of an action. The code that performs the action computes it.
func (in *Inspector) Preview(ctx context.Context, actor domain.Actor, req domain.ActionRequest) (domain.Preview, error) {
	if err := preview.CheckRequest(req); err != nil {
		return domain.Preview{}, err
	}
	v, err := in.Salvaged(ctx, req.Run)
	if err != nil {
		return domain.Preview{}, err
	}
	return in.previewOf(ctx, actor, v, req)
}

// previewOf returns the effect of an action on the run of a view. It may modify the view.
func (in *Inspector) previewOf(ctx context.Context, actor domain.Actor, v *preview.View, req domain.ActionRequest) (domain.Preview, error) {
	var pre domain.Preview
	var err error
	switch {
	case preview.NeedsJournal(v.Run, req):
		err = preview.PurgedError(v.Run)
	case v.Damage != nil && req.Action != domain.ActionUndo &&
		(req.Action != domain.ActionFork && req.Action != domain.ActionRerun || len(v.Damage.Parts) > 0):
		pre, err = v.DamagedAction(req)
	case req.Action == domain.ActionResume:
		if err = in.CheckNotUndone(ctx, v.Run); err == nil {
			pre, _, _, err = v.Resume(req)
		}
	case req.Action == domain.ActionUndo:
		var u *Undo
		if u, err = in.Undo(ctx, v, req); err == nil {
			pre = u.Preview
		}
	case req.Action == domain.ActionRerun, req.Action == domain.ActionFork:
		var b *preview.Branch
		if b, err = in.Branch(ctx, v, req); err == nil {
			pre = b.Preview
			pre.Decisions = b.PredictDecisions()
		}
	default:
		pre = v.Simple(req)
	}
	if err == nil && !actor.Role.Includes(v.RequiredRole(req, pre)) {
		pre.Allowed, pre.Refusal = false, domain.Messagef("this requires the role %s", v.RequiredRole(req, pre))
	}
	if refused, ok := v.Refused(req.Action, err); ok {
		return refused, nil
	}
	return pre, err
}

// Effects returns the side-effect class of each node of a stored version, in order, as far as it is
// known without the input. Previews show it.
func (in *Inspector) Effects(ctx context.Context, ref domain.ProgramRef) ([]walk.Effect, error) {
	p, err := in.c.Versions.CompileReadOnly(ctx, ref)
	if err != nil {
		return nil, err
	}
	return effectsOf(in, p, nil), nil
}

// effectsOf appends the side-effect classes of the steps of a program, and then those of its blocks.
func effectsOf(in *Inspector, p *runstate.Compiled, out []walk.Effect) []walk.Effect {
	for i := range p.Nodes {
		out = append(out, in.c.Env.StaticEffect(p, &p.Nodes[i]))
	}
	for i := range p.Nodes {
		if b := p.Nodes[i].Block; b != nil {
			out = effectsOf(in, runstate.NewCompiled(b.Program, p.Version), out)
		}
	}
	return out
}

// Prediction predicts the steps after each answer to a pending approval; see [preview.Predictions].
func (in *Inspector) Prediction(ctx context.Context, approval string) ([]domain.Prediction, error) {
	p, err := in.c.Store.Approval(ctx, approval)
	if err != nil || p.Status != "pending" {
		return nil, err
	}
	return preview.Predictions(p, func() (*preview.View, error) { return in.View(ctx, p.Run) })
}
