// Package draft makes plans of intents in the background. A draft is stored before
// anything is planned, tells how far it is, outlives whoever asked for it and the
// process that began it, and nothing of it runs before a person accepts it.
package draft

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Store keeps drafts.
type Store interface {
	CreateDraft(ctx context.Context, d domain.Draft) error
	Draft(ctx context.Context, id string) (domain.Draft, error)
	DraftOfVersion(ctx context.Context, hash string) (domain.Draft, error)
	Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error)
	DraftsUnderWay(ctx context.Context) ([]domain.Draft, error)
	DraftsFrom(ctx context.Context, parent string) ([]domain.Draft, error)
	BeginDraft(ctx context.Context, id string) (bool, error)
	TellDraft(ctx context.Context, id string, progress []domain.DraftNote) error
	EndDraft(ctx context.Context, d domain.Draft) (bool, error)
	DecideDraft(ctx context.Context, id string, state domain.DraftState, chosen *domain.DraftOutcome, actor domain.Actor, reason string) (bool, error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)
}

// Planner makes the plans.
type Planner interface {
	// Ask stores the plan that answers an intent. The error of an intent that gets
	// none wraps a *domain.PlanError.
	Ask(ctx context.Context, actor domain.Actor, r domain.AskRequest) (domain.Asked, error)
	// Planners are the providers whose models can plan.
	Planners() []string
	// Directed takes an intent apart that names the agent that answers: "/agent text".
	Directed(query string) (agent, text string, ok bool)
	// Alternative stores an alternative of a plan as a version of it.
	Alternative(ctx context.Context, actor domain.Actor, v domain.Version, kind string, askFirst bool) (domain.AskedPlan, error)
	// Outline lists the steps of a stored plan, a line each.
	Outline(canonical []byte) []string
}

// Engine takes plans into use, and out of it.
type Engine interface {
	// AcceptVersion makes a version that a planner made the current one of its plan.
	AcceptVersion(ctx context.Context, actor domain.Actor, plan, hash, reason string) (domain.Plan, error)
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	// Announce tells listeners something that is not stored.
	Announce(typ string, data map[string]any)
}

// Config is what drafts need. Store, Planner, Engine, and Archive are required.
type Config struct {
	Store   Store
	Planner Planner
	Engine  Engine
	// Archive hides a plan from lists: that of a discarded draft.
	Archive func(ctx context.Context, actor domain.Actor, plan, reason string) error
	Log     *slog.Logger
	Now     func() time.Time
	// AtOnce is how many are planned at the same time; default 4. Others wait.
	AtOnce int
	// Patience is how long planning may take; default 10 minutes.
	Patience time.Duration
}

// Service makes drafts. It is safe for concurrent use.
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

// New makes the service; Open takes up what an earlier process left.
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
	if c.Patience <= 0 {
		c.Patience = 10 * time.Minute
	}
	s := &Service{Config: c, running: map[string]context.CancelFunc{}, slots: make(chan struct{}, c.AtOnce)}
	s.base, s.end = context.WithCancel(context.Background())
	return s
}

// Open takes up every draft that is still being planned.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.Store.DraftsUnderWay(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		s.launch(d)
	}
	return nil
}

// TakeUp plans a draft that an earlier process left; one that is being planned stays
// as it is.
func (s *Service) TakeUp(d domain.Draft) { s.launch(d) }

// Close leaves every draft where it is, for the next Open.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
}

// maxQuery bounds what is wanted, in bytes.
const maxQuery = 32 << 10

// Start stores a draft and plans it in the background: it returns as soon as the
// draft is durable.
func (s *Service) Start(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error) {
	return s.start(ctx, actor, r, domain.Draft{})
}

