package handler_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/model/scripted"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
)

// counting counts the requests to a model. If hang is set, the second request of the accountant
// never returns.
type counting struct {
	llm.Provider
	hang    bool
	hanging chan struct{}

	mu    sync.Mutex
	calls int
}

func (c *counting) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	if last := r.Messages[len(r.Messages)-1]; c.hang && last.Role == llm.RoleTool && strings.Contains(r.Messages[0].Text, "sums") {
		close(c.hanging)
		<-ctx.Done()
		return llm.Response{}, context.Cause(ctx)
	}
	return c.Provider.Complete(ctx, r)
}

// A run that is interrupted during a handoff continues in it. The caller's turn, the handoff, and
// the completed work of the other agent are not repeated.
func TestAHandoffContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	script := script(append([]scripted.Answer{
		{System: "you are front", Turn: turnAt(0), Calls: []scripted.Call{passOn("sums", "capability_match", true)}},
		{System: "you are front", Turn: turnAt(1), Text: "Sums says: ${last}"}}, computing...)...)
	s := storetest.Open(t)
	first := &counting{Provider: script, hang: true, hanging: make(chan struct{})}
	e := openEngine(t, s, first, counter...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	author := domain.Actor{Name: "ana", Role: domain.RoleAuthor, Source: "cli"}
	_, version, _, _, err := e.SavePlan(ctx, author, []byte("nodes: {ask: {type: agent, agent: front}}"), planner.FormatYAML, "api", "")
	if err != nil {
		t.Fatal(err)
	}
	run, err := e.Start(ctx, author, domain.StartRequest{Hash: version.Hash, Input: domain.RawJSON(`"hello"`)})
	if err != nil {
		t.Fatal(err)
	}
	<-first.hanging
	if err := e.Stop(ctx); err != nil {
		t.Fatal(err)
	}

	second := &counting{Provider: script}
	e = openEngine(t, s, second, counter...)
	if run, err = e.Wait(ctx, run.ID); err != nil || string(run.Output) != `"Sums says: it is 42"` {
		t.Fatalf("%s %s %+v %v", run.Status, run.Output, run.Error, err)
	}
	if err := e.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	// Before the restart: front's first turn, the accountant's first, and the one that hung. After
	// it: the one that hung, and front's last.
	if first.calls != 3 || second.calls != 2 {
		t.Errorf("%d calls before the interruption, %d after", first.calls, second.calls)
	}
	handoffs, err := s.Handoffs(t.Context(), run.ID)
	if err != nil || len(handoffs) != 2 {
		t.Errorf("%d handoffs: %v", len(handoffs), err)
	}
	messages, err := s.Messages(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, m := range messages {
		if m.From == "front" && m.To == "sums" {
			passed++
		}
	}
	if passed != 1 {
		t.Errorf("front asked %d times: %v", passed, messageLines(messages))
	}
}
