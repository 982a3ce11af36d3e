package app_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
)

func TestStopAndCircuitOfATool(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	stop := func(by domain.Actor, key string, on bool) error {
		return w.Tools.Stop(t.Context(), app.StopCalls{Meta: app.Meta{By: by, Key: key}, Name: "http", On: on, Reason: "they migrate"})
	}
	open := func(by domain.Actor, key string, on bool) error {
		return w.Tools.ChangeCircuit(t.Context(), app.CircuitRequest{Meta: app.Meta{By: by, Key: key}, Name: "http",
			CircuitChange: domain.CircuitChange{Part: "bank.example", Open: on, For: time.Hour, Reason: "they migrate"}})
	}
	for name, c := range map[string]struct {
		change      func(by domain.Actor, key string, on bool) error
		begin, ends string
		is          func(domain.ToolInfo) bool
	}{
		"calls":   {stop, "calls.stop", "calls.start", func(i domain.ToolInfo) bool { return i.Stop != nil && i.Stop.By == "otto" }},
		"circuit": {open, "circuit.open", "circuit.close", func(i domain.ToolInfo) bool { return len(i.Circuits) == 1 && i.Circuits[0].By == "otto" }},
	} {
		info := func() domain.ToolInfo {
			i, err := w.Tools.Get(t.Context(), apptest.Viewer, "http")
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		if err := c.change(apptest.Viewer, "", true); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%s, by a viewer: %v", name, err)
		}
		for range 2 { // the second time is a repetition
			if err := c.change(apptest.Operator, "k", true); err != nil || !c.is(info()) {
				t.Errorf("%s: %+v %v", name, info(), err)
			}
		}
		if err := c.change(apptest.Operator, "k2", false); err != nil || c.is(info()) {
			t.Errorf("%s, taken back: %+v %v", name, info(), err)
		}
		if err := c.change(apptest.Operator, "", false); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("%s, taken back twice: %v", name, err)
		}
		if err := c.change(apptest.Operator, "k", true); err != nil || c.is(info()) {
			t.Errorf("%s, the first key again: %+v %v", name, info(), err)
		}
		if a, b := audited(t, w, c.begin), audited(t, w, c.ends); len(a) != 1 || len(b) != 1 || a[0].Reason != "they migrate" || a[0].Object != "tool:http" {
			t.Errorf("%s: the audit log has %+v and %+v", name, a, b)
		}
	}
	for name, err := range map[string]error{
		"a tool":     w.Tools.Stop(t.Context(), app.StopCalls{Meta: app.Meta{By: apptest.Operator}, Name: "none", On: true}),
		"a provider": w.Providers.Stop(t.Context(), app.StopCalls{Meta: app.Meta{By: apptest.Operator}, Name: "none", On: true}),
		"a server":   w.Tools.RetryServer(t.Context(), app.ServerRetry{Meta: app.Meta{By: apptest.Operator}, Server: "none"}),
		"a session": func() error {
			_, err := w.Memory.Forget(t.Context(), app.SessionChange{Meta: app.Meta{By: apptest.Operator}, Session: "none"})
			return err
		}(),
	} {
		if domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%s that is not there: %v", name, err)
		}
	}
	if denied := audited(t, w, "access.denied"); len(denied) != 2 {
		t.Errorf("%d refusals are in the audit log, want 2", len(denied))
	}
}

// What sessions remember is for their owner, and for admins.
func TestMemoryIsItsOwners(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	if _, err := w.Memory.Sessions(t.Context(), apptest.Operator, "anna", domain.Page{}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a stranger lists: %v", err)
	}
	if _, err := w.Memory.Forget(t.Context(), app.SessionChange{Meta: app.Meta{By: apptest.Operator}, Owner: "anna", Session: "s"}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a stranger forgets: %v", err)
	}
	admin := domain.Actor{Name: "ada", Role: domain.RoleAdmin, Surface: "ui"}
	if _, err := w.Memory.Exchanges(t.Context(), admin, "anna", "s", domain.Page{}); err != nil {
		t.Errorf("an admin looks: %v", err)
	}
	if denied := audited(t, w, "access.denied"); len(denied) != 1 || denied[0].Object != "memory:anna/s" {
		t.Errorf("the audit log has %+v", denied)
	}
}
