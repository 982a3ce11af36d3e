// Package bulk acts on many runs at once, as one act that is recorded, that can
// be watched and stopped, and that goes on after a restart. An act that went
// wrong for one run is not repeated for four hundred: a canary goes first, and
// the rest stops when runs fail again the way they had failed.
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

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// Store keeps bulk acts and knows the runs.
type Store interface {
	Run(ctx context.Context, id string) (kairos.Run, error)
	Runs(ctx context.Context, f kairos.RunFilter) (kairos.List[kairos.Run], error)
	CreateBulk(ctx context.Context, b kairos.Bulk, items []kairos.BulkItem) error
	Bulk(ctx context.Context, id string) (kairos.Bulk, error)
	Bulks(ctx context.Context, limit int) ([]kairos.Bulk, error)
	BulksUnderWay(ctx context.Context) ([]kairos.Bulk, error)
	BulkItems(ctx context.Context, id string, after int64, limit int) ([]kairos.BulkItem, error)
	SettleBulkItem(ctx context.Context, id string, it kairos.BulkItem) error
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (kairos.PlanFlow, error)
	AckRun(ctx context.Context, actor kairos.Actor, run, note string) error
	LabelRun(ctx context.Context, actor kairos.Actor, run string, labels map[string]string, reason string) error
	MoveBulk(ctx context.Context, id string, state kairos.BulkState, note string, actor kairos.Actor) (bool, error)
}

// Engine acts on one run.
type Engine interface {
	Preview(ctx context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Preview, error)
	Act(ctx context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Run, error)
	// Wait returns when the run is final or waits for a person.
	Wait(ctx context.Context, run string) (kairos.Run, error)
	// Program is a version of a plan, compiled.
	Program(ctx context.Context, hash string) (*planner.Program, error)
}

// Config is what bulk acts need. Store and Engine are required.
type Config struct {
	Store  Store
	Engine Engine
	Log    *slog.Logger
	// CanaryWait is how long the rest waits for the canary's end: one that is still
	// at work by then has got past what had failed. Default 10 minutes.
	CanaryWait time.Duration
	// SameFailures is how many runs in a row that fail as before stop a bulk act;
	// default 3.
	SameFailures int
	Now          func() time.Time
	// Providers says how the providers are, for acts that wait for one; nil: there
	// are none. ProviderWait is how often it is asked; default 5 s.
	Providers    func() []kairos.ProviderInfo
	ProviderWait time.Duration
	// Tools says how the tools and their circuits are, for acts that wait for one;
	// nil: there are none. It is asked as often.
	Tools func(ctx context.Context) ([]kairos.ToolInfo, error)
	// Host is whom a call goes to of a tool that has a circuit for each host; empty:
	// the arguments do not say. nil: nobody knows.
	Host func(tool string, args any) string
}

// Service carries bulk acts out.
type Service struct {
	Config
	base context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	running map[string]context.CancelFunc
	closed  bool
}

// errStopped ends a bulk act that somebody stopped.
var errStopped = errors.New("stopped")

// New makes the service; Open continues what an earlier process left.
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

// Open goes on with all bulk acts that are not over.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.Store.BulksUnderWay(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		s.launch(b)
	}
	return nil
}

// Close leaves every bulk act where it is, for the next Open.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.work.Wait()
}

// actions are the verbs that can be done in bulk, with the states of runs that
// they are possible in.
var actions = map[kairos.Action][]kairos.RunStatus{
	kairos.ActionResume:   {kairos.RunFailed, kairos.RunCancelled},
	kairos.ActionCancel:   {kairos.RunQueued, kairos.RunRunning, kairos.RunWaiting},
	kairos.ActionRerun:    {kairos.RunFailed, kairos.RunCancelled, kairos.RunCompleted},
	kairos.ActionDelete:   {kairos.RunFailed, kairos.RunCancelled, kairos.RunCompleted},
	kairos.ActionPause:    {kairos.RunQueued, kairos.RunRunning, kairos.RunWaiting},
	kairos.ActionContinue: {kairos.RunWaiting},
	kairos.ActionRetryNow: {kairos.RunWaiting},
	kairos.ActionRelease:  {kairos.RunWaiting},
	kairos.ActionStartNow: {kairos.RunQueued},
	kairos.ActionAck:      {kairos.RunFailed},
	kairos.ActionLabel:    kairos.RunStatuses,
}

// Actions are the verbs that can be done in bulk.
func Actions() []kairos.Action {
	return []kairos.Action{kairos.ActionResume, kairos.ActionRerun, kairos.ActionCancel, kairos.ActionPause, kairos.ActionContinue, kairos.ActionRetryNow, kairos.ActionRelease, kairos.ActionStartNow, kairos.ActionDelete,
		kairos.ActionAck, kairos.ActionLabel}
}

