package agents_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A budget is created, shown with its usage and the runs that wait for it, raised with a preview, changed, and deleted.
func TestABudget(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	webtest.HasTexts(t, b.Get("/agents/budgets"), http.StatusOK, "There is none yet.", "New budget…")
	webtest.HasTexts(t, b.Send(t, "/agents/budgets/new", `name="scope"`, "key", "team", "unit", "tokens", "soft", "5", "hard", "12",
		"zone", "Europe/Madrid"), http.StatusOK, "Budget created.", "0 tokens of 12 tokens", "one day, in the time zone Europe/Madrid",
		"kairosd sends a notification.", "No run waits for this budget.", "No usage in this window yet.")
	site.Plan(t,
		"id: ask\nnodes:\n  a: {type: llm, input: \"What is 6 times 7?\"}\n  b: {type: llm, input: \"And 7 times 8?\", needs: [a]}\n")
	run := webtest.StartUntil(t, site, "ask", domain.WaitBudget)
	page := b.Get("/agents/budgets/team")
	webtest.HasTexts(t, page, http.StatusOK, "runs wait", "/runs/"+run.ID, "tokens of 12 tokens", "Windows with usage")
	webtest.HasTexts(t, b.Get("/runs/"+run.ID), http.StatusOK, "The budget team is raised, or its next window begins",
		"/agents/budgets/team/raise", "Raise budget team…")
	if strings.Contains(b.Get("/runs/"+run.ID).Body, "Raise limits…") {
		t.Error("the limits of the run are not what it waits for")
	}
	webtest.HasTexts(t, b.Get("/agents/budgets"), http.StatusOK, "team", "tokens of 12 tokens", "runs wait")
	webtest.HasTexts(t, b.Get("/runs/"+run.ID), http.StatusOK, "budget team")
	webtest.HasTexts(t, b.Get("/agents/budgets/team/raise"), http.StatusOK, "the oldest waiting run continues", "Waiting runs")
	webtest.HasTexts(t, b.Send(t, "/agents/budgets/team/raise", `name="amount"`, "amount", "much"), http.StatusUnprocessableEntity,
		`role="alert"`, "is not a number", "much")
	webtest.HasTexts(t, b.Send(t, "/agents/budgets/team/raise", `name="amount"`, "amount", "+500", "reason", "today only"),
		http.StatusOK,
		"Budget raised.", "500 tokens", "of 512 tokens")
	webtest.HasTexts(t, b.Send(t, "/agents/budgets/team/edit", `name="hard"`, "hard", "2000", "soft", ""), http.StatusOK,
		"Budget changed.", "2,000 tokens")
	p := b.Send(t, "/agents/budgets/team/delete", `name="reason"`)
	if webtest.HasTexts(t, p, http.StatusOK, "Budget deleted."); strings.Contains(p.Body, "team") {
		t.Error("a deleted budget is listed")
	}
	webtest.HasTexts(t, b.Get("/agents/budgets/team"), http.StatusNotFound)
}

// L19: a rejected form keeps the typed values, and shows the reason.
func TestARejectedBudget(t *testing.T) {
	t.Parallel()
	b := webtest.New(t).Browser(t).Login()
	for _, bad := range [][3]string{{"key", "a/b", "a/b"}, {"hard", "much", "much"}, {"hard", "", "needs a line"}, {"scope",
		"team", "team"},
		{"zone", "Mars", "Mars"}, {"soft", "20", "not below the hard line"}, {"degrade", "5",
			"cheaper model"}} {
		all := []string{"key", "b", "unit", "tokens", "hard", "12", bad[0], bad[1]}
		webtest.HasTexts(t, b.Send(t, "/agents/budgets/new", `name="scope"`, all...), http.StatusUnprocessableEntity,
			`role="alert"`, bad[2],
			"New budget")
	}
}
