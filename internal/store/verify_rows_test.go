package store_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// Edits of approvals, memory, counters, and states of runs in the file are detected. Before an
// edit, nothing is reported.
func TestTheDoctorFindsTargetedEdits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "kairos.db")
	s := storetest.OpenAt(t, path)
	began := make(chan struct{}, 1)
	registry := enginetest.NewRegistry().
		Handle("call", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
			began <- struct{}{}
			return engine.Result{Output: c.Input}, nil
		})
	e := enginetest.OpenOn(t, s, registry, engine.Options{})
	decided := e.Run(`{id: decided, nodes: {a: {type: approval, input: {message: "yes?"}}}}`, "").ID
	e.Until(decided, domain.RunWaiting, domain.WaitApproval)
	approve(t, e, decided)
	e.Settle(decided)
	e.Save(`{id: asking, nodes: {b: {type: call}, a: {type: approval, needs: [b], input: {message: "yes?"}}}}`)
	parent := e.Run(`{id: parent, nodes: {a: {type: plan, plan: asking}}}`, "").ID
	<-began // the child exists
	e.Until(parent, domain.RunWaiting, domain.WaitChild)
	d, err := e.Detail(ctx, parent)
	if err != nil {
		t.Fatal(err)
	}
	e.Until(d.Waits[0].Child, domain.RunWaiting, domain.WaitApproval)
	v := e.Save(`{id: talk, nodes: {a: {type: set, input: "hello"}}}`)
	agent, err := e.Start(ctx, enginetest.Operator, domain.StartRequest{Plan: v.PlanKey, Input: domain.RawJSON(`"hi"`), Session: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	e.Settle(agent.ID)
	e.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ check, edit string }{
		"nothing":                          {"", ""},
		"a rejection that was an approval": {"approvals", "UPDATE approvals SET status = 'rejected' WHERE status = 'approved'"},
		"an open one that is approved": {"approvals", "UPDATE approvals SET status = 'approved', decided_at = 1, " +
			"decided_by = 'eve' WHERE status = 'pending'"},
		"another person decided": {"approvals", "UPDATE approvals SET decided_by = 'eve' WHERE status = 'approved'"},
		"another step":           {"approvals", "UPDATE approvals SET node = 'pay' WHERE status = 'approved'"},
		"one that nobody opened": {"approvals", "UPDATE approvals SET public_id = 'eve' WHERE status = 'pending'"},
		"an open one of a finished run": {"run states",
			"UPDATE runs SET status = 'cancelled', wait_reason = '', ended_at = 1 WHERE parent_run <> ''"},
		"a child of a finished run": {"run states",
			"UPDATE runs SET status = 'failed', wait_reason = '', ended_at = 1 WHERE public_id = '" + parent + "'"},
		"a paused finished run":    {"run states", "UPDATE runs SET paused = 1, ended_at = 1 WHERE status = 'completed'"},
		"memory of another person": {"memory", "DROP TRIGGER memory_is_immutable; UPDATE memory SET owner = 'eve'"},
		"memory of another input":  {"memory", "DROP TRIGGER memory_is_immutable; UPDATE memory SET input = 'bye'"},
		"a counter":                {"counters", "UPDATE run_counts SET n = n + 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(t.TempDir(), "kairos.db")
			if err := putFiles(filepath.Dir(copied), read(t, path, "", ".key", ".anchor")); err != nil {
				t.Fatal(err)
			}
			if c.edit != "" {
				storetest.Alter(t, copied, c.edit)
			}
			s, err := store.Open(ctx, copied, store.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			checks, err := recovery.Verify(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, check := range checks {
				found = found || check.Name == c.check && len(check.Problems) > 0
				if c.edit == "" && len(check.Problems) > 0 {
					t.Errorf("%s: %q", check.Name, check.Problems)
				}
			}
			if c.edit != "" && !found {
				t.Errorf("the check of %s finds nothing", c.check)
			}
		})
	}
}

// Wrong counters are counted again.
func TestCountersAreRepaired(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s := storetest.OpenAt(t, path)
	v := storetest.Plan(t, s, twoNodes)
	failed(t, s, v, "no answer", nil)
	storetest.Run(t, s, v, "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Alter(t, path, "UPDATE run_counts SET n = n + 7")
	s = storetest.OpenAt(t, path)
	for _, want := range []bool{true, false} {
		if changed, err := s.RecountRuns(t.Context()); err != nil || changed != want {
			t.Errorf("changed: %v, want %v, %v", changed, want, err)
		}
	}
	sound(t, s)
}

// Doctor prints values of damaged rows as text that is safe for a terminal.
func TestTheDoctorPrintsText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s := storetest.OpenAt(t, path)
	storetest.Run(t, s, storetest.Plan(t, s, twoNodes), "")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Alter(t, path, `UPDATE runs SET public_id = CAST(x'ff1b5b316d' AS TEXT), last_seq = last_seq + 1`)
	s = storetest.OpenAt(t, path)
	checks, err := recovery.Verify(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range checks {
		for _, p := range c.Problems {
			found = true
			if !utf8.ValidString(p) || strings.ContainsRune(p, '\x1b') {
				t.Errorf("%s: %q", c.Name, p)
			}
		}
	}
	if !found {
		t.Error("nothing is found")
	}
}