// possible says why an act is not possible on a run; empty: it is.
func possible(a kairos.Action, r kairos.Run) string {
	if !slices.Contains(actions[a], r.Status) {
		return "the run is " + string(r.Status)
	}
	switch {
	case a == kairos.ActionContinue && !r.Paused, a == kairos.ActionRetryNow && r.WaitReason != kairos.WaitRetry,
		a == kairos.ActionRelease && r.WaitReason != kairos.WaitHeld && r.WaitReason != kairos.WaitQuarantined:
		return "the run waits for " + string(r.WaitReason)
	case a == kairos.ActionStartNow && (r.StartAt.IsZero() || !r.StartedAt.IsZero()):
		return "the run waits for no time to start at"
	case a == kairos.ActionPause && r.Paused:
		return "the run is paused already"
	case !r.PurgedAt.IsZero() && a != kairos.ActionDelete && a != kairos.ActionAck && a != kairos.ActionLabel:
		return "retention removed its journal"
	}
	return ""
}

// selected lists the runs that a request means, oldest first: what has waited
// longest goes first.
func (s *Service) selected(ctx context.Context, r kairos.BulkRequest) (runs []kairos.Run, more bool, err error) {
	if _, ok := actions[r.Action]; !ok {
		return nil, false, kairos.Errorf(kairos.CodeInvalid, "%q cannot be done to many runs at once", r.Action)
	}
	if r.Query == "" && len(r.Runs) == 0 {
		return nil, false, kairos.Errorf(kairos.CodeInvalid, "no runs are chosen").Suggest("give a filter, like status:failed plan:invoice since:24h, or choose runs")
	}
	if len(r.Runs) > kairos.BulkMax || r.Rate < 0 || r.Rate > 60_000 {
		return nil, false, kairos.Errorf(kairos.CodeInvalid, "a bulk act takes at most %d runs, and a rate of at most 60000 per minute", kairos.BulkMax)
	}
	if r.Provider != "" && !slices.ContainsFunc(s.providers(), func(p kairos.ProviderInfo) bool { return p.Name == r.Provider }) {
		return nil, false, kairos.Errorf(kairos.CodeInvalid, "there is no provider %q to wait for", r.Provider)
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
		if len(runs) >= kairos.BulkMax {
			runs, more = runs[:kairos.BulkMax], true
			break
		}
		f.Page.After = list.Next
	}
	slices.Reverse(runs)
	return runs, more, nil
}

// Preview says what a request would do now, and to how many runs.
func (s *Service) Preview(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.BulkPreview, error) {
	p, _, err := s.preview(ctx, actor, r)
	return p, err
}

