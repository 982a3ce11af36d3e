// Package bulk applies one action to many runs. A bulk operation is stored, can be watched and
// stopped, and continues after a restart. So that a failure is not repeated for hundreds of runs, a
// canary run goes first, and the operation stops when consecutive runs fail with the same failure
// as before.
package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/hook"
	"github.com/kairosd/kairosd/planner/walk"
)

// Store stores bulk operations and reads runs.
type Store interface {
	Run(ctx context.Context, id string) (domain.Run, error)
	Schedule(ctx context.Context, idOrKey string) (domain.Schedule, error)
	HookDelivery(ctx context.Context, id string) (domain.HookDelivery, error)
	hook.Store
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	BulksUnderWay(ctx context.Context) ([]domain.Bulk, error)
	BulkItems(ctx context.Context, f domain.BulkItemFilter) ([]domain.BulkItem, error)
	SettleBulkItem(ctx context.Context, id string, it domain.BulkItem) error
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	AckRun(ctx context.Context, actor domain.Actor, run, note string) error
	LabelRun(ctx context.Context, actor domain.Actor, run string, labels map[string]string, reason string) error
	// AuditEvents finds the actions of an earlier process whose outcome is not recorded.
	AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error)
	MoveBulk(ctx context.Context, id string, state domain.BulkState, note string, actor domain.Actor) (bool, error)
}

// Engine applies an action to one run.
type Engine interface {
	Preview(ctx context.Context, actor domain.Actor, r domain.ActionRequest) (domain.Preview, error)
	Act(ctx context.Context, actor domain.Actor, r domain.ActionRequest) (domain.Run, error)
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	SignalStored(ctx context.Context, name, key string)
	// Wait returns when the run is final or waits for a person.
	Wait(ctx context.Context, run string) (domain.Run, error)
	// Program is a version of a plan, compiled.
	Program(ctx context.Context, ref domain.ProgramRef) (*walk.Program, error)
}

// Config configures a [Service]. Store and Engine are required.
type Config struct {
	Store  Store
	Engine Engine
	Log    *slog.Logger
	// CanaryWait is how long to wait for the canary to end. If it is still running then, it has
	// passed the step that failed. Default 10 minutes.
	CanaryWait time.Duration
	// SameFailures is how many consecutive runs that fail as before stop the operation; default 3.
	SameFailures int
	Now          func() time.Time
	// Providers returns the state of the providers, for operations that wait for one; nil: there
	// are none. ProviderWait is the polling interval; default 5 s.
	Providers    func() []domain.ProviderInfo
	ProviderWait time.Duration
	// Tools returns the state of the tools and their circuits, for operations that wait for one;
	// nil: there are none. It is polled at the same interval.
	Tools func(ctx context.Context) ([]domain.ToolInfo, error)
	// Host returns the host that a call of a tool with a circuit per host goes to; empty: the
	// arguments do not determine it. nil: unknown for all tools.
	Host func(tool string, args any) string
}

// Service executes bulk operations.
type Service struct {
	Config
	base context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	running map[string]context.CancelFunc
	closed  bool
}

// errStopped ends a bulk operation that an operator stopped.
var errStopped = errors.New("stopped")

// New creates a Service; Open continues what an earlier process left.
func New(c Config) *Service {
	c.CanaryWait = cmp.Or(c.CanaryWait, 10*time.Minute)
	c.SameFailures = cmp.Or(c.SameFailures, 3)
	c.ProviderWait = cmp.Or(c.ProviderWait, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{Config: c, running: map[string]context.CancelFunc{}}
	s.base, s.end = context.WithCancel(context.Background())
	return s
}

// Open continues all unfinished bulk operations.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.Store.BulksUnderWay(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		s.launch(b, true)
	}
	return nil
}

// Close leaves every bulk operation unfinished, for the next Open.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
}

// actions are the actions that bulk operations support, with the states of runs in which each is
// possible.
var actions = map[domain.Action][]domain.RunStatus{
	domain.ActionResume:      {domain.RunFailed, domain.RunCancelled, domain.RunWaiting}, // waiting: paused, or for a retry
	domain.ActionCancel:      {domain.RunQueued, domain.RunRunning, domain.RunWaiting},
	domain.ActionRerun:       {domain.RunFailed, domain.RunCancelled, domain.RunCompleted},
	domain.ActionDelete:      {domain.RunFailed, domain.RunCancelled, domain.RunCompleted},
	domain.ActionPause:       {domain.RunQueued, domain.RunRunning, domain.RunWaiting},
	domain.ActionUnpause:     {domain.RunWaiting},
	domain.ActionRelease:     {domain.RunWaiting},
	domain.ActionStartNow:    {domain.RunQueued},
	domain.ActionAcknowledge: {domain.RunFailed},
	domain.ActionLabel:       domain.RunStatuses,
}