func (s *Service) start(ctx context.Context, actor domain.Actor, r domain.DraftRequest, from domain.Draft) (domain.Draft, error) {
	r.Query, r.Change, r.Examples = strings.TrimSpace(r.Query), strings.TrimSpace(r.Change), strings.TrimSpace(r.Examples)
	switch {
	case !actor.Role.Includes(domain.RoleOperator):
		return domain.Draft{}, domain.Errorf(domain.CodeForbidden, "planning stores a plan, which needs the role %s", domain.RoleOperator)
	case r.Query == "":
		return domain.Draft{}, domain.Errorf(domain.CodeInvalid, "Planning request must have valid intent and available skills").Suggest("say what is wanted") // PRE-PLAN-001
	case len(r.Query)+len(r.Change)+len(r.Examples) > maxQuery:
		return domain.Draft{}, domain.Errorf(domain.CodeTooLarge, "the intent is longer than %d KiB", maxQuery>>10)
	case r.Provider != "" && !slices.Contains(s.Planner.Planners(), r.Provider):
		return domain.Draft{}, domain.Errorf(domain.CodeInvalid, "no provider %q plans here", r.Provider)
	}
	d := domain.Draft{ID: domain.NewID(), DraftRequest: r, Actor: actor.Name, Role: actor.Role, Surface: actor.Surface, Parent: from.ID, Revision: from.Revision + 1,
		State: domain.DraftPlanning, CreatedAt: s.Now().UTC()}
	if err := s.Store.CreateDraft(ctx, d); err != nil {
		return domain.Draft{}, err
	}
	s.launch(d)
	return d, nil
}

