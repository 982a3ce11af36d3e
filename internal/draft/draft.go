// Package draft plans the requests of drafts in the background. A draft is stored before planning
// starts, shows its progress, and survives the client and the process that created it. Nothing of
// it runs before a person accepts it.
package draft

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// Store reads and writes drafts.
type Store interface {
	Draft(ctx context.Context, id string) (domain.Draft, error)
	DraftsUnderWay(ctx context.Context) ([]domain.Draft, error)
	BeginDraft(ctx context.Context, id string) (bool, error)
	SetDraftProgress(ctx context.Context, id string, progress []domain.DraftNote) error
	EndDraft(ctx context.Context, d domain.Draft) (bool, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
}

// Planner creates plans.
type Planner interface {
	// Ask stores the plan for a request. If there is no plan, the error wraps a *domain.PlanError.
	Ask(ctx context.Context, actor domain.Actor, r domain.AskRequest) (domain.PlannerAnswer, error)
	// Planners are the providers whose models can plan.
	Planners() []string
	// Outline lists the steps of a stored plan, a line each.
	Outline(canonical []byte) []string
}

// Engine delivers events.
type Engine interface {
	// Announce delivers an event that is not stored.
	Announce(typ string, data map[string]any)
}

// Config configures a [Service]. Store, Planner, and Engine are required.
type Config struct {
	Store   Store
	Planner Planner
	Engine  Engine
	// OnRead continues a draft that an earlier process left when it is read, instead of
	// on startup: for a process that works on its own drafts only.
	OnRead bool
	Log    *slog.Logger
	Now    func() time.Time
	// AtOnce is how many drafts are planned at the same time; default 4. Others wait.
	AtOnce int
	// Timeout is how long planning may take; default 10 minutes.
	Timeout time.Duration
}

// Service plans drafts. It is safe for concurrent use.
type Service struct {
	Config
	base  context.Context
	end   context.CancelFunc
	work  sync.WaitGroup
	slots chan struct{}

	mu      sync.Mutex
	running map[string]context.CancelFunc
	closed  bool
}

// New creates a Service; Open continues what an earlier process left.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.AtOnce <= 0 {
		c.AtOnce = 4
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Minute
	}
	s := &Service{Config: c, running: map[string]context.CancelFunc{}, slots: make(chan struct{}, c.AtOnce)}
	s.base, s.end = context.WithCancel(context.Background())
	return s
}

// Open continues every unfinished draft.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.Store.DraftsUnderWay(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		s.Launch(d)
	}
	return nil
}

// Read continues an unfinished draft when it is read, if Config.OnRead is set. A draft that this
// process is planning does not change.
func (s *Service) Read(d domain.Draft) {
	if s.OnRead && d.State == domain.DraftPlanning {
		s.Launch(d)
	}
}

// Close leaves every unfinished draft for the next Open.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
}

// maxQuery is the maximum size of a request in bytes.
const maxQuery = 32 << 10

// Prepare checks a request and returns its draft. Launch plans it after it is stored.
func (s *Service) Prepare(actor domain.Actor, r domain.DraftRequest) (domain.Draft, error) {
	return s.prepare(actor, r, domain.Draft{})
}

func (s *Service) prepare(actor domain.Actor, r domain.DraftRequest, from domain.Draft) (domain.Draft, error) {
	r.Query, r.Change, r.Examples = strings.TrimSpace(r.Query), strings.TrimSpace(r.Change), strings.TrimSpace(r.Examples)
	switch {
	case r.Query == "":
		return domain.Draft{}, domain.Errorf(domain.CodeInvalid, "Planning request must have valid intent and available skills").
			Suggest("request is empty")
	case len(r.Query)+len(r.Change)+len(r.Examples) > maxQuery:
		return domain.Draft{}, domain.Errorf(domain.CodeTooLarge, "the request exceeds %d KiB", maxQuery>>10)
	case r.Provider != "" && !slices.Contains(s.Planner.Planners(), r.Provider):
		return domain.Draft{}, domain.Errorf(domain.CodeInvalid, "provider %q is not configured for planning", r.Provider)
	}
	return domain.Draft{ID: domain.NewID(), DraftRequest: r, Actor: actor.Name, Role: actor.Role, Source: actor.Source, Parent: from.ID,
		Revision: from.Revision + 1, State: domain.DraftPlanning, CreatedAt: s.Now().UTC().Truncate(time.Microsecond)}, nil
}

// Refined returns a new draft of the same request, with changes or with another provider. The
// refined draft does not change.
func (s *Service) Refined(actor domain.Actor, d domain.Draft, r domain.DraftRequest) (domain.Draft, error) {
	if d.State == domain.DraftPlanning {
		return domain.Draft{}, domain.Errorf(domain.CodeConflict, "planning of the draft is not finished").
			Suggest("wait until it is done, or discard it")
	}
	next := d.DraftRequest
	if r.Query = strings.TrimSpace(r.Query); r.Query != "" && r.Query != d.Query {
		next.Query, next.Change = r.Query, ""
	}
	if r.Change = strings.TrimSpace(r.Change); r.Change != "" {
		if next.Change != "" { // earlier changes still apply
			next.Change += "\n"
		}
		next.Change += r.Change
	}
	next.Provider, next.Fresh = r.Provider, true
	if !r.Constraints.Zero() {
		next.Constraints = r.Constraints
	}
	if len(r.Preferences) > 0 {
		next.Preferences = r.Preferences
	}
	return s.prepare(actor, next, d)
}

