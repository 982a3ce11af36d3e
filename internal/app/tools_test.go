package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/circuit"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/metric/activity"
)

func TestAToolIsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	disable := func(by domain.Actor, key, reason string) error {
		return w.Tools.Disable(t.Context(), app.DisableRequest{Meta: app.Meta{By: by, Key: key}, Name: "http", Reason: reason})
	}
	enable := func(by domain.Actor, key, host string) error {
		return w.Tools.Enable(t.Context(), app.EnableRequest{Meta: app.Meta{By: by, Key: key}, Name: "http", Host: host, Reason: "they have migrated"})
	}
	info := func() domain.ToolInfo {
		t.Helper()
		i, err := w.Tools.Get(t.Context(), apptest.Viewer, "http")
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	want := func(what string, err error, code domain.Code) {
		t.Helper()
		if domain.CodeOf(err) != code {
			t.Errorf("%s: %v, want %q", what, err, code)
		}
	}
	want("disabled by a viewer", disable(apptest.Viewer, "", "they migrate"), domain.CodeForbidden)
	want("enabled by a viewer", enable(apptest.Viewer, "", ""), domain.CodeForbidden)
	want("disabled without a reason", disable(apptest.Operator, "", " "), domain.CodeInvalid)
	for range 2 { // the second time is a repetition
		if err := disable(apptest.Operator, "k", "they migrate"); err != nil || info().Disabled == nil || info().Disabled.By != "otto" {
			t.Errorf("disabled: %+v %v", info().Disabled, err)
		}
	}
	want("disabled twice", disable(apptest.Operator, "", "they migrate"), domain.CodeConflict)
	openCircuit(w, "a.example")
	openCircuit(w, "b.example")
	want("a host that is not open", enable(apptest.Operator, "", "c.example"), domain.CodeConflict)
	if err := enable(apptest.Operator, "", "A.example"); err != nil || info().Disabled == nil || len(info().Circuits) != 1 {
		t.Errorf("one host: %+v %v", info(), err)
	}
	for range 2 {
		if err := enable(apptest.Operator, "k2", ""); err != nil || info().Disabled != nil || len(info().Circuits) != 0 {
			t.Errorf("enabled: %+v %v", info(), err)
		}
	}
	want("enabled twice", enable(apptest.Operator, "", ""), domain.CodeConflict)
	if err := disable(apptest.Operator, "k", "they migrate"); err != nil || info().Disabled != nil {
		t.Errorf("the first key again: %+v %v", info().Disabled, err)
	}
	openCircuit(w, "a.example")
	if err := enable(apptest.Operator, "", ""); err != nil || len(info().Circuits) != 0 {
		t.Errorf("only a circuit: %+v %v", info().Circuits, err)
	}
	off, on := audited(t, w, "tool.disable"), audited(t, w, "tool.enable")
	if len(off) != 1 || len(on) != 3 || off[0].Reason != "they migrate" || off[0].Object != "tool:http" || on[0].Object != "tool:http" {
		t.Errorf("the audit log has %+v and %+v", off, on)
	}
	for i, detail := range []string{`"part":"a.example"`, `"part":"b.example"`, `"part":"a.example"`} {
		if i < len(on) && !slices.ContainsFunc(on, func(e domain.AuditEvent) bool { return strings.Contains(string(e.Detail), detail) }) {
			t.Errorf("no record has %s: %+v", detail, on)
		}
	}
	want("a host of a tool that calls none", w.Tools.Enable(t.Context(), app.EnableRequest{Meta: app.Meta{By: apptest.Operator}, Name: "calculator", Host: "a.example"}), domain.CodeInvalid)
	want("a host of a provider", w.Providers.Enable(t.Context(), app.EnableRequest{Meta: app.Meta{By: apptest.Operator}, Name: "none", Host: "a.example"}), domain.CodeInvalid)
	want("a provider without a reason", w.Providers.Disable(t.Context(), app.DisableRequest{Meta: app.Meta{By: apptest.Operator}, Name: "none"}), domain.CodeInvalid)
	for name, err := range map[string]error{
		"a tool":     w.Tools.Disable(t.Context(), app.DisableRequest{Meta: app.Meta{By: apptest.Operator}, Name: "none", Reason: "x"}),
		"a provider": w.Providers.Enable(t.Context(), app.EnableRequest{Meta: app.Meta{By: apptest.Operator}, Name: "none"}),
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

// openCircuit opens the circuit of a host that the http tool calls.
func openCircuit(w *apptest.World, host string) {
	board := w.Config.Tools().Circuits
	pass, _ := board.Enter(circuit.ID{Subject: activity.Tool + "http", Part: host}, circuit.Settings{Failures: 1, Rest: time.Hour})
	board.Leave(pass, circuit.Unwell, errors.New("no answer"))
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
