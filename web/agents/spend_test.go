package agents_test

import (
	"encoding/csv"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web/webtest"
)

// chosen finds the choices that are on.
var chosen = regexp.MustCompile(`<a href="/agents/spend\?[^"]*" aria-current="true">([^<]+)</a>`)

// The spend page shows the cost of model calls by plan, agent, and model, and exports it as CSV.
// The calls of a sub-run count once, not again for its parent.
func TestSpendIsShownByPlanAgentAndModel(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/agents/spend"), http.StatusOK, "No model was called in this time.")
	webtest.Plan(t, site.Engine, site.Admin, "id: question\nnodes:\n  answer: {type: agent, agent: accountant, input: \"6*7\"}\n")
	webtest.Plan(t, site.Engine, site.Admin, "id: parent\nnodes:\n  child: {type: plan, plan: question, input: \"6*7\"}\n")
	webtest.Run(t, site.Engine, site.Admin, "question", `"6*7"`)
	webtest.Run(t, site.Engine, site.Admin, "parent", "null")
	for _, span := range []string{"", "?range=7d", "?range=30d"} {
		p := b.Get("/agents/spend" + span)
		webtest.HasTexts(t, p, http.StatusOK, "By plan", "By agent", "By model", "question", "accountant", "scripted", "100%", "0.07")
		if strings.Contains(p.Body, "/plans/parent") {
			t.Errorf("%s counts the calls of a child run for its parent", span)
		}
	}
	for by, title := range map[string]string{"": "By plan", "plan": "By plan", "agent": "By agent", "model": "By model",
		"nonsense": "By plan"} {
		p := b.Get("/agents/spend?range=7d&by=" + by)
		if on := chosen.FindAllStringSubmatch(p.Body, -1); len(on) != 2 || on[0][1] != "7 days" && on[1][1] != "7 days" ||
			on[0][1] != title && on[1][1] != title {
			t.Errorf("by=%s has chosen %q, want %q and 7 days", by, on, title)
		}
	}
	p := b.Get("/agents/spend.csv")
	rows, err := csv.NewReader(strings.NewReader(p.Body)).ReadAll()
	if err != nil || len(rows) != 2 || p.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Fatalf("%v, %s:\n%s", err, p.Header.Get("Content-Type"), p.Body)
	}
	if got := strings.Join(rows[1][1:], " "); got != "question accountant scripted 4 60 6 0.072000" {
		t.Errorf("got table columns %q", got)
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, "Model spend", "0.07")
}
