package auth_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/kairos"
)

// O13: how people log in changes while they are logged in: sessions stay, the next
// login goes by the new rules, and rules that cannot be kept change nothing.
func TestTheWaysInChangeUnderSessions(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.user(t, "marta", kairos.RoleOperator)
	session := h.login(t, "marta")
	if err := h.Reconfigure(auth.Access{NoPassword: true}); err != nil {
		t.Fatal(err)
	}
	_, _, err := h.Login(t.Context(), "marta", good, "192.0.2.1", "test")
	wantCode(t, err, kairos.CodeForbidden)
	if u, err := h.Session(t.Context(), session); err != nil || u.Name != "marta" {
		t.Errorf("the session that was open: %v %v", u, err)
	}
	if err := h.Reconfigure(auth.Access{SecondFactorFor: []kairos.Role{kairos.RoleViewer}}); err == nil {
		t.Error("a second factor is demanded that nothing here can keep")
	}
	_, _, err = h.Login(t.Context(), "marta", good, "192.0.2.1", "test")
	wantCode(t, err, kairos.CodeForbidden) // still
	if err := h.Reconfigure(auth.Access{}); err != nil {
		t.Fatal(err)
	}
	h.login(t, "marta")
}
