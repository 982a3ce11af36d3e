package web_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// addresses fills the parameters of a route. Routes of actions get objects that do not exist, so
// that a request changes nothing.
func addresses(seed webtest.Seeded) *strings.Replacer {
	return strings.NewReplacer(
		":run",
		seed.Failed.ID,
		":plan",
		"ledger",
		":number",
		"1",
		":node",
		"post",
		":action",
		"rerun",
		":seq",
		"1",
		":part",
		"output",
		":approval",
		"none",
		":user",
		"none",
		":token",
		"none",
		":bulk",
		"none",
		":channel",
		"none",
		":event",
		"1",
		":a",
		"1",
		":b",
		"1",
		":hash",
		"x",
		":file",
		"none",
	)
}

// sendRequest sends a request and returns the status and Location of the response. It does not read the
// body, because a stream would not end.
func sendRequest(t *testing.T, b *webtest.Browser, req *http.Request) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	resp := b.Head(req.WithContext(ctx))
	return resp.StatusCode, resp.Header.Get("Location")
}

// Every page route is tested with every role, and only sufficient roles pass. A form without its
// token, of another content type, with another method, or from another site does nothing. No GET
// adds a record to the audit log (A17).
func TestRouteMatrix(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	who := webtest.AllRoles(t, site)
	routes := site.Routes()
	if len(routes) < 60 {
		t.Fatalf("%d routes", len(routes))
	}
	before, err := site.Store.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cells := 0
	cell := func(b *webtest.Browser, role domain.Role, method, path, body, what string,
		want func(code int, location string) bool, header ...string) {
		t.Helper()
		cells++
		if code, location := sendRequest(t, b, webtest.Request(t, method, site.URL+path, body, header...)); !want(code, location) {
			t.Errorf("%s %s as %q, %s: status %d %s", method, path, role, what, code, location)
		}
	}
	refused := func(code int, location string) bool {
		return code == http.StatusForbidden || code == http.StatusSeeOther && strings.HasPrefix(location, "/login?")
	}
	exactly := func(codes ...int) func(int, string) bool {
		return func(code int, location string) bool {
			return slices.Contains(codes, code) || code == http.StatusSeeOther && strings.HasPrefix(location, "/login?")
		}
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	own := append([]string{"Origin", site.URL, "Sec-Fetch-Site", "same-origin"}, form...)
	fill := addresses(seed)
	traces := func(allowed func(domain.AuditEvent) bool) {
		t.Helper()
		events, err := site.Store.EventsAfter(t.Context(), before, "", 5000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if before = e.Seq; !allowed(e) {
				t.Errorf("a preview was recorded: %s %s %s %s", e.Action, e.Actor, e.Object, e.Reason)
			}
		}
	}
	slices.SortStableFunc(routes, func(a, b web.Route) int { return strings.Compare(a.Method, b.Method) })
	read := false
	for _, r := range routes {
		if r.Method != http.MethodGet && !read {
			read = true
			traces(func(domain.AuditEvent) bool { return false }) // A17
		}
		path := fill.Replace(r.Path)
		for role, b := range who {
			may := r.Role == "" || role != "" && role.Includes(r.Role)
			if r.Method == http.MethodGet {
				cell(b, role, r.Method, path, "", "asked", func(code int, location string) bool { return refused(code, location) != may })
				// Headers and fields cannot override the method (A10).
				cell(
					b,
					role,
					r.Method,
					path+"?_method=POST",
					"",
					"method override",
					func(code int, location string) bool { return refused(code, location) != may },
					"X-HTTP-Method-Override",
					"POST",
				)
				cell(b, role, http.MethodHead, path, "", "HEAD", func(code int, location string) bool {
					return refused(code, location) != may && code != http.StatusMethodNotAllowed ||
						path == "/live" && code == http.StatusMethodNotAllowed
				})
				continue
			}
			// Without a form token, no action takes effect.
			cell(b, role, r.Method, path, "csrf=forged", "forged form", exactly(http.StatusForbidden), own...)
			cell(b, role, r.Method, path, "", "no token", exactly(http.StatusForbidden), own...)
			for what, header := range map[string][]string{
				"cross-site":      {"Sec-Fetch-Site", "cross-site"},
				"same-site":       {"Sec-Fetch-Site", "same-site"},
				"foreign origin":  {"Origin", "https://elsewhere.example"},
				"null origin":     {"Origin", "null"},
				"user in origin":  {"Origin", strings.Replace(site.URL, "://", "://user@", 1)},
				"other port":      {"Origin", "http://127.0.0.1:1"},
				"over TLS":        {"Origin", strings.Replace(site.URL, "http://", "https://", 1)},
				"no CSRF headers": {},
			} {
				want := exactly(http.StatusForbidden)
				cell(b, role, r.Method, path, "csrf=anonymous", what, func(code int, location string) bool {
					// Without a cookie, there is no session to abuse, so public routes respond.
					return want(code, location) || what == "no CSRF headers" && role == "" && r.Role == ""
				}, append(header, form...)...)
			}
			for _, kind := range []string{"application/json", "text/plain", "multipart/form-data; boundary=x", ""} {
				cell(
					b,
					role,
					r.Method,
					path,
					`{"csrf":"x"}`,
					"as "+kind,
					exactly(http.StatusUnsupportedMediaType, http.StatusForbidden),
					"Content-Type",
					kind,
					"Origin",
					site.URL,
					"Sec-Fetch-Site",
					"same-origin",
				)
			}
		}
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
			http.MethodTrace, "PURGE"} {
			cell(who[domain.RoleAdmin], domain.RoleAdmin, method, path, "", "another method", func(code int, _ string) bool {
				return code == http.StatusMethodNotAllowed || code == http.StatusForbidden || code == http.StatusNotFound ||
					method == http.MethodOptions && code == http.StatusNoContent
			}, own...)
		}
	}
	traces(func(e domain.AuditEvent) bool { return e.Result == "denied" })
	proof.Figure(t, "access: pages by who asks and how", cells)
}

