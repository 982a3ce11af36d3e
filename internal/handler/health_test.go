package handler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// server is a provider that fails on request.
type server struct {
	err   error
	calls int
}

func (s *server) Complete(context.Context, llm.Request) (llm.Response, error) {
	s.calls++
	return llm.Response{Text: "yes"}, s.err
}

func models(t *testing.T, s *server, url string, circuits *circuit.Board) *handler.Models {
	t.Helper()
	m, err := handler.NewModels(handler.Config{Providers: map[string]llm.Provider{"local": s}, DefaultProvider: "local",
		About: map[string]domain.ProviderInfo{"local": {Type: "openai", BaseURL: url}}})
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(nil, circuits)
	return m
}

var unreachable = &walk.Failure{Code: model.CodeUnavailable, NoEffect: true, Message: "connection refused"}

// After repeated failures, kairosd calls a provider less often and reports it (L07). A restart
// preserves the last error and the state.
func TestProviderHealthOverRestarts(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t)
	synctest.Test(t, func(t *testing.T) {
		s := &server{err: unreachable}
		m := models(t, s, "http://one", circuit.NewBoard(nil))
		p, _ := m.Provider("")
		ask := func() error {
			_, err := p.Complete(t.Context(), llm.Request{})
			return err
		}
		since := time.Now()
		for i := range 5 {
			time.Sleep(time.Duration(min(i, 1)) * time.Second)
			if err := ask(); !errors.Is(err, unreachable) {
				t.Fatal(err)
			}
		}
		if i := m.ProviderInfos()[0]; !i.FailingSince.Equal(since) || !i.LastErrorAt.Equal(since.Add(4*time.Second)) ||
			!i.DegradedSince().Equal(since) {
			t.Errorf("it fails since %s, for the first time at %s: %+v", i.FailingSince, since, i)
		}
		f := walk.AsFailure(ask())
		if s.calls != 5 || f.Code != model.CodeCircuitOpen || f.RetryAfter != 30*time.Second || !f.NoEffect || f.Permanent ||
			!strings.Contains(f.Message, "connection refused") {
			t.Fatalf("%d calls, %+v", s.calls, f)
		}
		if i := m.ProviderInfos()[0]; i.Circuit.State != domain.CircuitOpen || !i.Circuit.OpenUntil.Equal(time.Now().Add(30*time.Second)) ||
			i.Circuit.FailuresInRow != 5 ||
			i.Calls != 5 ||
			i.Failures != 5 ||
			i.State != "failing" {
			t.Errorf("%+v", i)
		}
		time.Sleep(30 * time.Second)
		if i := m.ProviderInfos()[0]; i.Circuit.State != domain.CircuitHalfOpen {
			t.Errorf("%+v", i)
		}
		s.err = nil
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		if i := m.ProviderInfos()[0]; i.Circuit.State != domain.CircuitClosed || i.State != "working" || !i.FailingSince.IsZero() ||
			!i.DegradedSince().IsZero() ||
			i.LastError == "" ||
			i.Circuit.FailuresInRow != 0 {
			t.Errorf("%+v", i)
		}
		// A caller that cancels a call shows nothing about the provider, whatever the cause of the
		// cancellation.
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		cancel(stopped)
		s.err = stopped
		if _, err := p.Complete(ctx, llm.Request{}); err != stopped {
			t.Error(err)
		}
		if i := m.ProviderInfos()[0]; i.State != "working" || i.Failures != 5 {
			t.Errorf("%+v", i)
		}
	})

	// Uses real time, because the database has its own goroutines.
	s := &server{err: unreachable}
	start := func(url string) (*handler.Models, func()) {
		t.Helper()
		circuits := circuit.NewBoard(nil)
		m := models(t, s, url, circuits)
		closeCircuits, err := circuits.Keep(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		closeHealth, err := m.Keep(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m, func() { closeHealth(); closeCircuits() }
	}
	before, stop := start("http://one")
	p, _ := before.Provider("")
	for range 6 {
		if _, err := p.Complete(t.Context(), llm.Request{}); err == nil {
			t.Fatal("it works")
		}
	}
	stop()
	want := before.ProviderInfos()[0]

	after, stop := start("http://one")
	if i := after.ProviderInfos()[0]; i.State != "failing" || i.LastError != want.LastError || !i.LastErrorAt.Equal(want.LastErrorAt) ||
		!i.FailingSince.Equal(want.FailingSince) ||
		i.Circuit.State != domain.CircuitHalfOpen ||
		!i.Circuit.Since.Equal(want.Circuit.Since) ||
		i.Calls != 0 {
		t.Errorf("after a restart: %+v, before %+v", i, want)
	}
	stop()
	other, stop := start("http://two")
	t.Cleanup(stop)
	if i := other.ProviderInfos()[0]; i.Circuit.State != domain.CircuitClosed || i.LastError == "" {
		t.Errorf("at another address: %+v", i)
	}
}

// Health is stored while the daemon runs and not only at shutdown, because the daemon may be
// killed.
func TestProviderHealthIsKeptAtOnce(t *testing.T) {
	t.Parallel()
	kept := make(recorder, 10)
	m := models(t, &server{err: unreachable}, "", nil)
	closeKeeper, err := m.Keep(t.Context(), kept, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeKeeper()
	p, _ := m.Provider("local")
	if _, err := p.Complete(t.Context(), llm.Request{}); err == nil {
		t.Fatal("it works")
	}
	if text := <-kept; !strings.Contains(text, "connection refused") || !strings.Contains(text, `"failing"`) {
		t.Error(text)
	}
}

// recorder is a settings store that sends each stored value to a channel.
type recorder chan string

func (recorder) Setting(context.Context, string) (string, error) { return "", nil }
func (r recorder) SetSetting(_ context.Context, _, value string) error {
	r <- value
	return nil
}

// Plans may name only models that the configuration names (L18), at validation and
// at run time.
func TestModelsAllowedInPlans(t *testing.T) {
	t.Parallel()
	m, err := handler.NewModels(
		handler.Config{Providers: map[string]llm.Provider{"local": &server{}, "free": &server{}}, DefaultProvider: "local",
			Models: map[string][]string{"local": {"small"}},
			Agents: []handler.Agent{{ID: "ana", Model: "large", Selectable: true}, {ID: "bea", Provider: "free", Selectable: true}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	r := handler.New(nil)
	r.SetModels(m)
	for plan, ok := range map[string]bool{
		"{type: llm, metadata: {model: small}}":            true,
		"{type: llm, metadata: {model: large}}":            true,
		"{type: llm, agent: bea, metadata: {model: huge}}": true,
		"{type: llm, metadata: {model: huge}}":             false,
		"{type: llm, agent: ana, metadata: {model: smal}}": false,
	} {
		src := []byte("nodes: {a: " + plan + "}")
		_, problems := planner.Parse(src, planner.WithFormat(planner.FormatYAML), planner.WithCatalog(r.Catalog()))
		if (problems.Err() == nil) != ok {
			t.Errorf("%s: %v", plan, problems)
		}
		doc, _ := planner.Parse(src, planner.WithFormat(planner.FormatYAML))
		program, err := doc.Program(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = run(t, r, &program.Nodes[0], "hello")
		if f := walk.AsFailure(err); (err == nil) != ok || !ok && f.Code != walk.CodePolicy {
			t.Errorf("%s: %v", plan, err)
		}
	}
}

// O13: a new configuration takes over the health of a provider with the same name, including
// results of calls that began before. At another address, its circuit starts again.
func TestProviderHealthCarriesOver(t *testing.T) {
	t.Parallel()
	s := &server{err: unreachable}
	circuits := circuit.NewBoard(nil)
	next := func(url string, before *handler.Models) *handler.Models {
		t.Helper()
		m := models(t, s, url, circuits)
		if before != nil {
			m.Succeed(before)
			m.Succeeded(before)
		}
		return m
	}
	fail := func(m *handler.Models) {
		t.Helper()
		p, _ := m.Provider("")
		for range 5 {
			if _, err := p.Complete(t.Context(), llm.Request{}); err == nil {
				t.Fatal("it works")
			}
		}
	}
	first := next("http://one", nil)
	fail(first)
	want := first.ProviderInfos()[0]
	second := next("http://one", first)
	if i := second.ProviderInfos()[0]; i.State != "failing" || i.Failures != want.Failures || i.LastError != want.LastError ||
		i.Circuit.State != domain.CircuitOpen ||
		i.BaseURL != "http://one" {
		t.Errorf("after: %+v, before %+v", i, want)
	}
	third := next("http://two", second)
	if i := third.ProviderInfos()[0]; i.Circuit.State != domain.CircuitClosed || i.LastError != want.LastError ||
		i.BaseURL != "http://two" {
		t.Errorf("at another address: %+v", i)
	}
	s.err = nil
	p, _ := first.Provider("") // a node that started before the change
	if _, err := p.Complete(t.Context(), llm.Request{}); err != nil {
		t.Fatal(err)
	}
	if i := third.ProviderInfos()[0]; i.State != "working" {
		t.Errorf("a call that began before says nothing: %+v", i)
	}
}