// Cancel ends the planning of a discarded draft.
func (s *Service) Cancel(id string) {
	s.mu.Lock()
	cancel := s.running[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Launch plans a stored draft in the background.
func (s *Service) Launch(d domain.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running[d.ID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.base)
	s.running[d.ID] = cancel
	s.work.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.running, d.ID)
			s.mu.Unlock()
		}()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return
		}
		if err := s.make(ctx, d); err != nil && ctx.Err() == nil {
			s.Log.Error("cannot record the result of a draft", "draft", d.ID, "err", err)
		}
	})
}

// make plans one draft and records the result. If the context ends first, the draft does not
// change: the next process continues it, or it was discarded.
func (s *Service) make(ctx context.Context, d domain.Draft) error {
	begun, err := s.Store.BeginDraft(ctx, d.ID)
	if err != nil || !begun {
		return err
	}
	t := &progress{s: s, id: d.ID, notes: d.Progress}
	d.State = domain.DraftReady
	if d.Begun > 0 {
		t.report(domain.DraftNote{Phase: domain.PhaseInterrupted})
	}
	if d.Begun >= domain.MaxDraftBegun {
		d.State, d.Error = domain.DraftFailed, unplanned("interrupted",
			domain.Messagef("kairosd ended %d times during planning", d.Begun), tryAgain())
	} else if err := s.ask(ctx, &d, t.report); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err = s.Store.EndDraft(context.WithoutCancel(ctx), d)
	return err
}

// ask plans and fills in the result; the error is that of an ended context.
func (s *Service) ask(ctx context.Context, d *domain.Draft, report func(domain.DraftNote)) error {
	bounded, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	r := domain.AskRequest{
		Query:       d.Query,
		Agent:       d.Agent,
		PlanOnly:    true,
		Fresh:       d.Fresh,
		Constraints: d.Constraints,
		Preferences: d.Preferences,
		Provider:    d.Provider,
		Change:      d.Change,
		Examples:    d.Examples,
		OnProgress:  report,
	}
	if d.Change != "" {
		r.Before = s.before(bounded, *d)
	}
	asked, err := s.Planner.Ask(
		bounded,
		domain.Actor{Name: d.Actor, Role: d.Role, Source: d.Source, Request: domain.Request{ID: d.ID}},
		r,
	)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.Classification, d.Model, d.Usage = asked.Classification, asked.Model, asked.Usage
	if err != nil {
		d.State, d.Error = domain.DraftFailed, why(err, s.Timeout)
		return nil
	}
	p := asked.Plan
	d.Plan.Key, d.Plan.Version, d.Hash, d.By, d.Direct, d.Found = p.Key, p.Version, p.Hash, p.By, asked.Agent, p.Found
	d.Proposed, d.Steps, d.Unsafe, d.Reason = p.Proposed, p.Steps, p.Unsafe, asked.Reason
	return nil
}

// before returns the steps of the plan that a draft refines.
func (s *Service) before(ctx context.Context, d domain.Draft) []string {
	parent, err := s.Store.Draft(ctx, d.Parent)
	if err != nil || parent.Hash == "" {
		return nil // it refines a draft without a plan
	}
	v, err := s.Store.VersionByHash(ctx, parent.Hash)
	if err != nil {
		return nil // the request is complete without it
	}
	return s.Planner.Outline(v.Canonical)
}

// why returns the message that explains why there is no plan.
func why(err error, patience time.Duration) *domain.DraftError {
	if e, ok := errors.AsType[*domain.PlanError](err); ok {
		return &domain.DraftError{PlanError: *e}
	}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return unplanned(cmp.Or(e.Reason, string(e.Code)), e.Localize(), e.Advice())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return unplanned("timeout", domain.Messagef("no plan was ready after %s", patience), tryAgain())
	}
	return unplanned("internal", domain.Verbatim(err.Error()), domain.Message{})
}

// progress records and announces the progress of one draft.
type progress struct {
	s     *Service
	id    string
	mu    sync.Mutex
	notes []domain.DraftNote
}

// report stores a note and announces it. Progress may be lost in a crash; the result is not.
func (t *progress) report(n domain.DraftNote) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.At = t.s.Now().UTC(); len(t.notes) >= domain.MaxDraftNotes {
		return
	}
	t.notes = append(t.notes, n)
	if err := t.s.Store.SetDraftProgress(context.Background(), t.id, t.notes); err != nil {
		t.s.Log.Warn("cannot record the progress of a draft", "draft", t.id, "err", err)
		return
	}
	t.s.Engine.Announce("draft_progress", map[string]any{"draft": t.id, "object": "draft:" + t.id, "phase": n.Phase, "attempt": n.Attempt})
}
