package run_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The status message is in the user's language and time zone. The texts of errors and users are not
// translated.
func TestHeadlinesAreInTheReadersLanguageAndZone(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	site.Plan(t, "id: hold\nnodes:\n  night: {type: wait, input: {until: \"2099-01-31T23:30:00Z\"}}\n")
	site.Plan(t, "id: trap\nnodes:\n  ask: {type: approval, input: {message: \"deploy failed: really?\"}}\n")
	webtest.StartUntil(t, site, "hold", domain.WaitTimer)
	site.Run(t, "trap", `null`)
	b := site.Browser(t).Login()
	csrf := b.Get("/me").Hidden()["csrf"]
	for k, v := range map[string]string{"lang": "es", "zone": "Europe/Madrid"} {
		webtest.HasTexts(t, b.Post("/display", url.Values{"csrf": csrf, "back": {"/me"}, k: {v}}), http.StatusSeeOther)
	}
	list := webtest.Text(b.Get("/runs").Body)
	for _, want := range []string{"night espera hasta 2099-02-01 00:30:00", "pay puede haber tenido efecto; indique si ocurrió",
		"post falló", "deploy failed: really?"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list does not say %q\n%s", want, list)
		}
	}
	for _, page := range []string{"/", "/runs/" + seed.Failed.ID, "/runs/" + seed.Failed.ID + "?view=events",
		"/runs/" + seed.Failed.ID + "/ack"} {
		text := webtest.Text(b.Get(page).Body)
		if !strings.Contains(text, "post falló") || strings.Contains(text, "post failed") {
			t.Errorf("%s is not Spanish:\n%s", page, text)
		}
	}
	if text := webtest.Text(b.Get("/approvals").Body); !strings.Contains(text, "pay puede haber tenido efecto") {
		t.Errorf("the inbox:\n%s", text)
	}
}

// The list shows the attempt of a run that is being retried.
func TestARetryShowsTheAttempt(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	busy := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }),
	)
	defer busy.Close()
	site.Plan(
		t,
		"id: again\nnodes:\n  pull: {type: http, effect: read, retry: {max_attempts: 4, backoff: [1h]}, input: {url: \""+busy.URL+"\"}}\n",
	)
	run := webtest.StartUntil(t, site, "again", domain.WaitRetry)
	b := site.Browser(t).Login()
	for _, page := range []string{"/runs", "/runs/" + run.ID} {
		if text := webtest.Text(b.Get(page).Body); !strings.Contains(text, "pull will be tried again after 1 of 4 attempts: ") {
			t.Errorf("%s:\n%s", page, text)
		}
	}
	if text := webtest.Text(b.Get("/runs").Body); !strings.Contains(text, "Retrying 2 of 4, in ") {
		t.Errorf("the list does not say which attempt comes when:\n%s", text)
	}
}
