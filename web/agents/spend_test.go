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
	webtest.Plan(t, site.Engine, site.Admin,
		"id: question\nlabels: {team: books}\nnodes:\n  answer: {type: agent, agent: accountant, input: \"6*7\"}\n")
	webtest.Plan(t, site.Engine, site.Admin, "id: parent\nnodes:\n  child: {type: plan, plan: question, input: \"6*7\"}\n")
	webtest.Run(t, site.Engine, site.Admin, "question", `"6*7"`)
	webtest.Run(t, site.Engine, site.Admin, "parent", "null")
	for _, span := range []string{"", "?range=7d", "?range=30d", "?range=12m"} {
		p := b.Get("/agents/spend" + span)
		webtest.HasTexts(t, p, http.StatusOK, "By plan", "By agent", "By provider", "By model", "By label", "question", "accountant",
			"scripted", "team=books", "100%", "0.07")
		if strings.Contains(p.Body, "/plans/parent") {
			t.Errorf("%s counts the calls of a child run for its parent", span)
		}
	}
	for by, title := range map[string]string{"": "By plan", "plan": "By plan", "agent": "By agent", "provider": "By provider",
		"model": "By model", "label:team": "By label team", "label:color": "By plan", "nonsense": "By plan"} {
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
	if got := strings.Join(rows[1][1:], " "); got != "question accountant script scripted 4 60 6 0.072000" {
		t.Errorf("got table columns %q", got)
	}
	rows, err = csv.NewReader(strings.NewReader(b.Get("/agents/spend.csv?by=label:team").Body)).ReadAll()
	if err != nil || len(rows) != 2 || rows[0][5] != "label" || rows[1][5] != "team=books" {
		t.Errorf("by label: %v\n%v", err, rows)
	}
	webtest.HasTexts(t, b.Get("/"), http.StatusOK, "Model spend", "0.07")
}

// The spend page lists budgets with predictions, first those that are used up soonest.
func TestSpendHasAPredictionPerBudget(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.Plan(t, site.Engine, site.Admin, "id: question\nnodes:\n  answer: {type: agent, agent: accountant, input: \"6*7\"}\n")
	webtest.Run(t, site.Engine, site.Admin, "question", `"6*7"`)
	for key, hard := range map[string]string{"ample": "1000000", "short": "1"} {
		b.Send(t, "/agents/budgets/new", `name="scope"`, "key", key, "period", "month", "unit", "tokens", "hard", hard)
	}
	p := b.Get("/agents/spend")
	webtest.HasTexts(t, p, http.StatusOK, "Budgets and predictions", "Used up. The next window begins at")
	if short, ample := strings.Index(p.Body, "budgets/short"), strings.Index(p.Body, "budgets/ample"); short < 0 || ample < short {
		t.Errorf("the budget that is used up is not first: %d, %d", short, ample)
	}
}
