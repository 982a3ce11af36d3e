package plans_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// One button saves a plan and starts it. A plan that reads an input, or is paused, continues on the
// form that starts a run. An invalid plan starts nothing.
func TestAPlanIsSavedAndStarted(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	send := func(source string) webtest.Page {
		t.Helper()
		form := b.Get("/plans/new").Hidden()
		form.Set("source", source)
		form.Set("do", "start")
		return b.Post("/plans/new", form)
	}
	form := b.Get("/plans/new").Hidden()
	form.Set("source", "id: alone\nnodes:\n  a: {type: set, input: 7}\n")
	form.Set("do", "start")
	p := b.Post("/plans/new", form)
	if p.Code != http.StatusSeeOther || !strings.HasPrefix(p.Location, "/runs/") {
		t.Fatalf("got status %d, want %d: %s %s", p.Code, http.StatusSeeOther, p.Location, webtest.Text(p.Body))
	}
	run, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(p.Location, "/runs/"))
	if err != nil || run.PlanKey != "alone" || run.Version != 1 || string(run.Output) != "7" {
		t.Errorf("%+v %v", run, err)
	}
	if again := b.Post("/plans/new", form); again.Location != p.Location {
		t.Errorf("the form submitted twice redirects to %s, then to %s", p.Location, again.Location)
	}
	if p := send("id: fed\nnodes:\n  a: {type: set, input: \"${input.n}\"}\n"); p.Location != "/plans/fed/start?v=1" {
		t.Errorf("a plan with an input: status %d %s", p.Code, p.Location)
	}
	if p := send("id: bad\nnodes:\n  a: {type: nothing}\n"); p.Code != http.StatusUnprocessableEntity {
		t.Errorf("a plan with a problem: got status %d, want %d", p.Code, http.StatusUnprocessableEntity)
	}
	pause := b.Get("/plans/alone/pause").Hidden()
	pause.Set("reason", "maintenance")
	if p := b.Post("/plans/alone/pause", pause); p.Code != http.StatusSeeOther {
		t.Fatalf("got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	form = b.Get("/plans/alone/edit").Hidden()
	form.Set("source", "id: alone\nnodes:\n  a: {type: set, input: 8}\n")
	form.Set("do", "start")
	if p := b.Post("/plans/alone/edit", form); p.Location != "/plans/alone/start?v=2" {
		t.Errorf("a paused plan: status %d %s", p.Code, p.Location)
	}
	list, err := site.Store.Runs(t.Context(), domain.RunFilter{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("%d runs, %v", len(list.Items), err)
	}
}
