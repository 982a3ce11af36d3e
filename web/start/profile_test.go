package start_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

const profiled = `
id: payout
values: {account: none}
nodes:
  pay: {type: set, input: "${value.account}"}
profiles:
  dev: {values: {account: test}}
  prod: {values: {account: live}, priority: 7}
`

// The start page, the page of the plan, and a rerun offer the profiles of the plan. The page of a run shows its
// profile, and lists are filtered by it.
func TestAProfileIsChosenByForm(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, profiled)
	site.Plan(t, "id: bare\nnodes:\n  a: {type: set, input: 1}\n")
	b := site.Browser(t).Login()
	if p := b.Get("/plans/bare/start"); strings.Contains(p.Body, `name="profile"`) {
		t.Error("a plan without profiles offers one")
	}
	webtest.HasTexts(t, b.Get("/plans/payout/start"), http.StatusOK, `<select name="profile">`, ">dev<", ">prod<",
		"none: the plan as written")
	webtest.HasTexts(t, b.Get("/runs/new?plan=payout&profile=prod"), http.StatusOK, `value="prod" selected`, "--profile &#39;prod&#39;")
	webtest.HasTexts(t, b.Get("/plans/payout?profile=prod"), http.StatusOK, `href="/plans/payout?profile=dev"`, "Priority", ">7<")

	start := func(path string, change url.Values) domain.Run {
		t.Helper()
		form := b.Get(path).Hidden()
		for key, values := range change {
			form[key] = values
		}
		p := b.Post(path, form)
		if p.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", p.Code, p.Body)
		}
		id := strings.TrimPrefix(p.Header.Get("Location"), "/runs/")
		id, _, _ = strings.Cut(id, "?")
		run, err := site.Engine.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	run := start("/plans/payout/start", url.Values{"profile": {"prod"}})
	if run.Profile != "prod" || string(run.Output) != `"live"` {
		t.Errorf("the run has the profile %q and the output %s", run.Profile, run.Output)
	}
	webtest.HasTexts(t, b.Get("/runs/"+run.ID), http.StatusOK, "Profile", `profile%3Aprod`)
	webtest.HasTexts(t, b.Get("/runs?q=profile:prod"), http.StatusOK, run.ID)
	webtest.HasTexts(t, b.Get("/runs?q=-profile:dev,test"), http.StatusOK, run.ID)
	webtest.HasTexts(t, b.Get("/runs?q=profile:dev,prod"), http.StatusOK, run.ID)
	for _, q := range []string{"profile:dev", "-profile:prod"} {
		if p := b.Get("/runs?q=" + q); strings.Contains(p.Body, run.ID) {
			t.Errorf("%s lists the run", q)
		}
	}

	rerun := "/runs/" + run.ID + "/rerun"
	webtest.HasTexts(t, b.Get(rerun), http.StatusOK, "the same, prod", `value="dev"`)
	for profile, want := range map[string]string{"=": "prod", "dev": "dev", "-": ""} {
		if again := start(rerun, url.Values{"profile": {profile}, "digest": {""}}); again.Profile != want {
			t.Errorf("the rerun with %q has the profile %q", profile, again.Profile)
		}
	}
	fork := "/runs/" + run.ID + "/fork"
	webtest.HasTexts(t, b.Get(fork), http.StatusOK, "the same, prod", `value="dev"`)
	if again := start(fork, url.Values{"profile": {"dev"}, "at": {"0"}, "digest": {""}}); again.Profile != "dev" {
		t.Errorf("the fork has the profile %q", again.Profile)
	}
	form := b.Get("/plans/payout/start").Hidden()
	form.Set("profile", "prdo")
	webtest.HasTexts(t, b.Post("/plans/payout/start", form), http.StatusUnprocessableEntity, "dev, prod")
}
