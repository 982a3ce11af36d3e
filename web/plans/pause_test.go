package plans_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// An operator pauses a plan. Its pages and the plan list show who paused it and why. Starting a run
// is rejected and keeps the typed values. Dry runs and reruns still start.
func TestAPlanIsPausedByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "otto", webtest.Password, domain.RoleOperator); err != nil {
		t.Fatal(err)
	}
	otto := site.Browser(t)
	otto.LoginAs("otto", webtest.Password)
	site.Plan(t, "id: flood\nnodes: {a: {type: set, input: \"${input}\"}}\n")
	run := site.Run(t, "flood", "1")
	webtest.Has(t, otto.Get("/plans/flood"), "the plan", `form="once-pause" name="do" value="pause">Pause<`)
	webtest.Has(t, otto.Get("/plans?state=paused"), "no paused plan", "No plan is paused.")
	page := otto.Get("/plans/flood/pause")
	webtest.Has(t, page, "the preview", "No new runs start until you unpause the plan", "you can still resume and fork runs")
	form := page.Hidden()
	form.Set("reason", "it floods <the bank>")
	stale := otto.Get("/plans/flood/pause").Hidden()
	if p := otto.Post("/plans/flood/pause", form); p.Location != "/plans/flood" {
		t.Fatalf("status %d %s", p.Code, webtest.Text(p.Body))
	}
	if p := otto.Post("/plans/flood/pause", stale); p.Location != "/plans/flood" { // pausing twice is allowed
		t.Errorf("pausing a paused plan: status %d %s", p.Code, webtest.Text(p.Body))
	}
	for _, path := range []string{"/plans/flood", "/plans/flood/start"} {
		webtest.Has(t, b.Get(path), path, "Paused since", "otto", "it floods &lt;the bank&gt;", "Unpause")
	}
	webtest.Has(t, b.Get("/plans?state=paused"), "the paused plans", `href="/plans/flood"`, ">paused<")
	start := b.Get("/plans/flood/start").Hidden()
	start.Set("input", "17")
	if p := b.Post("/plans/flood/start", start); p.Code != http.StatusConflict || !strings.Contains(p.Body, "The run was not started.") ||
		!strings.Contains(p.Body, ">17</textarea>") {
		t.Errorf("starting a paused plan: got status %d, want %d: %s", p.Code, http.StatusConflict, webtest.Text(p.Body))
	}
	start.Set("dry", "1")
	if p := b.Post("/plans/flood/start", start); p.Code != http.StatusSeeOther {
		t.Errorf("a dry run of a paused plan: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	rerun := b.Get("/runs/" + run.ID + "/rerun").Hidden()
	if p := b.Post("/runs/"+run.ID+"/rerun", rerun); p.Code != http.StatusSeeOther {
		t.Errorf("a rerun of a paused plan: got status %d, want %d: %s", p.Code, http.StatusSeeOther, webtest.Text(p.Body))
	}
	form = otto.Get("/plans/flood/pause").Hidden()
	if p := otto.Post("/plans/flood/pause", form); p.Location != "/plans/flood" {
		t.Fatalf("status %d %s", p.Code, webtest.Text(p.Body))
	}
	if strings.Contains(b.Get("/plans/flood").Body, "Paused since") {
		t.Error("an active plan is shown as paused")
	}
	if said := site.Audited(t); !said["plan.pause"] || !said["plan.unpause"] {
		t.Errorf("the audit log: %v", said)
	}
}
