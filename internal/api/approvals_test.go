package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// An approval lists its answers, and is decided by the id of one of them.
func TestAnApprovalAcceptsOnlyItsAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, tt := range []struct {
		body string
		code int
		want string
	}{
		{`{"answer": "approve"}`, http.StatusOK, `"status":"approved"`},
		{`{"answer": "reject", "comment": "no"}`, http.StatusOK, `"status":"rejected"`},
		{`{"answer": "approve", "comment": "yes"}`, http.StatusOK,
			`"answers":[{"id":"approve","label":"Pay","kind":"approve"},{"id":"reject","label":"Reject","kind":"reject"}]`},
		{`{"answer": "maybe"}`, http.StatusUnprocessableEntity, "answers: approve, reject"},
		{`{"answer": "request_changes", "comment": "why?"}`, http.StatusUnprocessableEntity, "answers: approve, reject"},
		{`{"comment": "no answer"}`, http.StatusUnprocessableEntity, "answer"},
		{`{"approve": true}`, http.StatusUnprocessableEntity, "approve"},
	} {
		_, approval := s.world.asking(t)
		if a := s.ask(t, "operator", "POST /approvals/"+approval.ID+"/decide", tt.body); a.status != tt.code ||
			!strings.Contains(a.text, tt.want) {
			t.Errorf("%s: %d %s, want %d with %s", tt.body, a.status, a.text, tt.code, tt.want)
		}
	}
}

// A status that no approval request has, and that resembles none, selects nothing.
func TestApprovalsWithAnUnknownStatus(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if a := s.ask(t, "viewer", "GET /approvals?filter=status%3Afailed", ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.text)
	}
}
