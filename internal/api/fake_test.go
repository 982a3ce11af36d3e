package api_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// fake implements the ports with a real store and with events, tokens, and sessions in memory.
type fake struct {
	mu sync.Mutex
	// realPlans has the operations on plans.
	realPlans
	runs     []domain.Run
	events   []domain.Event
	subs     map[chan domain.Event]bool
	tokens   map[string]domain.Actor
	sessions map[string]domain.User
}

// realPlans are operations on plans with a real store and a real engine.
type realPlans struct{ *apptest.World }

const fakeGeneration = "abc"

// newFake returns a fake with five completed runs. If tb is nil, it has no plans.
func newFake(tb testing.TB) *fake {
	plans := realPlans{&apptest.World{App: &app.App{}}}
	if tb != nil {
		plans.World = apptest.New(tb)
	}
	f := &fake{realPlans: plans, subs: map[chan domain.Event]bool{}, tokens: map[string]domain.Actor{},
		sessions: map[string]domain.User{}}
	for _, r := range domain.Roles {
		f.tokens[string(r)] = domain.Actor{Name: "token " + string(r), Role: r, Source: "api"}
	}
	f.tokens["nobody"] = domain.Actor{Name: "token nobody", Source: "api"}
	f.tokens["reader"] = domain.Actor{Name: "token reader", Role: domain.RoleAdmin, Source: "api", Scopes: "runs:read plans:read"}
	f.sessions["marta-session"] = domain.User{Name: "marta", Role: domain.RoleAdmin}
	if tb != nil {
		v := f.Engine.Save(
			"{id: p, nodes: {a: {type: set, input: 12345678901234567890.10}, b: {type: set, input: {}}, c: {type: set, " +
				"input: {of: \"${output.a}\"}}}, edges: [{from: a, to: b}, {from: b, to: c}]}",
		)
		for range 5 {
			f.runs = append(f.runs, f.Engine.Settle(f.Engine.Begin(v, "").ID))
		}
	}
	return f
}

// asking starts a run of a plan with an approval, and waits until the approval is pending.
func (f *fake) asking(t *testing.T) (domain.Run, domain.Approval) {
	t.Helper()
	run := f.Engine.Run(
		`{id: asks, nodes: {ask: {type: approval, input: {message: "go on?", answers: [{id: approve, label: Pay, kind: `+
			`approve}, {id: reject, label: Reject, kind: reject}]}}}}`,
		"",
	)
	run = f.Engine.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	list, err := f.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v %v", list.Items, err)
	}
	return run, list.Items[0]
}

func (f *fake) AuditEvent(_ context.Context, seq int64) (domain.AuditEvent, error) {
	return domain.AuditEvent{Seq: seq}, nil
}

func (f *fake) EventsAfter(_ context.Context, after int64, _ string, limit int) ([]domain.AuditEvent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []domain.AuditEvent
	for _, e := range f.events {
		if e.Seq > after && len(out) < limit {
			out = append(out, domain.AuditEvent{Seq: e.Seq})
		}
	}
	return out, nil
}

func (f *fake) LastEvent(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.events)), nil
}

// emit stores an event and delivers it. A listener with a full buffer gets a reset.
func (f *fake) emit(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq := int64(len(f.events) + 1)
	e := domain.Event{ID: fmt.Sprintf("%s-%d", fakeGeneration, seq), Seq: seq, Type: kind, At: time.Unix(seq, 0).UTC()}
	f.events = append(f.events, e)
	for c := range f.subs {
		if len(c) < cap(c)-1 {
			c <- e
			continue
		}
		c <- domain.Event{Type: "reset", At: e.At}
		close(c)
		delete(f.subs, c)
	}
}

func (f *fake) listeners() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

func (f *fake) Subscribe(ctx context.Context, after int64, _ string) (<-chan domain.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	missed := f.events[min(int(max(after, 0)), len(f.events)):]
	c := make(chan domain.Event, 64+len(missed))
	for _, e := range missed {
		c <- e
	}
	f.subs[c] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.subs[c] {
			delete(f.subs, c)
			close(c)
		}
	})
	return c, nil
}

func (f *fake) Events(_ context.Context, after int64, _ string, limit int) ([]domain.Event, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []domain.Event
	for _, e := range f.events {
		if e.Seq > after && len(out) < limit {
			out, after = append(out, e), e.Seq
		}
	}
	return out, after, nil
}

func (f *fake) Generation() string { return fakeGeneration }

func (f *fake) Token(_ context.Context, token string) (domain.Actor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.tokens[token]
	if !ok {
		return a, domain.Errorf(domain.CodeUnauthorized, "invalid API token")
	}
	return a, nil
}

// Fresh reports that every session is recent.
func (f *fake) Fresh(context.Context, string) (bool, error) { return true, nil }

func (f *fake) MustEnrol(context.Context, domain.User) (bool, error) { return false, nil }

func (f *fake) Session(_ context.Context, secret string) (domain.User, error) {
	u, ok := f.sessions[secret]
	if !ok {
		return u, domain.Errorf(domain.CodeUnauthorized, "authentication required")
	}
	return u, nil
}

// account stores a user with a second factor and a session, and the token of "admin".
func (f *fake) account(t *testing.T) {
	t.Helper()
	now := time.Now()
	storetest.Do(t, f.Store, "test", func(tx *store.Tx) error {
		return errors.Join(
			tx.CreateUser(domain.User{ID: "u1", Name: "marta", Role: domain.RoleAdmin, PasswordHash: "$argon2id$secret", CreatedAt: now}),
			tx.SetSecondFactor("u1", `{"secret":""}`),
			tx.CreateToken(
				domain.Token{
					ID:         "admin",
					Name:       "made",
					SecretHash: "secret-hash",
					Role:       domain.RoleAdmin,
					CreatedBy:  "marta",
					CreatedAt:  now,
					ExpiresAt:  now.Add(1000 * time.Hour),
				},
			),
		)
	})
	if err := f.Store.CreateSession(t.Context(), domain.Session{IDHash: "secret-hash", UserID: "u1", CreatedAt: now, SeenAt: now,
		ExpiresAt: now.Add(time.Hour), Address: "192.0.2.1"}); err != nil {
		t.Fatal(err)
	}
}
