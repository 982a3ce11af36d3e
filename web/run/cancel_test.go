package run_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The preview of a cancellation shows its effect on running steps. A payment in progress may still
// complete.
func TestACancelListsActiveSteps(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	bank := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(bank.Close)
	t.Cleanup(func() { close(answer) })
	site.Plan(
		t,
		"id: both\nnodes:\n  look: {type: http, input: {url: \""+bank.URL+
			"\"}}\n  pay: {type: http, effect: unsafe, input: {method: POST, url: \""+bank.URL+
			"\"}}\n  end: {type: log, needs: [look, pay], input: done}\n",
	)
	run, err := site.Engine.Start(t.Context(), site.Admin, domain.StartRequest{Plan: "both"})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	<-asked
	text := webtest.Text(site.Browser(t).Login().Get("/runs/" + run.ID + "/cancel").Body)
	for _, want := range []string{"pay — it is active and may still have its effect; a resume then " +
		"requires you to state the outcome", "look — it is active and is stopped", "end — cancelled with the run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the preview does not say %q\n%s", want, text)
		}
	}
}