// Refine makes another draft of the same intent, with what should be different or
// by another provider's model. The one that is refined stays as it is.
func (s *Service) Refine(ctx context.Context, actor domain.Actor, id string, r domain.DraftRequest) (domain.Draft, error) {
	d, err := s.Store.Draft(ctx, id)
	if err != nil {
		return domain.Draft{}, err
	}
	if d.State == domain.DraftPlanning {
		return domain.Draft{}, domain.Errorf(domain.CodeConflict, "the draft is still being planned").Suggest("wait until it is done, or discard it")
	}
	next := d.DraftRequest
	if r.Query = strings.TrimSpace(r.Query); r.Query != "" && r.Query != d.Query {
		next.Query, next.Change = r.Query, ""
	}
	if r.Change = strings.TrimSpace(r.Change); r.Change != "" {
		if next.Change != "" { // what was asked for before holds
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
	return s.start(ctx, actor, next, d)
}

// Accept takes the plan of a draft, or an alternative of it, into use; of a plan in
// use, that version becomes the current one. What was accepted before stays so.
func (s *Service) Accept(ctx context.Context, actor domain.Actor, id string, a domain.DraftAcceptance) (domain.Draft, error) {
	d, err := s.Store.Draft(ctx, id)
	if err != nil {
		return d, err
	}
	switch {
	case !actor.Role.Includes(domain.RoleOperator):
		return d, domain.Errorf(domain.CodeForbidden, "accepting a plan needs the role %s", domain.RoleOperator)
	case d.State == domain.DraftAccepted && a.Alternative != "" && a.Alternative != d.Alternative:
		return d, domain.Errorf(domain.CodeConflict, "the draft was accepted in another form").Suggest("refine the draft to plan it again")
	case d.State == domain.DraftAccepted:
		return d, nil
	case d.State != domain.DraftReady:
		return d, domain.Errorf(domain.CodeConflict, "the draft is %s: there is nothing to accept", d.State)
	}
	var chosen *domain.DraftOutcome
	if a.Alternative != "" {
		p, err := s.acceptAlternative(ctx, actor, d.Hash, a, d.Constraints.ApproveUnsafe)
		if err != nil {
			return d, err
		}
		chosen = &d.DraftOutcome
		chosen.Alternative, chosen.Version, chosen.Hash, chosen.Steps, chosen.Unsafe = a.Alternative, p.Version, p.Hash, p.Steps, p.Unsafe
	} else {
		plan, err := s.Store.Plan(ctx, d.Plan)
		if err != nil {
			return d, err
		}
		if _, err := s.Engine.AcceptVersion(ctx, actor, plan.ID, d.Hash, a.Reason); err != nil {
			return d, err
		}
	}
	if _, err := s.Store.DecideDraft(ctx, d.ID, domain.DraftAccepted, chosen, actor, a.Reason); err != nil {
		return d, err
	}
	return s.Store.Draft(ctx, id)
}

// AcceptAlternative takes an alternative of a version that a program asked for, and
// that has no draft, into use.
func (s *Service) AcceptAlternative(ctx context.Context, actor domain.Actor, hash string, a domain.DraftAcceptance) (domain.AskedPlan, error) {
	if !actor.Role.Includes(domain.RoleOperator) {
		return domain.AskedPlan{}, domain.Errorf(domain.CodeForbidden, "accepting a plan needs the role %s", domain.RoleOperator)
	}
	return s.acceptAlternative(ctx, actor, hash, a, false)
}

// acceptAlternative stores an alternative of a version, and takes it into use.
func (s *Service) acceptAlternative(ctx context.Context, actor domain.Actor, hash string, a domain.DraftAcceptance, askFirst bool) (domain.AskedPlan, error) {
	v, err := s.Store.VersionByHash(ctx, hash)
	if err != nil {
		return domain.AskedPlan{}, err
	}
	p, err := s.Planner.Alternative(ctx, actor, v, a.Alternative, askFirst)
	if err != nil {
		return p, err
	}
	_, err = s.Engine.AcceptVersion(ctx, actor, p.ID, p.Hash, a.Reason)
	return p, err
}

// Run starts a run of exactly the plan of a draft, with its intent as input and its
// constraints as bounds. What is started is accepted, but for a version
// that was made of a plan in use: that takes the place of the current one only when
// the request says so. CodeConflict while there is nothing to start, or while a person
// has to accept first what it does.
func (s *Service) Run(ctx context.Context, actor domain.Actor, id string, r domain.DraftStart) (domain.Run, error) {
	d, err := s.Store.Draft(ctx, id)
	if err != nil {
		return domain.Run{}, err
	}
	switch {
	case !actor.Role.Includes(domain.RoleOperator):
		return domain.Run{}, domain.Errorf(domain.CodeForbidden, "starting a run needs the role %s", domain.RoleOperator)
	case d.State == domain.DraftFailed:
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "no plan came of the draft")
	case d.State == domain.DraftPlanning:
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "the draft is still being planned").Suggest("wait until it is done")
	case d.State == domain.DraftDiscarded:
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "the draft was discarded")
	case d.State == domain.DraftReady && d.Direct == "" && len(d.Unsafe) > 0 && !r.Accept:
		return domain.Run{}, domain.Errorf(domain.CodeConflict, "%s cannot be repeated: the draft has to be accepted first", strings.Join(d.Unsafe, ", ")).Suggest("read the plan, then accept the draft")
	}
	plan, err := s.Store.Plan(ctx, d.Plan)
	if err != nil {
		return domain.Run{}, err
	}
	apart := plan.Stage == domain.StageUsed && plan.LatestHash != d.Hash
	if d.State == domain.DraftReady && (!apart || r.Accept) {
		if _, err := s.Accept(ctx, actor, id, domain.DraftAcceptance{Reason: cmp.Or(r.Reason, "a run of it was started")}); err != nil {
			return domain.Run{}, err
		}
	}
	query := d.Query
	if id, text, ok := s.Planner.Directed(query); ok && d.Direct == id {
		query = text
	}
	input, err := jsonvalue.Encode(query)
	if err != nil {
		return domain.Run{}, domain.Errorf(domain.CodeInvalid, "the intent: %w", err)
	}
	c := d.Constraints
	return s.Engine.Start(ctx, actor, domain.StartRequest{Plan: plan.ID, Hash: d.Hash, Input: input, Session: r.Session, Key: r.Key, Origin: "ask", Priority: planner.RunPriority(c.Priority),
		Limits: domain.Limits{MaxDuration: c.TimeLimit(), MaxTokens: int64(c.Budget)}})
}

