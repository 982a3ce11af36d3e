package handler_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model/scripted"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

// payer is an engine whose agent `payer` posts to url once, and then answers. failing is the number
// of model failures after the call.
func payer(t *testing.T, url, timeout string, failing int32) (*engine.Engine, domain.Actor) {
	t.Helper()
	set, err := tool.Builtin(tool.Config{HTTP: tool.HTTPConfig{AllowPrivate: []string{"127.0.0.1"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	registry := handler.New(set)
	model := &failingBehind{inner: script(
		scripted.Answer{
			Turn: turnAt(0),
			Calls: []scripted.Call{
				call("http", map[string]any{"url": url, "method": "POST", "body": map[string]any{"amount": 240}, "timeout": timeout}),
			},
		},
		scripted.Answer{Turn: turnAt(1), Text: "paid: ${last}"},
	)}
	model.failing.Store(failing)
	models, err := handler.NewModels(handler.Config{Providers: map[string]llm.Provider{"script": model}, DefaultProvider: "script",
		Agents: []handler.Agent{{ID: "payer", Tools: []string{"http"}}}})
	if err != nil {
		t.Fatal(err)
	}
	registry.SetModels(models)
	e, err := engine.New(
		engine.Config{Store: storetest.Open(t), Registry: registry, Options: engine.Options{StopGrace: 50 * time.Millisecond}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, domain.Actor{Name: "ana", Role: domain.RoleAuthor, Source: "cli"}
}

// failingBehind is a model that fails like an overloaded server when it must answer a tool's
// result.
type failingBehind struct {
	inner   llm.Provider
	failing atomic.Int32
}

func (f *failingBehind) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	behind := r.Messages[len(r.Messages)-1].Role == llm.RoleTool
	if behind && f.failing.Add(-1) >= 0 {
		return llm.Response{}, &walk.Failure{Code: "provider_unavailable", Message: "503", NoEffect: true}
	}
	return f.inner.Complete(ctx, r)
}

func startPlan(t *testing.T, e *engine.Engine, who domain.Actor, plan string) string {
	t.Helper()
	_, version, _, problems, err := e.SavePlan(t.Context(), who, []byte(plan), planner.FormatYAML, "api", "")
	if err != nil {
		t.Fatalf("%v: %v", err, problems)
	}
	run, err := e.Start(t.Context(), who, domain.StartRequest{Hash: version.Hash, Input: domain.RawJSON(`"pay"`)})
	if err != nil {
		t.Fatal(err)
	}
	return run.ID
}

// settled waits until a run has ended or waits for a person.
func settled(t *testing.T, e *engine.Engine, id string) domain.Run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := e.WaitFor(ctx, id, func(r domain.Run) bool {
		return r.Status.Final() || r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson()
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// An agent's POST with a lost answer is in doubt, whatever interrupted it and whatever class the
// step declares. Neither a retry nor a resume sends it again. Only a person can, and the
// notification identifies the call. The timeouts leave a busy machine enough time to send the call
// first.
func TestAnAgentsCallWithoutAnAnswerIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ step, timeout string }{
		"a cut connection":             {"retry: {max_attempts: 3, backoff: [1ms]}", "1m"},
		"the tool's own timeout":       {"retry: {max_attempts: 3, backoff: [1ms]}", "2s"},
		"the step's timeout":           {"timeout: 2s, retry: {max_attempts: 3, backoff: [1ms]}", "1m"},
		"without retry":                {"timeout: 2s", "1m"},
		"a step that says idempotent":  {"effect: idempotent, retry: {max_attempts: 3, backoff: [1ms]}", "2s"},
		"a step that says pure":        {"effect: pure, retry: {max_attempts: 3, backoff: [1ms]}", "2s"},
		"on_error goes on, not resent": {"on_error: continue", "2s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			var key atomic.Value
			hold := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				key.Store(r.Header.Get("Idempotency-Key"))
				if posts.Add(1) > 1 {
					fmt.Fprint(w, "done")
					return
				}
				if strings.Contains(name, "cut") {
					panic(http.ErrAbortHandler)
				}
				select {
				case <-r.Context().Done():
				case <-hold:
				}
			}))
			t.Cleanup(func() { close(hold); server.Close() })
			e, who := payer(t, server.URL+"/pay", c.timeout, 0)
			id := startPlan(t, e, who, "nodes: {ask: {type: agent, agent: payer, "+c.step+"}}")
			run := settled(t, e, id)
			if run.Status != domain.RunWaiting || run.WaitReason != domain.WaitInDoubt || posts.Load() != 1 {
				t.Fatalf("%s %s %+v after %d posts, want one in doubt", run.Status, run.WaitReason, run.Error, posts.Load())
			}
			if !strings.Contains(run.Headline, "http") {
				t.Errorf("the headline does not name the call: %s", run.Headline)
			}
			if _, err := e.Act(t.Context(), who, domain.ActionRequest{Run: id, Action: domain.ActionResume}); domain.CodeOf(
				err,
			) != domain.CodeConflict {
				t.Errorf("a resume: %v", err)
			}
			d, err := e.Detail(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Waits) != 1 || len(d.Waits[0].Calls) != 1 {
				t.Fatalf("waits %+v", d.Waits)
			}
			open := d.Waits[0].Calls[0]
			if open.Tool != "http" || !strings.Contains(string(open.Arguments), server.URL+"/pay") || open.IdempotencyKey != key.Load() ||
				open.Since.IsZero() {
				t.Errorf("the call in doubt is %+v with %s, the key that was sent is %v", open, open.Arguments, key.Load())
			}
			if _, err := e.Resolve(t.Context(), who, domain.ResolveRequest{Run: id, Node: "ask", Action: "retry",
				Reason: "it is not in their books"}); err != nil {
				t.Fatal(err)
			}
			if run = settled(t, e, id); run.Status != domain.RunCompleted || posts.Load() != 2 {
				t.Errorf("after the person's word: %s %s, %d posts", run.Status, run.Headline, posts.Load())
			}
		})
	}
}

// A call that was never sent is not in doubt. The attempt is retried.
func TestACallThatWasNeverSentIsNotInDoubt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // the port no longer accepts connections
	e, who := payer(t, server.URL, "10s", 0)
	run := settled(t, e, startPlan(t, e, who, "nodes: {ask: {type: agent, agent: payer}}"))
	if run.Status != domain.RunCompleted || !strings.Contains(string(run.Output), "Error: ") {
		t.Errorf("%s %s %s", run.Status, run.Headline, run.Output)
	}
}