// possible returns why an action is not possible on a run; empty: it is possible.
func possible(a domain.Action, r domain.Run) (none domain.Message) {
	if !slices.Contains(actions[a], r.Status) {
		return domain.RunIs(r.Status, "")
	}
	switch {
	case a == domain.ActionResume && r.Status == domain.RunWaiting && r.WaitReason != domain.WaitPaused && r.WaitReason != domain.WaitRetry,
		a == domain.ActionUnpause && !r.Paused,
		a == domain.ActionRelease && r.WaitReason != domain.WaitHeld && r.WaitReason != domain.WaitQuarantined:
		return domain.Messagef("the run waits for %s", r.WaitReason)
	case a == domain.ActionStartNow && (r.StartAt.IsZero() || !r.StartedAt.IsZero()):
		return domain.Messagef("the run is not scheduled")
	case a == domain.ActionPause && r.Paused:
		return domain.Messagef("the run is already paused")
	case !r.PurgedAt.IsZero() && a != domain.ActionDelete && a != domain.ActionAcknowledge && a != domain.ActionLabel:
		return domain.Messagef("retention deleted the journal of the run")
	}
	return none
}

// selected lists the runs that a request selects, oldest first.
func (s *Service) selected(ctx context.Context, r domain.BulkRequest) (runs []domain.Run, more bool, err error) {
	if _, ok := actions[r.Action]; !ok {
		return nil, false, domain.Errorf(domain.CodeInvalid, "action %q is not available for bulk operations", r.Action)
	}
	if r.Query == "" && len(r.Runs) == 0 {
		return nil, false, domain.Errorf(domain.CodeInvalid, "no runs selected").
			Suggest("add a filter, for example status:failed plan:invoice since:24h, or select runs")
	}
	if len(r.Runs) > domain.MaxBulkRuns || r.Rate < 0 || r.Rate > 60_000 {
		return nil, false, domain.Errorf(
			domain.CodeInvalid,
			"a bulk operation accepts at most %d runs and 60000 runs per minute",
			domain.MaxBulkRuns,
		)
	}
	if r.Provider != "" && !slices.ContainsFunc(s.providers(), func(p domain.ProviderInfo) bool { return p.Name == r.Provider }) {
		return nil, false, domain.Errorf(domain.CodeInvalid, "provider %q not found", r.Provider)
	}
	if err := s.circuitKnown(ctx, r.Tool); err != nil {
		return nil, false, err
	}
	f, problem := filter.Parse(r.Query, s.Now())
	if problem != nil {
		return nil, false, problem
	}
	if len(r.Runs) > 0 {
		f.IDs = r.Runs
	}
	f.Page.Limit = 200
	for {
		list, err := s.Store.Runs(ctx, f)
		if err != nil {
			return nil, false, err
		}
		runs = append(runs, list.Items...)
		if list.Next == "" {
			break
		}
		if len(runs) >= domain.MaxBulkRuns {
			runs, more = runs[:domain.MaxBulkRuns], true
			break
		}
		f.Page.After = list.Next
	}
	slices.Reverse(runs)
	return runs, more, nil
}

// Preview returns what a request would do now, and to how many runs.
func (s *Service) Preview(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.BulkPreview, error) {
	p, _, err := s.preview(ctx, actor, r)
	return p, err
}

func (s *Service) preview(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.BulkPreview, []domain.Run, error) {
	runs, more, err := s.selected(ctx, r)
	if err != nil {
		return domain.BulkPreview{}, nil, err
	}
	p := domain.BulkPreview{Action: r.Action, Matching: len(runs), More: more, At: s.Now().UTC(), Refused: map[string]int{},
		Refusals: map[string]domain.Message{}}
	var eligible []domain.Run
	sum := sha256.New()
	fmt.Fprintln(sum, r.Action)
	for _, run := range runs {
		if why := possible(r.Action, run); !why.IsZero() {
			english := why.String()
			p.Refused[english]++
			p.Refusals[english] = why
			continue
		}
		eligible = append(eligible, run)
		fmt.Fprintln(sum, run.ID, run.LastSeq)
	}
	p.Eligible, p.Digest = len(eligible), hex.EncodeToString(sum.Sum(nil))
	p.Sample = eligible[:min(len(eligible), 20)]
	if len(eligible) > 0 {
		p.First = eligible[0].ID
		switch r.Action {
		case domain.ActionResume, domain.ActionRerun, domain.ActionCancel:
			one, err := s.Engine.Preview(ctx, actor, domain.ActionRequest{Run: p.First, Action: r.Action})
			if err != nil {
				return p, nil, err
			}
			if r.Action != domain.ActionCancel && one.Allowed {
				flow, err := s.Store.PlanFlow(ctx, eligible[0].PlanKey, 0, s.Now().Add(-domain.ExpectedSince))
				if err != nil {
					return p, nil, err
				}
				one.Expected = flow.Expect(one.Again, one.New)
			}
			p.Preview = &one
		}
		if p.Circuits, err = s.inTheWay(ctx, r.Action, eligible); err != nil {
			return p, nil, err
		}
	}
	return p, eligible, nil
}