// Discard gives a draft up; planning that is under way ends. Its plan is archived,
// unless somebody took it into use.
func (s *Service) Discard(ctx context.Context, actor domain.Actor, id, reason string) (domain.Draft, error) {
	d, err := s.Store.Draft(ctx, id)
	if err != nil {
		return d, err
	}
	switch {
	case !actor.Role.Includes(domain.RoleOperator):
		return d, domain.Errorf(domain.CodeForbidden, "discarding a draft needs the role %s", domain.RoleOperator)
	case d.State == domain.DraftDiscarded:
		return d, nil
	case d.State == domain.DraftAccepted:
		return d, domain.Errorf(domain.CodeConflict, "the draft was accepted: archive the plan %s instead", d.Plan)
	}
	if d.State == domain.DraftReady {
		if err := s.shelve(ctx, actor, d); err != nil {
			return d, err
		}
	}
	moved, err := s.Store.DecideDraft(ctx, d.ID, domain.DraftDiscarded, nil, actor, reason)
	if err != nil {
		return d, err
	}
	s.mu.Lock()
	cancel := s.running[id]
	s.mu.Unlock()
	if moved && cancel != nil {
		cancel()
	}
	return s.Store.Draft(ctx, id)
}

// shelve archives the plan of a draft, as long as only drafts want it.
func (s *Service) shelve(ctx context.Context, actor domain.Actor, d domain.Draft) error {
	plan, err := s.Store.Plan(ctx, d.Plan)
	if err != nil {
		return err
	}
	newest, err := s.Store.DraftOfVersion(ctx, d.Hash)
	if err != nil {
		return err
	}
	if plan.Stage != domain.StageDraft || plan.Archived || plan.LatestHash != d.Hash || newest.ID != d.ID && newest.State.Open() {
		return nil
	}
	// Whoever may ask for a draft may throw it away: nobody else uses its plan.
	actor.Role = domain.RoleAuthor
	return s.Archive(ctx, actor, plan.ID, "the draft was discarded")
}

// Draft finds a draft; CodeNotFound.
func (s *Service) Draft(ctx context.Context, id string) (domain.Draft, error) {
	return s.Store.Draft(ctx, id)
}

// DraftOfVersion finds the newest draft whose plan is a version; CodeNotFound.
func (s *Service) DraftOfVersion(ctx context.Context, hash string) (domain.Draft, error) {
	return s.Store.DraftOfVersion(ctx, hash)
}

// Drafts lists the newest drafts: those that are open, or all.
func (s *Service) Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error) {
	return s.Store.Drafts(ctx, all, limit)
}

// DraftsFrom lists the drafts that refine one, oldest first.
func (s *Service) DraftsFrom(ctx context.Context, parent string) ([]domain.Draft, error) {
	return s.Store.DraftsFrom(ctx, parent)
}

// Planners are the providers whose models can plan.
func (s *Service) Planners() []string { return s.Planner.Planners() }

// launch plans a draft in the background.
func (s *Service) launch(d domain.Draft) {
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
			s.Log.Error("what became of a draft was not recorded", "draft", d.ID, "err", err)
		}
	})
}

// make plans one draft and records what came of it. When the context ends first,
// the draft is left as it is: for the next process, or because it was discarded.
func (s *Service) make(ctx context.Context, d domain.Draft) error {
	begun, err := s.Store.BeginDraft(ctx, d.ID)
	if err != nil || !begun {
		return err
	}
	t := &teller{s: s, id: d.ID, notes: d.Progress}
	d.State = domain.DraftReady
	if d.Begun > 0 {
		t.tell(domain.DraftNote{Phase: domain.PhaseInterrupted})
	}
	if d.Begun >= domain.MaxDraftBegun {
		d.State, d.Error = domain.DraftFailed, &domain.DraftError{Unplanned: true, PlanError: domain.PlanError{Code: "interrupted", Recoverable: true,
			Message: fmt.Sprintf("kairosd ended %d times while this was being planned", d.Begun), Suggestion: "Try again, with another provider if there is one"}}
	} else if err := s.ask(ctx, &d, t.tell); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_, err = s.Store.EndDraft(context.WithoutCancel(ctx), d)
	return err
}

