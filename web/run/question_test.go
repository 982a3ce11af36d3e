package run_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page of the run shows the predicted effect of each answer, and links to the values on which
// the request is based. A viewer gets no buttons.
func TestARequestOnItsRunShowsWhereEachAnswerLeads(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(
		t,
		"id: gate\nnodes:\n  ask: {type: approval, input: {message: \"Post it?\"}}\n"+
			"  post: {type: http, effect: unsafe, input: {method: POST, url: \"http://127.0.0.1:9/x\"}}\n"+
			"  drop: {type: log, input: dropped}\nedges:\n  - {from: ask, to: post, condition: last.approved == true}\n"+
			"  - {from: ask, to: drop, condition: failed}\n",
	)
	run := site.Run(t, "gate", `null`)
	at := "/runs/" + run.ID
	text := webtest.Text(site.Browser(t).Login().Get(at).Body)
	for _, want := range []string{"What happens next", "Next: post", "Side effects: post", "Next: drop", "Evidence and earlier decisions"} {
		if !strings.Contains(text, want) {
			t.Errorf("the run's page does not say %q\n%s", want, text)
		}
	}
	if _, err := site.Auth.CreateUser(t.Context(), site.Admin, "ana", webtest.Password, domain.RoleViewer); err != nil {
		t.Fatal(err)
	}
	viewer := site.Browser(t)
	if !viewer.LoginAs("ana", webtest.Password) {
		t.Fatal("the viewer cannot log in")
	}
	body := viewer.Get(at).Body
	if strings.Contains(body, `name="comment"`) || !strings.Contains(webtest.Text(body), "Only operators decide") {
		t.Errorf("a viewer may decide:\n%s", webtest.Text(body))
	}
}
