package app_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// Every combination of operation, role, scope, and interface follows the policy. A principal has
// the permissions of the role. A token with scopes has only the permissions of its scopes. The
// interface does not matter.
func TestPolicy(t *testing.T) {
	t.Parallel()
	cells := 0
	for _, op := range app.Operations() {
		rule, ok := app.Policy(op)
		if !ok {
			t.Fatalf("%s is listed, and has no rule", op)
		}
		if rule.Scope != "" && !strings.Contains(" "+strings.Join(domain.Scopes, " ")+" ", " "+rule.Scope+" ") {
			t.Errorf("%s needs the scope %s, which no token can have", op, rule.Scope)
		}
		for rank, role := range append([]domain.Role{""}, domain.RoleViewer, domain.RoleOperator, domain.RoleAuthor, domain.RoleAdmin) {
			for _, source := range []string{"ui", "api", "cli"} {
				for _, scopes := range append([]string{"", strings.Join(domain.Scopes, " ")}, domain.Scopes...) {
					cells++
					who := domain.Actor{Name: "somebody", Role: role, Source: source, Scopes: scopes}
					least := map[domain.Role]int{"": 0, domain.RoleViewer: 1, domain.RoleOperator: 2, domain.RoleAuthor: 3,
						domain.RoleAdmin: 4}[rule.Role]
					want := least == 0 ||
						rank >= least && (scopes == "" || rule.Scope == "" || strings.Contains(" "+scopes+" ", " "+rule.Scope+" "))
					if got := app.May(who, op); got != want {
						t.Errorf("%s as %q by %s with the scopes %q: %v, want %v", op, role, source, scopes, got, want)
					}
					if err := app.Allow(who, op); (domain.CodeOf(err) == domain.CodeForbidden) == want {
						t.Errorf("%s as %q by %s: %v", op, role, source, err)
					}
				}
			}
		}
	}
	if cells < 10_000 {
		t.Errorf("%d cells", cells)
	}
	if err := app.Allow(domain.Actor{Role: domain.RoleAdmin}, "unheard-of"); domain.CodeOf(err) != domain.CodeInternal {
		t.Errorf("an operation that there is none of: %v", err)
	}
}

// A scope for one plan permits the operations on plans as tools. They check the plan.
func TestScopesOfOnePlan(t *testing.T) {
	t.Parallel()
	who := domain.Actor{Name: "token ci", Role: domain.RoleOperator, Source: "mcp", Scopes: "mcp:refund"}
	for op, want := range map[app.Operation]bool{app.CallPlanTool: true, app.AwaitRun: true, app.ListPlanTools: true, app.StartRun: false,
		app.GetRun: false, app.DecideApproval: false, app.GetPlan: false} {
		if app.May(who, op) != want {
			t.Errorf("%s: %v, want %v", op, !want, want)
		}
	}
}
