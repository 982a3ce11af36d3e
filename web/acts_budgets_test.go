package web_test

// budgets creates, changes, raises, and deletes budgets.
func (s *actionTest) budgets() {
	s.api("POST /budgets", "/budgets", map[string]any{"key": "team", "unit": "tokens", "hard": 1e6})
	s.api("PATCH /budgets/{id}", "/budgets/team", map[string]any{"soft": 5e5})
	s.api("POST /budgets/{id}/raise", "/budgets/team/raise", map[string]any{"amount": 5})
	s.api("DELETE /budgets/{id}", "/budgets/team", "")
	const at = "/agents/budgets/pages"
	s.page("/agents/budgets/new", "/agents/budgets/new", `name="scope"`, "key", "pages", "unit", "tokens", "hard", "1000000")
	s.page("/agents/budgets/:budget/edit", at+"/edit", `name="hard"`, "hard", "2000000")
	s.page("/agents/budgets/:budget/raise", at+"/raise", `name="amount"`, "amount", "5")
	s.page("/agents/budgets/:budget/delete", at+"/delete", `name="reason"`)
}
