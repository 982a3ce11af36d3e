package auth_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/domain"
)

// O13: Login methods change while people are logged in. Sessions stay, the next login follows the
// new rules, and invalid rules change nothing.
func TestLoginMethodsChangeDuringSessions(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.user(t, "marta", domain.RoleOperator)
	session := f.login(t, "marta")
	if err := f.Reconfigure(auth.Access{NoPassword: true}); err != nil {
		t.Fatal(err)
	}
	_, _, err := f.Login(t.Context(), "marta", good, "192.0.2.1", "test")
	wantCode(t, err, domain.CodeForbidden)
	if u, err := f.Session(t.Context(), session); err != nil || u.Name != "marta" {
		t.Errorf("the session that was open: %v %v", u, err)
	}
	if err := f.Reconfigure(auth.Access{SecondFactorFor: []domain.Role{domain.RoleViewer}}); err != nil {
		t.Fatal(err)
	}
	u, err := f.User(t.Context(), "marta")
	if err != nil {
		t.Fatal(err)
	}
	if must, err := f.MustEnrol(t.Context(), u); err != nil || !must {
		t.Errorf("a second factor is demanded, and not of marta: %v", err)
	}
	if err := f.Reconfigure(auth.Access{}); err != nil {
		t.Fatal(err)
	}
	f.login(t, "marta")
}
