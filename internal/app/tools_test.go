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
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/metric/activity"
	"github.com/kairosd/kairosd/internal/tool"
)

func TestAToolIsDisabledAndEnabled(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	disable := func(by domain.Actor, key, reason string) error {
		got, err := w.Tools.Disable(t.Context(), app.DisableRequest{Meta: app.Meta{By: by, Key: key}, Name: "http", Reason: reason})
		if err == nil && got.Name != "http" {
			t.Errorf("disabled, and got %+v", got)
		}
		return err
	}
	enable := func(by domain.Actor, key, host string) error {
		got, err := w.Tools.Enable(
			t.Context(),
			app.EnableRequest{Meta: app.Meta{By: by, Key: key}, Name: "http", Host: host, Reason: "they have migrated"},
		)
		if err == nil && got.Name != "http" {
			t.Errorf("enabled, and got %+v", got)
		}
		return err
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
	if err := disable(apptest.Operator, "k3", "another reason"); err != nil || info().Disabled.Reason != "they migrate" {
		t.Errorf("disabled twice: %+v %v", info().Disabled, err)
	}
	openCircuit(w, "a.example")
	openCircuit(w, "b.example")
	if err := enable(apptest.Operator, "", "c.example"); err != nil || len(info().Circuits) != 2 {
		t.Errorf("a host whose circuit is closed: %+v %v", info().Circuits, err)
	}
	if err := enable(apptest.Operator, "", "A.example"); err != nil || info().Disabled == nil || len(info().Circuits) != 1 {
		t.Errorf("one host: %+v %v", info(), err)
	}
	for range 2 {
		if err := enable(apptest.Operator, "k2", ""); err != nil || info().Disabled != nil || len(info().Circuits) != 0 {
			t.Errorf("enabled: %+v %v", info(), err)
		}
	}
	if err := enable(apptest.Operator, "", ""); err != nil || info().Disabled != nil {
		t.Errorf("enabled twice: %+v %v", info().Disabled, err)
	}
	for key, reason := range map[string]string{"k": "they migrate", "k3": "another reason"} { // also a request that changed nothing
		if err := disable(apptest.Operator, key, reason); err != nil || info().Disabled != nil {
			t.Errorf("the key %s again: %+v %v", key, info().Disabled, err)
		}
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
	m := app.Meta{By: apptest.Operator}
	_, err := w.Tools.Enable(t.Context(), app.EnableRequest{Meta: m, Name: "calculator", Host: "a.example"})
	want("a host of a tool that calls none", err, domain.CodeInvalid)
	_, err = w.Providers.Enable(t.Context(), app.EnableRequest{Meta: m, Name: "none", Host: "a.example"})
	want("a host of a provider", err, domain.CodeInvalid)
	_, err = w.Providers.Disable(t.Context(), app.DisableRequest{Meta: m, Name: "none"})
	want("a provider without a reason", err, domain.CodeInvalid)
	_, err = w.Tools.Disable(t.Context(), app.DisableRequest{Meta: m, Name: "none", Reason: "x"})
	want("a tool that does not exist", err, domain.CodeNotFound)
	_, err = w.Providers.Enable(t.Context(), app.EnableRequest{Meta: m, Name: "none"})
	want("a provider that does not exist", err, domain.CodeNotFound)
	_, err = w.Tools.RetryServer(t.Context(), app.ServerRetry{Meta: m, Server: "none"})
	want("a server that does not exist", err, domain.CodeNotFound)
	if n, err := w.Memory.Forget(t.Context(), app.SessionChange{Meta: m, Session: "none"}); n != 0 || err != nil {
		t.Errorf("a session that does not exist forgets %d, %v", n, err)
	}
	if denied := audited(t, w, "access.denied"); len(denied) != 2 {
		t.Errorf("%d refusals are in the audit log, want 2", len(denied))
	}
}

// A retry of a server that may not be run is rejected each time, also with the same key, and is not
// recorded.
func TestARefusedRetryIsNotRecorded(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	box, err := tool.NewBox(
		t.Context(),
		tool.BoxOptions{Pins: w.Store, Servers: map[string]mcp.Server{"files": {Command: []string{"/usr/local/bin/mcp-files"}}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Close)
	w.Config.Tools = func() *tool.Box { return box }
	tools := app.New(w.Config).Tools
	for range 2 {
		_, err := tools.RetryServer(t.Context(), app.ServerRetry{Meta: app.Meta{By: apptest.Operator, Key: "k"}, Server: "files"})
		if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "allow: true") {
			t.Errorf("got %v, want how to allow it", err)
		}
	}
	if list := audited(t, w, "mcp.retry"); len(list) != 0 {
		t.Errorf("the audit log has %+v", list)
	}
}

// openCircuit opens the circuit of a host that the http tool calls.
func openCircuit(w *apptest.World, host string) {
	board := w.Config.Tools().Circuits
	pass, _ := board.Enter(circuit.ID{Subject: activity.Tool + "http", Part: host}, circuit.Settings{Failures: 1, Cooldown: time.Hour})
	board.Leave(pass, circuit.Unwell, errors.New("no answer"))
}

// Only the owner of a session and admins can read its memory.
func TestMemoryBelongsToItsOwner(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	if _, err := w.Memory.Sessions(t.Context(), apptest.Operator, "anna", domain.Page{}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a stranger lists: %v", err)
	}
	if _, err := w.Memory.Forget(t.Context(), app.SessionChange{Meta: app.Meta{By: apptest.Operator}, Owner: "anna",
		Session: "s"}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("a stranger forgets: %v", err)
	}
	admin := domain.Actor{Name: "ada", Role: domain.RoleAdmin, Source: "ui"}
	if _, err := w.Memory.Exchanges(t.Context(), admin, "anna", "s", domain.Page{}); err != nil {
		t.Errorf("an admin looks: %v", err)
	}
	if denied := audited(t, w, "access.denied"); len(denied) != 1 || denied[0].Object != "memory:anna/s" {
		t.Errorf("the audit log has %+v", denied)
	}
}
