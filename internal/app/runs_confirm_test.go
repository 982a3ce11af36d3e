package app_test

import (
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
