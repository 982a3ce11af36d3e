package run_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// The card of a failed run shows the failure, the differences from the last completed run, and the
// effect of a resume. The page counts each step once, and a foreach is one step.
func TestTheFailureCardHasThreeCells(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: load
input: {type: object, properties: {rate: {type: string}}}
nodes:
  list: {type: set, input: {all: [1, 2, 3]}}
  square: {type: calculator, needs: [list], foreach: "${output.list.all}", input: {expression: "x * x", values: {x: "${item}"}}}
  store: {type: calculator, needs: [square], input: {expression: "1 + ${input.rate}"}}
  report: {type: log, needs: [store], input: done}
`)
	good := site.Run(t, "load", `{"rate": "2"}`)
	bad := site.Run(t, "load", `{"rate": "+"}`)
	b := site.Browser(t).Login()
	page := b.Get("/runs/" + bad.ID)
	webtest.HasTexts(
		t, page, http.StatusOK,
		`class="failure card"`, "Compared with the last successful run", `href="/runs/`+good.ID+`"`, "rate is &#34;+&#34;, was &#34;2&#34;",
		"plan version", "If you resume", "steps keep their results", "step runs again", "step runs for the first time",
		`class="consequence"`,
		"changed nothing outside", `class="step-bar"`, `in run `,
	)
	for _, other := range []string{"Checkpoint", "6 steps", "7 steps"} {
		if strings.Contains(webtest.Text(page.Body), other) {
			t.Errorf("the page counts steps another way: %s", other)
		}
	}
	if n := strings.Count(webtest.Text(page.Body), "4 steps"); n != 1 {
		t.Errorf("the page has its number of steps %d times", n)
	}
	if _, first, _ := strings.Cut(page.Body, `class="act"`); strings.Index(first, "Delete…") < strings.Index(first, `id="more"`) {
		t.Error("delete stands beside resume")
	}
}