// Prepare checks a request and returns the bulk operation and its runs. Launch starts it after it
// is stored.
func (s *Service) Prepare(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.Bulk, []domain.BulkItem, error) {
	if err := labelled(r); err != nil {
		return domain.Bulk{}, nil, err
	}
	p, eligible, err := s.preview(ctx, actor, r)
	if err != nil {
		return domain.Bulk{}, nil, err
	}
	if r.Digest != "" && r.Digest != p.Digest {
		return domain.Bulk{}, nil, domain.Errorf(domain.CodeStale, "the matching runs have changed since the preview").
			Suggest("review the new preview")
	}
	if len(eligible) == 0 {
		return domain.Bulk{}, nil, domain.Errorf(domain.CodeConflict, "the action applies to none of the %d matching runs", p.Matching)
	}
	b := domain.Bulk{
		ID:     domain.NewID(),
		Action: r.Action,
		Query:  r.Query,
		Reason: r.Reason,
		Actor:  actor.Name,
		Role:   actor.Role,
		Source: actor.Source,
		Canary: r.Canary &&
			len(eligible) > 1,
		Rate:      r.Rate,
		Labels:    r.Labels,
		NotBefore: r.NotBefore,
		Provider:  r.Provider,
		Tool:      r.Tool,
		State:     domain.BulkRunning,
		Total:     int64(len(eligible)),
		CreatedAt: s.Now().UTC(),
	}
	if b.Canary {
		b.State = domain.BulkCanary
	}
	items := make([]domain.BulkItem, len(eligible))
	for i, run := range eligible {
		items[i] = domain.BulkItem{Position: int64(i) + 1, Run: run.ID, Rev: run.LastSeq, State: "pending"}
		if run.Error != nil {
			items[i].Node, items[i].Code = run.Error.Node, run.Error.Code
		}
	}
	return b, items, nil
}

// Launch starts a bulk operation that was stored.
func (s *Service) Launch(b domain.Bulk) { s.launch(b, false) }

// maxLabels is how many labels one operation can add.
const maxLabels = 20

// labelled checks that labels are given with the action label, and only with it.
func labelled(r domain.BulkRequest) error {
	if r.Action != domain.ActionLabel {
		if len(r.Labels) > 0 {
			return domain.Errorf(domain.CodeInvalid, "labels require the action label")
		}
		return nil
	}
	if len(r.Labels) == 0 || len(r.Labels) > maxLabels {
		return domain.Errorf(domain.CodeInvalid, "an operation adds 1 to %d labels", maxLabels).
			Suggest("write them as key=value, separated by spaces")
	}
	for k, v := range r.Labels {
		if k == "" || v == "" || len(k) > 63 || len(v) > 255 {
			return domain.Errorf(domain.CodeInvalid, "%q=%q is not a valid label", k, v).
				Suggest("a key has 1 to 63 characters, a value 1 to 255")
		}
	}
	return nil
}

func (s *Service) providers() []domain.ProviderInfo {
	if s.Providers == nil {
		return nil
	}
	return s.Providers()
}

// Cancel stops the work on a bulk operation.
func (s *Service) Cancel(id string) {
	s.mu.Lock()
	cancel := s.running[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// launch executes a bulk operation in the background. continued reports that an earlier process
// began it.
func (s *Service) launch(b domain.Bulk, continued bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.running[b.ID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.base)
	s.running[b.ID] = cancel
	s.work.Go(func() {
		defer func() {
			cancel()
			s.mu.Lock()
			delete(s.running, b.ID)
			s.mu.Unlock()
		}()
		w := &worker{
			s:         s,
			b:         b,
			continued: continued,
			lookAtAll: continued,
			actor:     domain.Actor{Name: b.Actor, Role: b.Role, Source: b.Source, Request: domain.Request{ID: b.ID}},
		}
		state, note, err := w.run(ctx)
		if ctx.Err() != nil {
			return // stopped by an operator, or left for the next process
		}
		if err != nil {
			state, note = domain.BulkStopped, "it cannot continue: "+err.Error()
			s.Log.Error("bulk operation ended", "bulk", b.ID, "err", err)
		}
		if _, err := s.Store.MoveBulk(context.WithoutCancel(ctx), b.ID, state, note, domain.System); err != nil {
			s.Log.Error("cannot record the end of a bulk operation", "bulk", b.ID, "err", err)
		}
	})
}
