package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
)

// A52: a program acts only on what a person confirmed, once, and with a preview that is still true.
func TestAProgramActsOnWhatAPersonConfirmed(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	w.Engine.Save("id: refund\nexpose: [mcp]\nnodes: {a: {type: put}}")
	run, err := w.PlanTools.Call(t.Context(), app.ToolCall{Meta: app.Meta{By: client("mcp")}, Tool: "refund"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.PlanTools.Await(t.Context(), client("mcp"), run.ID, nil); err != nil {
		t.Fatal(err)
	}
	p, err := w.Runs.Preview(t.Context(), apptest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	request := func(by domain.Actor, action domain.Action, digest string) app.ActRequest {
		return app.ActRequest{Meta: app.Meta{By: by}, ActionRequest: domain.ActionRequest{Run: run.ID, Action: action, Digest: digest}}
	}
	act := func(by domain.Actor, digest string) (domain.Run, domain.Code) {
		again, err := w.Runs.ActConfirmed(t.Context(), request(by, domain.ActionRerun, digest))
		return again, domain.CodeOf(err)
	}
	if _, code := act(client("mcp"), p.Digest); code != domain.CodeForbidden {
		t.Errorf("an action without a confirmation: %q", code)
	}
	asAPI := client("")
	asAPI.Source = "api"
	for name, c := range map[string]struct {
		req  app.ActRequest
		want domain.Code
	}{
		"the program":     {request(client(""), domain.ActionRerun, p.Digest), domain.CodeForbidden},
		"its token":       {request(asAPI, domain.ActionRerun, p.Digest), domain.CodeForbidden},
		"a viewer":        {request(apptest.Viewer, domain.ActionRerun, p.Digest), domain.CodeForbidden},
		"another digest":  {request(apptest.Operator, domain.ActionRerun, "x"), domain.CodeStale},
		"no digest":       {request(apptest.Operator, domain.ActionRerun, ""), domain.CodeInvalid},
		"another action":  {request(apptest.Operator, domain.ActionDelete, p.Digest), domain.CodeInvalid},
		"a useless one":   {request(apptest.Operator, domain.ActionCancel, p.Digest), domain.CodeConflict},
		"a person agrees": {request(apptest.Operator, domain.ActionRerun, p.Digest), ""},
	} {
		if _, err := w.Runs.Confirm(t.Context(), c.req); domain.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for scopes, want := range map[string]domain.Code{"mcp:refund": domain.CodeForbidden, "runs:write": domain.CodeForbidden} {
		if _, code := act(client(scopes), p.Digest); code != want {
			t.Errorf("with the scopes %q: got %q, want %q", scopes, code, want)
		}
	}
	if _, code := act(client("mcp"), "x"); code != domain.CodeForbidden {
		t.Errorf("with another digest: %q", code)
	}
	first, code := act(client("mcp"), p.Digest)
	if code != "" || first.RerunOf != run.ID {
		t.Fatalf("got a rerun of %q, %q", first.RerunOf, code)
	}
	if second, code := act(client("mcp"), p.Digest); code != "" || second.ID != first.ID {
		t.Errorf("a confirmation is used twice: %s, %s, %q", first.ID, second.ID, code)
	}
	other := client("mcp")
	other.Name = "token other"
	if second, code := act(other, p.Digest); code != "" || second.ID != first.ID {
		t.Errorf("another token uses the confirmation again: %s, %s, %q", first.ID, second.ID, code)
	}
	if records := audited(t, w, "run.confirm"); len(records) != 1 || records[0].Actor != "otto" {
		t.Errorf("the audit log has %+v", records)
	}
}

// A program that acts without a confirmation asks for one. A52: it cannot fill the inbox, and a refusal or a changed
// preview ends its request.
func TestAProgramAsksForAConfirmation(t *testing.T) {
	t.Parallel()
	w := tooled(t)
	w.Engine.Save("id: refund\nexpose: [mcp]\nnodes: {a: {type: put}}")
	called := func() (string, string) {
		t.Helper()
		run, err := w.PlanTools.Call(t.Context(), app.ToolCall{Meta: app.Meta{By: client("mcp")}, Tool: "refund"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.PlanTools.Await(t.Context(), client("mcp"), run.ID, nil); err != nil {
			t.Fatal(err)
		}
		p, err := w.Runs.Preview(t.Context(), apptest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun})
		if err != nil {
			t.Fatal(err)
		}
		return run.ID, p.Digest
	}
	request := func(by domain.Actor, run, digest string) app.ActRequest {
		return app.ActRequest{Meta: app.Meta{By: by}, ActionRequest: domain.ActionRequest{Run: run, Action: domain.ActionRerun,
			Digest: digest, Reason: "not now"}}
	}
	ask := func(run, digest string, want domain.Code, text string) {
		t.Helper()
		_, err := w.Runs.ActConfirmed(t.Context(), request(client("mcp"), run, digest))
		if domain.CodeOf(err) != want || !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("got %v, want %s %q", err, want, text)
		}
	}
	open := func(want int) []domain.RequestedAction {
		t.Helper()
		list, err := w.Runs.Requested(t.Context(), apptest.Viewer)
		if err != nil || len(list) != want {
			t.Errorf("%d requests are open, want %d: %v", len(list), want, err)
		}
		return list
	}
	run, digest := called()
	ask(run, "x", domain.CodeForbidden, "its preview has changed")
	open(0)
	for range 2 { // asking again adds nothing
		ask(run, digest, domain.CodeForbidden, "no person has confirmed this action")
	}
	if q := open(1); len(q) == 1 && (q[0].Run != run || q[0].Plan != "refund" || q[0].Digest != digest || q[0].New+q[0].Again == 0 ||
		q[0].By != client("mcp").Name || q[0].Action != domain.ActionRerun) {
		t.Errorf("the request: %+v", q[0])
	}
	for name, by := range map[string]domain.Actor{"the program": client(""), "a viewer": apptest.Viewer} {
		if _, err := w.Runs.Refuse(t.Context(), request(by, run, digest)); domain.CodeOf(err) != domain.CodeForbidden {
			t.Errorf("%s refuses: %v", name, err)
		}
	}
	if _, err := w.Runs.Refuse(t.Context(), request(apptest.Operator, run, digest)); err != nil {
		t.Fatal(err)
	}
	open(0)
	ask(run, digest, domain.CodeForbidden, "a person refused this action: not now")
	open(0)
	confirm := request(apptest.Operator, run, digest)
	if _, err := w.Runs.Confirm(t.Context(), confirm); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Runs.Refuse(t.Context(), request(apptest.Operator, run, digest)); err != nil {
		t.Fatal(err)
	}
	ask(run, digest, domain.CodeForbidden, "a person refused this action") // the refusal withdraws the confirmation
	if _, err := w.Runs.Confirm(t.Context(), confirm); err != nil {
		t.Fatal(err)
	}
	ask(run, digest, "", "")
	open(0)
	for range 20 {
		run, digest := called()
		ask(run, digest, domain.CodeForbidden, "no person has confirmed")
	}
	run, digest = called()
	ask(run, digest, domain.CodeTooMany, "20 actions of this program wait")
	if list := open(20); len(audited(t, w, "run.request")) != 21 || list[0].Run == run {
		t.Errorf("the newest request: %+v", list[0])
	}
}