func (s *Service) preview(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.BulkPreview, []kairos.Run, error) {
	runs, more, err := s.selected(ctx, r)
	if err != nil {
		return kairos.BulkPreview{}, nil, err
	}
	p := kairos.BulkPreview{Action: r.Action, Matching: len(runs), More: more, At: s.Now().UTC(), Refused: map[string]int{}}
	var eligible []kairos.Run
	sum := sha256.New()
	fmt.Fprintln(sum, r.Action)
	for _, run := range runs {
		if why := possible(r.Action, run); why != "" {
			p.Refused[why]++
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
		case kairos.ActionResume, kairos.ActionRerun, kairos.ActionCancel:
			one, err := s.Engine.Preview(ctx, actor, kairos.VerbRequest{Run: p.First, Action: r.Action})
			if err != nil {
				return p, nil, err
			}
			if r.Action != kairos.ActionCancel && one.Allowed {
				flow, err := s.Store.PlanFlow(ctx, eligible[0].PlanKey, 0, s.Now().Add(-kairos.ExpectedSince))
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

// Start begins a bulk act and returns once it is durable.
func (s *Service) Start(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.Bulk, error) {
	if !actor.Role.Includes(kairos.RoleOperator) {
		return kairos.Bulk{}, kairos.Errorf(kairos.CodeForbidden, "this needs the role %s", kairos.RoleOperator)
	}
	if err := labelled(r); err != nil {
		return kairos.Bulk{}, err
	}
	p, eligible, err := s.preview(ctx, actor, r)
	if err != nil {
		return kairos.Bulk{}, err
	}
	if r.Digest != "" && r.Digest != p.Digest {
		return kairos.Bulk{}, kairos.Errorf(kairos.CodeStale, "the runs that match have changed since the preview").Suggest("look at the preview again")
	}
	if len(eligible) == 0 {
		return kairos.Bulk{}, kairos.Errorf(kairos.CodeConflict, "none of the %d matching runs can be acted on", p.Matching)
	}
	b := kairos.Bulk{ID: kairos.NewID(), Action: r.Action, Query: r.Query, Reason: r.Reason, Actor: actor.Name, Role: actor.Role, Surface: actor.Surface,
		Canary: r.Canary && len(eligible) > 1, Rate: r.Rate, Labels: r.Labels, NotBefore: r.NotBefore, Provider: r.Provider, Tool: r.Tool, State: kairos.BulkRunning, Total: int64(len(eligible)), CreatedAt: s.Now().UTC()}
	if b.Canary {
		b.State = kairos.BulkCanary
	}
	items := make([]kairos.BulkItem, len(eligible))
	for i, run := range eligible {
		items[i] = kairos.BulkItem{Position: int64(i) + 1, Run: run.ID, Rev: run.LastSeq, State: "pending"}
		if run.Error != nil {
			items[i].Node, items[i].Code = run.Error.Node, run.Error.Code
		}
	}
	if err := s.Store.CreateBulk(kairos.WithRequest(ctx, actor.Request), b, items); err != nil {
		return kairos.Bulk{}, err
	}
	s.launch(b)
	return b, nil
}

// maxLabels is how many labels one act gives.
const maxLabels = 20

// labelled checks that labels go with the act that gives them.
func labelled(r kairos.BulkRequest) error {
	if r.Action != kairos.ActionLabel {
		if len(r.Labels) > 0 {
			return kairos.Errorf(kairos.CodeInvalid, "labels go with the action label")
		}
		return nil
	}
	if len(r.Labels) == 0 || len(r.Labels) > maxLabels {
		return kairos.Errorf(kairos.CodeInvalid, "one act gives 1 to %d labels", maxLabels).Suggest("write them as key=value, with blanks between")
	}
	for k, v := range r.Labels {
		if k == "" || v == "" || len(k) > 63 || len(v) > 255 {
			return kairos.Errorf(kairos.CodeInvalid, "%q=%q is no label", k, v).Suggest("a key has 1 to 63 characters, a value 1 to 255")
		}
	}
	return nil
}

func (s *Service) providers() []kairos.ProviderInfo {
	if s.Providers == nil {
		return nil
	}
	return s.Providers()
}

// Stop ends a bulk act; runs that were not reached are left as they are.
func (s *Service) Stop(ctx context.Context, actor kairos.Actor, id, reason string) (kairos.Bulk, error) {
	if !actor.Role.Includes(kairos.RoleOperator) {
		return kairos.Bulk{}, kairos.Errorf(kairos.CodeForbidden, "this needs the role %s", kairos.RoleOperator)
	}
	note := "stopped by " + actor.Name
	if reason != "" {
		note += ": " + reason
	}
	if _, err := s.Store.Bulk(ctx, id); err != nil {
		return kairos.Bulk{}, err
	}
	moved, err := s.Store.MoveBulk(ctx, id, kairos.BulkStopped, note, actor)
	if err != nil {
		return kairos.Bulk{}, err
	}
	if !moved {
		return kairos.Bulk{}, kairos.Errorf(kairos.CodeConflict, "this bulk act is over already")
	}
	s.mu.Lock()
	cancel := s.running[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return s.Store.Bulk(ctx, id)
}

// Bulk, Bulks and Items read.

func (s *Service) Bulk(ctx context.Context, id string) (kairos.Bulk, error) {
	return s.Store.Bulk(ctx, id)
}

// Bulks lists the newest.
func (s *Service) Bulks(ctx context.Context, limit int) ([]kairos.Bulk, error) {
	return s.Store.Bulks(ctx, limit)
}

// Items lists the runs of a bulk act after a position.
func (s *Service) Items(ctx context.Context, id string, after int64, limit int) ([]kairos.BulkItem, error) {
	return s.Store.BulkItems(ctx, id, after, limit)
}

// launch carries a bulk act out in the background.
func (s *Service) launch(b kairos.Bulk) {
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
		w := &worker{s: s, b: b, actor: kairos.Actor{Name: b.Actor, Role: b.Role, Surface: b.Surface, Request: kairos.Request{ID: b.ID}}}
		state, note, err := w.run(ctx)
		if ctx.Err() != nil {
			return // stopped by somebody, or left for the next process
		}
		if err != nil {
			state, note = kairos.BulkStopped, "it could not go on: "+err.Error()
			s.Log.Error("bulk act ended", "bulk", b.ID, "err", err)
		}
		if _, err := s.Store.MoveBulk(context.WithoutCancel(ctx), b.ID, state, note, kairos.System); err != nil {
			s.Log.Error("the end of a bulk act was not recorded", "bulk", b.ID, "err", err)
		}
	})
}
