package api_test

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/domain"
)

// described lists the routes in the served description.
func described(t *testing.T, s *server) []string {
	t.Helper()
	a := s.ask(t, "", "GET /openapi.json", "")
	if a.status != 200 {
		t.Fatalf("GET /openapi.json = %d %s", a.status, a.text)
	}
	var doc struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Security    []map[string][]string
			Responses   map[string]any
			RequestBody *struct{ Content map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Servers[0].URL != api.Base {
		t.Errorf("openapi %s at %v", doc.OpenAPI, doc.Servers)
	}
	var routes, ids []string
	for path, ops := range doc.Paths {
		for method, op := range ops {
			route := strings.ToUpper(method) + " " + path
			routes, ids = append(routes, route), append(ids, op.OperationID)
			if op.Summary == "" || len(op.Responses) == 0 {
				t.Errorf("%s is not described", route)
			}
			if secured := len(op.Security) == 1 && len(op.Security[0]) > 0; secured != (path != "/openapi.json") {
				t.Errorf("%s: security %v", route, op.Security)
			}
		}
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != len(routes) {
		t.Errorf("%d operation ids for %d routes", n, len(routes))
	}
	slices.Sort(routes)
	return routes
}

func TestTheDescriptionIsTrue(t *testing.T) {
	t.Parallel()
	s := serve(t)
	documented := described(t, s)
	served := api.Routes(s.api)
	slices.Sort(served)
	if !slices.Equal(documented, served) {
		t.Errorf("described: %v\nserved:    %v", documented, served)
	}
}

// TestRolesMatrix requests every route as every role. A role below the one in the policy
// gets 403, a sufficient role does not, and a request without a credential gets 401.
func TestRolesMatrix(t *testing.T) {
	t.Parallel()
	s := serve(t)
	run := s.world.runs[0].ID
	replace := strings.NewReplacer(
		"/runs/{id}",
		"/runs/"+run,
		"{node}",
		"n",
		"/approvals/{id}",
		"/approvals/a1",
		"{id}",
		"x",
		"{n}",
		"1",
		"{a}",
		"1",
		"{b}",
		"2",
		"{seq}",
		"1",
	)
	principals := append([]string{"", "nobody"}, "viewer", "operator", "author", "admin")
	for _, route := range described(t, s) {
		if route == "GET /openapi.json" || route == "GET /events" || route == "GET /ws" || route == "GET /audit/export" { // not JSON
			continue
		}
		role := api.Needs(s.api, route).Role
		for _, as := range principals {
			line := replace.Replace(route)
			if strings.HasSuffix(line, "/preview") && strings.HasPrefix(line, "GET") {
				line += "?action=resume"
			}
			body := ""
			if !strings.HasPrefix(line, "GET") {
				body = "{}"
			}
			a := s.ask(t, as, line, body)
			want := 403
			if as == "" {
				want = 401
			} else if domain.Role(as).Includes(role) && as != "nobody" {
				want = 0
			}
			if strings.HasSuffix(route, "/login-link") && want == 0 {
				want = 403 // only a person on the host creates one
			}
			if strings.HasSuffix(route, "/confirm") && want == 0 {
				continue // tokens cannot confirm
			}
			if want != 0 && a.status != want || want == 0 && (a.status == 401 || a.status == 403) {
				t.Errorf("%s as %q: %d %s (needs %s)", line, as, a.status, a.text, role)
			}
		}
	}
}

func TestScopesNarrow(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, route := range api.Routes(s.api) {
		scope := api.Needs(s.api, route).Scope
		if scope == "" || strings.HasSuffix(route, "/events") || strings.HasSuffix(route, "/ws") {
			continue
		}
		line := strings.NewReplacer("/runs/{id}", "/runs/"+s.world.runs[0].ID, "{n}", "1", "{node}", "n", "{id}", "x").Replace(route)
		a := s.ask(t, "reader", line, "") // an admin's token with runs:read and plans:read
		if allowed := scope == "runs:read" || scope == "plans:read"; allowed != (a.status != 403) {
			t.Errorf("%s (scope %s) returned %d", line, scope, a.status)
		}
	}
}

// TestReadingChangesNothing sends every GET as an admin (A17).
func TestReadingChangesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	before, err := s.world.Store.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range api.Routes(s.api) {
		if !strings.HasPrefix(route, "GET ") || strings.HasSuffix(route, "/events") || strings.HasSuffix(route, "/ws") ||
			strings.HasSuffix(route, "/export") {
			continue
		}
		s.ask(t, "admin", strings.NewReplacer("/runs/{id}", "/runs/"+s.world.runs[0].ID, "{n}", "1", "{id}", "x").Replace(route), "")
	}
	after, err := s.world.Store.LastEvent(t.Context())
	if err != nil || after != before {
		t.Errorf("A17: a GET had an effect: %d records, %v", after-before, err)
	}
}

// TestThePageNamesEveryRoute compares docs/reference/api.md with the policy.
func TestThePageNamesEveryRoute(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // route → role
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for i, part := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				rows[part] = strings.TrimSpace(cells[2])
			}
		}
	}
	s := serve(t)
	for _, route := range api.Routes(s.api) {
		role := api.Needs(s.api, route).Role
		if want := cmp.Or(string(role), "anyone"); rows[route] != want {
			t.Errorf("docs/reference/api.md lists %s with the role %q, the policy with %q", route, rows[route], want)
		}
	}
}

// Every route that a page of the documentation names is served.
func TestRoutesOfThePagesAreServed(t *testing.T) {
	t.Parallel()
	served := api.Routes(serve(t).api)
	for i, r := range served {
		served[i] = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(r, "*")
	}
	named := regexp.MustCompile("`((?:GET|POST|PUT|PATCH|DELETE) /[^`?#\\s]*)")
	found := 0
	err := filepath.WalkDir("../../docs", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" || strings.HasSuffix(file, "removals.md") {
			return err
		}
		page, err := os.ReadFile(file)
		for _, m := range named.FindAllStringSubmatch(string(page), -1) {
			route := strings.Replace(m[1], " "+api.Base+"/", " /", 1)
			found++
			if !slices.Contains(served, regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(route, "*")) {
				t.Errorf("%s names %s, which is not served", file, m[1])
			}
		}
		return err
	})
	if err != nil || found < 100 {
		t.Errorf("%d routes: %v", found, err)
	}
}