// A retry after a completed POST continues after it instead of starting over.
func TestARetryDoesNotRepeatACompletedCall(t *testing.T) {
	t.Parallel()
	var posts atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posts.Add(1)
		fmt.Fprint(w, "done")
	}))
	defer server.Close()
	e, who := payer(t, server.URL, "10s", 2)
	run := settled(t, e, startPlan(t, e, who, "nodes: {ask: {type: agent, agent: payer, retry: {max_attempts: 3, backoff: [1ms]}}}"))
	if run.Status != domain.RunCompleted || posts.Load() != 1 {
		t.Errorf("%s %s after %d posts", run.Status, run.Headline, posts.Load())
	}
}

// A resume after a completed POST continues after it, whether the run failed there or was
// cancelled.
func TestAResumeDoesNotRepeatACompletedCall(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"failed", "cancelled"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				posts.Add(1)
				fmt.Fprint(w, "done")
			}))
			defer server.Close()
			failing, plan := int32(1), "nodes: {ask: {type: agent, agent: payer}}"
			if how == "cancelled" { // while it waits for its retry
				plan = "nodes: {ask: {type: agent, agent: payer, retry: {max_attempts: 3, backoff: [1h]}}}"
			}
			e, who := payer(t, server.URL, "10s", failing)
			id := startPlan(t, e, who, plan)
			if how == "cancelled" {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := e.WaitFor(ctx, id, func(r domain.Run) bool { return r.WaitReason == domain.WaitRetry }); err != nil {
					t.Fatal(err)
				}
				if _, err := e.Act(t.Context(), who, domain.ActionRequest{Run: id, Action: domain.ActionCancel}); err != nil {
					t.Fatal(err)
				}
			}
			if run := settled(t, e, id); string(run.Status) != how {
				t.Fatalf("%s %s", run.Status, run.Headline)
			}
			if _, err := e.Act(t.Context(), who, domain.ActionRequest{Run: id, Action: domain.ActionResume}); err != nil {
				t.Fatal(err)
			}
			if run := settled(t, e, id); run.Status != domain.RunCompleted || posts.Load() != 1 {
				t.Errorf("%s %s after %d posts", run.Status, run.Headline, posts.Load())
			}
		})
	}
}