// ask plans, and fills in what came of it; the error is that of a context which
// ended.
func (s *Service) ask(ctx context.Context, d *domain.Draft, tell func(domain.DraftNote)) error {
	bounded, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	r := domain.AskRequest{Query: d.Query, Agent: d.Agent, PlanOnly: true, Fresh: d.Fresh, Constraints: d.Constraints, Preferences: d.Preferences, Provider: d.Provider, Change: d.Change, Examples: d.Examples, Tell: tell}
	if d.Change != "" {
		r.Before = s.before(bounded, *d)
	}
	asked, err := s.Planner.Ask(bounded, domain.Actor{Name: d.Actor, Role: d.Role, Surface: d.Surface, Request: domain.Request{ID: d.ID}}, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.Classification, d.Model, d.Usage = asked.Classification, asked.Model, asked.Usage
	if err != nil {
		d.State, d.Error = domain.DraftFailed, why(err, s.Patience)
		return nil
	}
	p := asked.Plan
	d.Plan, d.Version, d.Hash, d.By, d.Direct, d.Found = p.Key, p.Version, p.Hash, p.By, asked.Agent, p.Found
	d.Proposed, d.Steps, d.Unsafe, d.Reason = p.Proposed, p.Steps, p.Unsafe, asked.Reason
	return nil
}

// before are the steps of the plan that a draft refines.
func (s *Service) before(ctx context.Context, d domain.Draft) []string {
	parent, err := s.Store.Draft(ctx, d.Parent)
	if err != nil || parent.Hash == "" {
		return nil // it refines one without a plan
	}
	v, err := s.Store.VersionByHash(ctx, parent.Hash)
	if err != nil {
		return nil // what is wanted is said without it
	}
	return s.Planner.Outline(v.Canonical)
}

// why says to people why there is no plan.
func why(err error, patience time.Duration) *domain.DraftError {
	if e, ok := errors.AsType[*domain.PlanError](err); ok {
		return &domain.DraftError{PlanError: *e}
	}
	out := &domain.DraftError{Unplanned: true, PlanError: domain.PlanError{Code: "internal", Message: err.Error(), Recoverable: true}}
	if errors.Is(err, context.DeadlineExceeded) {
		out.Code, out.Message, out.Suggestion = "timeout", fmt.Sprintf("there was no plan after %s", patience), "Try again, with another provider if there is one"
	}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		out.Code, out.Message, out.Suggestion = string(e.Code), e.Message, e.Suggestion
		if e.Reason != "" {
			out.Code = e.Reason
		}
	}
	return out
}

// teller keeps what is told of one draft.
type teller struct {
	s     *Service
	id    string
	mu    sync.Mutex
	notes []domain.DraftNote
}

// tell keeps a note and tells those who watch. How far it is may be lost; what
// comes of it is not.
func (t *teller) tell(n domain.DraftNote) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.At = t.s.Now().UTC(); len(t.notes) >= domain.MaxDraftNotes {
		return
	}
	t.notes = append(t.notes, n)
	if err := t.s.Store.TellDraft(context.Background(), t.id, t.notes); err != nil {
		t.s.Log.Warn("how far a draft is was not recorded", "draft", t.id, "err", err)
		return
	}
	t.s.Engine.Announce("draft_progress", map[string]any{"draft": t.id, "object": "draft:" + t.id, "phase": n.Phase, "attempt": n.Attempt})
}