// Every API route is tested anonymously, with a session and a token of each role, with an admin
// token narrowed to each scope, and with invalid tokens.
func TestAPIMatrix(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	who := webtest.AllRoles(t, site)
	type principal struct {
		name, token string
		browser     *webtest.Browser
		role        domain.Role
		scopes      []string
		known       bool
	}
	nobody := who[""]
	all := []principal{{name: "nobody", browser: nobody}}
	mint := func(name string, actor domain.Actor, role domain.Role, scopes ...string) string {
		text, _, err := site.Auth.CreateToken(t.Context(), actor, name, role, scopes, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, role := range domain.Roles {
		all = append(all, principal{"login " + string(role), "", who[role], role, nil, true},
			principal{"token " + string(role), mint(string(role), site.Admin, role), nobody, role, nil, true})
	}
	for _, scope := range domain.Scopes {
		all = append(
			all,
			principal{"scope " + scope, mint(scope, site.Admin, domain.RoleAdmin, scope), nobody, domain.RoleAdmin, []string{scope}, true},
		)
	}
	revoked := mint("revoked", site.Admin, domain.RoleAdmin)
	list, err := site.Auth.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := site.Auth.RevokeToken(t.Context(), site.Admin,
		list[slices.IndexFunc(list, func(k domain.Token) bool { return k.Name == "revoked" })].ID, ""); err != nil {
		t.Fatal(err)
	}
	gone, err := site.Auth.CreateUser(t.Context(), site.Admin, "gone", webtest.Password, domain.RoleAdmin)
	if err != nil {
		t.Fatal(err)
	}
	orphan := mint("orphan", domain.Actor{Name: "gone", Role: domain.RoleAdmin, Source: "ui"}, domain.RoleAdmin)
	yes := true
	if _, err := site.Auth.UpdateUser(t.Context(), site.Admin, gone.ID, nil, nil, &yes); err != nil {
		t.Fatal(err)
	}
	good := mint("good", site.Admin, domain.RoleAdmin)
	all = append(
		all,
		principal{name: "revoked", token: revoked, browser: nobody},
		principal{name: "of a disabled user", token: orphan, browser: nobody},
		principal{
			name:    "cut short",
			token:   good[:len(good)-3],
			browser: nobody,
		},
		principal{name: "expired", token: site.Expired(t), browser: nobody},
	)

	cells := 0
	fill := strings.NewReplacer(
		"/runs/{id}",
		"/runs/none",
		"/plans/{id}",
		"/plans/none",
		"{id}",
		"none",
		"{n}",
		"1",
		"{node}",
		"post",
		"{name}",
		"none",
		"{channel}",
		"none",
	)
	for _, r := range site.Permissions() {
		path := api.Base + fill.Replace(r.Path)
		for _, p := range all {
			want := http.StatusUnauthorized
			if r.Role == "" || p.known {
				want = 0 // allowed
				if p.known && r.Role != "" &&
					(!p.role.Includes(r.Role) || r.Scope != "" && len(p.scopes) > 0 && !slices.Contains(p.scopes, r.Scope)) {
					want = http.StatusForbidden
				}
			}
			if r.Path == "/users/{id}/login-link" && want == 0 {
				want = http.StatusForbidden // only through the local socket
			}
			if p.known && want == 0 && r.Method != http.MethodGet &&
				(strings.HasPrefix(r.Path, "/system/") || strings.HasPrefix(r.Path, "/bulk") || r.Path == "/ask") {
				continue // these need no object; the test of actions covers them
			}
			header := []string{"Content-Type", "application/json", "Origin", site.URL, "Sec-Fetch-Site", "same-origin"}
			if p.token != "" {
				header = append(header, "Authorization", "Bearer "+p.token)
			}
			body := ""
			if r.Method != http.MethodGet {
				body = `{"nothing": "of the kind"}`
			}
			cells++
			code, _ := sendRequest(t, p.browser, webtest.Request(t, r.Method, site.URL+path, body, header...))
			if want != 0 && code != want || want == 0 && (code == http.StatusUnauthorized || code == http.StatusForbidden) {
				t.Errorf("%s %s as %s: got status %d, want %d", r.Method, path, p.name, code, want)
			}
			if r.Method != http.MethodGet && p.browser != nobody {
				for what, header := range map[string][]string{"cross-site": {"Sec-Fetch-Site", "cross-site"},
					"same-site":   {"Sec-Fetch-Site", "same-site"},
					"null origin": {"Origin", "null"}, "no CSRF headers": {}} {
					cells++
					if code, _ := sendRequest(t, p.browser, webtest.Request(t, r.Method, site.URL+path, body,
						append(header, "Content-Type", "application/json")...)); code != http.StatusForbidden {
						t.Errorf("%s %s as %s, %s: status %d", r.Method, path, p.name, what, code)
					}
				}
			}
		}
	}
	proof.Figure(t, "access: API routes by who asks and how", cells)
}

// Every operation of the policy is served by a page or the API, and they serve no other operations.
func TestEveryOperationIsServed(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	served := map[app.Operation]bool{}
	for _, r := range site.Permissions() {
		served[r.Operation] = true
	}
	for _, r := range site.Routes() {
		served[r.Operation] = true
	}
	for _, op := range []app.Operation{
		app.TryPlan,                                                             // a POST of a document to /runs; the route of start-run
		app.PreviewRun, app.PreviewBulk, app.PreviewBackfill, app.PreviewReplay, // an action with ?preview=true
		app.ReleaseRun, app.RetryNow, app.StartNow, // POST /runs/{id}/resume, and the page of actions
		app.ListPlanTools, app.CallPlanTool, app.AwaitRun, app.CancelCall, app.ActConfirmed, // the servers of protocols
	} {
		served[op] = true
	}
	for _, op := range app.Operations() {
		if !served[op] {
			t.Errorf("no interface serves %s", op)
		}
		delete(served, op)
	}
	delete(served, "") // public pages without an operation
	for op := range served {
		t.Errorf("%s is served but not in the policy", op)
	}
}

// A denied action is in the audit log, for every user and interface. A denied read leaves no
// record.
func TestDeniedActionsAreRecorded(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	who := webtest.AllRoles(t, site)
	denied := func() []domain.AuditEvent {
		t.Helper()
		list, err := site.Store.AuditEvents(t.Context(), domain.AuditFilter{Result: "denied", Page: domain.Page{Limit: 200}})
		if err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	weaker := func(role domain.Role) domain.Role {
		i := slices.Index(domain.Roles, role)
		if i < 1 {
			return ""
		}
		return domain.Roles[i-1]
	}
	csrf := map[domain.Role]url.Values{}
	for role, b := range who {
		csrf[role] = url.Values{"csrf": b.Get("/help").Hidden()["csrf"]}
	}
	counted := map[string]int{}
	check := func(method, path string, role domain.Role, send func() int) {
		t.Helper()
		before := len(denied())
		if code := send(); code != http.StatusForbidden {
			t.Errorf("%s %s as %s: got status %d, want %d", method, path, role, code, http.StatusForbidden)
		}
		after := denied()
		if len(after) != before+1 {
			t.Errorf("%s %s as %s: %d records of it, want 1", method, path, role, len(after)-before)
			return
		}
		counted[after[0].Source]++
		if e := after[0]; e.Action != "access.denied" ||
			e.Actor != string(role) && !strings.HasPrefix(e.Actor, "token "+string(role)+" ") ||
			e.Object != method+" "+path ||
			e.Reason == "" {
			t.Errorf("the record of %s %s as %s: %+v", method, path, role, e.AuditRecord)
		}
	}
	fill := addresses(seed)
	for _, r := range site.Routes() {
		role := weaker(r.Role)
		if role == "" || r.Method == http.MethodGet {
			continue
		}
		path := fill.Replace(r.Path)
		check(r.Method, path, role, func() int { return who[role].Post(path, csrf[role]).Code })
	}
	tokens := map[domain.Role]string{}
	for _, role := range domain.Roles {
		text, _, err := site.Auth.CreateToken(t.Context(), site.Admin, string(role), role, nil, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		tokens[role] = text
	}
	apiFill := strings.NewReplacer("{id}", "none", "{n}", "1", "{node}", "post", "{name}", "none", "{channel}", "none")
	for _, r := range site.Permissions() {
		role := weaker(r.Role)
		if role == "" || r.Method == http.MethodGet {
			continue
		}
		path := api.Base + apiFill.Replace(r.Path)
		check(r.Method, path, role, func() int {
			code, _ := sendRequest(
				t,
				who[""],
				webtest.Request(
					t,
					r.Method,
					site.URL+path,
					"{}",
					"Content-Type",
					"application/json",
					"Authorization",
					"Bearer "+tokens[role],
				),
			)
			return code
		})
	}
	if counted["ui"] < 15 || counted["api"] < 25 {
		t.Errorf("too few actions were denied: %v", maps.Collect(maps.All(counted)))
	}
	before := len(denied())
	who[domain.RoleViewer].Get("/settings/users")
	if len(denied()) != before {
		t.Error("A17: a read was recorded")
	}
}

// The address of an action is safe to open. It shows a preview or the page with its form.
func TestEveryActionHasAPage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	shown := map[string]domain.Role{}
	for _, r := range site.Routes() {
		if r.Method == http.MethodGet {
			shown[r.Path] = r.Role
		}
	}
	for _, r := range site.Routes() {
		if role, ok := shown[r.Path]; r.Method == http.MethodPost && (!ok || role != "" && !r.Role.Includes(role)) {
			t.Errorf("POST %s for %q; GET: %v %q", r.Path, r.Role, ok, role)
		}
	}
}
