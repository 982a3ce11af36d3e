package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/bundle"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/web/webtest"
)

// canary is text that no page may interpret. It contains an element with handlers and htmx
// attributes, a script, a javascript: link, and an image that would leak the reader's address (A26
// to A29).
const canary = `xc"'></textarea></title><x-canary onclick=xc() style=xc srcdoc=xc hx-get="//xc.example/" hx-on:load="xc()" data-hx-post="//xc.example/">` +
	`<script>xc()</script><img src="//xc.example/p.png" onerror=xc()><a href="javascript:xc()">xc</a>![xc](https://xc.example/p.png)&lt;xc`

// canaryLinks are values that must not become links (A27).
var canaryLinks = []string{
	"javascript:xc()",
	"data:text/html,<script>xc()</script>",
	"https://xc.example/steal?",
	"![xc](https://xc.example/p.png)",
}

// plantCanary stores the canary in every text field that users can change.
func plantCanary(t *testing.T, site *webtest.Site, b *webtest.Browser) {
	t.Helper()
	quoted, err := jsonvalue.Encode(canary)
	if err != nil {
		t.Fatal(err)
	}
	q := string(quoted)
	short, err := jsonvalue.Encode(canary[:190])
	if err != nil {
		t.Fatal(err)
	}
	name := string(short)
	links, err := jsonvalue.Encode([]any{canaryLinks[0], canaryLinks[1], canaryLinks[2], canaryLinks[3], map[string]any{canary: canary}})
	if err != nil {
		t.Fatal(err)
	}
	site.Plan(t, `{"id": "canary", "name": `+name+`, "description": `+q+`, "metadata": {"owner": `+q+`}, "x-note": `+q+`,
		"input": {"type": "object", "title": `+q+`, "description": `+q+`, "properties": {"text": {"type": "string", "title": `+
		q+`, "description": `+q+`, "default": `+q+`}}},
		"nodes": {"say": {"type": "set", "metadata": {"label": `+q+`}, "input": `+string(links)+
		`}, "ask": {"type": "approval", "needs": ["say"], "input": {"message": `+q+`,
		"form": {"type": "object", "properties": {"note": {"type": "string", "title": `+q+`, "description": `+q+
		`}, "pick": {"type": "string", "enum": [`+q+`]}}}}},
		"log": {"type": "log", "needs": ["ask"], "input": `+q+`}}}`)
	site.Plan(t, `{"id": "broken", "nodes": {"a": {"type": "json", "input": {"value": 1, "path": `+q+`}}}}`)
	site.Plan(
		t,
		`{"id": "branch", "nodes": {"a": {"type": "decision"}, "b": {"type": "noop"}}, "edges": [{"from": "a", "to": "b", "condition": "last == xc<x-canary>"}, {"from": "a", "to": "b"}]}`,
	)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	start := func(plan, input string) domain.Run {
		r, err := site.Engine.Start(
			t.Context(),
			site.Admin,
			domain.StartRequest{Plan: plan, Input: domain.RawJSON(input), Labels: map[string]string{"env": canary[:120]}, Origin: "ui"},
		)
		if err != nil {
			t.Fatal(err)
		}
		if r, err = site.Engine.Wait(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		return r
	}
	open := start("canary", `{"text": `+q+`}`)
	rejected := start("canary", `{"text": `+q+`}`)
	done := start("canary", `{"text": `+q+`}`)
	for run, approve := range map[string]bool{rejected.ID: false, done.ID: true} {
		list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: run})
		if err != nil || len(list.Items) != 1 {
			t.Fatal(list, err)
		}
		if _, err := site.Engine.Decide(t.Context(), site.Admin, domain.DecideRequest{Approval: list.Items[0].ID,
			Approve: approve, Comment: canary}); err != nil {
			t.Fatal(err)
		}
		if _, err := site.Engine.Wait(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	start("broken", q)
	start("branch", q)
	start("talk", q)
	cancelled := start("canary", `{"text": `+q+`}`)
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: cancelled.ID, Action: domain.ActionCancel,
		Reason: canary}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := site.Auth.CreateToken(t.Context(), site.Admin, "<x-canary onclick=xc()>", domain.RoleViewer, nil,
		time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := site.Store.Audit(t.Context(), domain.AuditRecord{Action: "note", Actor: canary, Source: "ui", Object: canary,
		Run: open.ID, Result: "ok", Reason: canary, Detail: domain.RawJSON(`{"a": ` + q + `}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.App.Views.Save(t.Context(), app.ViewChange{Meta: app.Meta{By: site.Admin}, Name: canary[:80],
		Query: "plan:canary"}); err != nil {
		t.Fatal(err)
	}
	if _, err := site.App.Plans.Archive(t.Context(), app.PlanChange{Meta: app.Meta{By: site.Admin}, Plan: "branch",
		Reason: canary}); err != nil {
		t.Fatal(err)
	}
	f := webtest.Form(t, b.Get("/bulk/new?do=resume&q=status:failed").Body, `name="digest"`)
	f.Set("reason", canary)
	if p := b.Post("/bulk", f); p.Code != http.StatusSeeOther {
		t.Fatalf("bulk: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	// A login with the canary as its User-Agent.
	req := webtest.Request(
		t,
		http.MethodPost,
		site.URL+"/login",
		url.Values{"csrf": {"anonymous"}, "name": {"marta"}, "password": {webtest.Password}}.Encode(),
		"Content-Type",
		"application/x-www-form-urlencoded",
		"User-Agent",
		canary,
		"Origin",
		site.URL,
		"Sec-Fetch-Site",
		"same-origin",
	)
	if p := site.Browser(t).Do(req); p.Code != http.StatusSeeOther {
		t.Fatalf("login: got status %d, want %d", p.Code, http.StatusSeeOther)
	}
	site.ChangeTool(t, canary)
}

// checkCanaryEscaped reports every part of a page that was interpreted from the canary.
func checkCanaryEscaped(t *testing.T, at, body string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	embedded := strings.HasPrefix(at, "/docs/") // documentation pages have images and links to other sites
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || embedded && n.Data == "img" {
			continue
		}
		if n.Data == "x-canary" || n.Data == "img" || n.Data == "iframe" || n.Data == "object" || n.Data == "base" ||
			(n.Data == "script" || n.Data == "style") && n.FirstChild != nil {
			t.Errorf("%s: element <%s> was created from stored data", at, n.Data)
		}
		for _, a := range n.Attr {
			key, value := strings.TrimPrefix(strings.ToLower(a.Key), "data-"), strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(key, "on") && a.Namespace == "" && len(key) > 2,
				strings.HasPrefix(key, "hx-on"),
				key == "srcdoc",
				key == "style",
				key == "formaction",
				key == "ping":
				t.Errorf("%s: <%s %s=%q>", at, n.Data, a.Key, a.Val)
			case slices.Contains([]string{"href", "src", "action", "hx-get", "hx-post", "hx-put", "hx-delete", "hx-patch",
				"poster", "xlink:href"}, key):
				// Addresses are paths on this site or positions on the page.
				if embedded && strings.HasPrefix(value, "https://") {
					continue
				}
				if value != "" && value[0] != '#' && value[0] != '?' &&
					(value[0] != '/' || strings.HasPrefix(value, "//") || strings.ContainsAny(value, "\\\t\n")) {
					t.Errorf("%s: <%s %s=%q> links to another site", at, n.Data, a.Key, a.Val)
				}
			case key == "hx-vals" && strings.HasPrefix(value, "js:"):
				t.Errorf("%s: <%s %s=%q>", at, n.Data, a.Key, a.Val)
			}
		}
	}
}

var idPattern = regexp.MustCompile(`[0-9a-z]{26}|[0-9]+`)

// pageVariants returns the page of an address without object IDs, and the page once with each of its
// parameters.
func pageVariants(u *url.URL) []string {
	page := idPattern.ReplaceAllString(u.Path, "·")
	out := []string{page}
	for k, v := range u.Query() {
		if slices.Contains([]string{"view", "tab", "do", "part", "mode", "zoom", "paint"}, k) {
			k += "=" + v[0]
		}
		out = append(out, page+"?"+k)
	}
	return out
}

// The crawl visits every reachable page, whole and as a fragment, with the canary in every text
// field. Every response has the security headers (A26, A27, A28, A29).
func TestEncodingCrawl(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	plantCanary(t, site, b)
	each := proof.Size(2, 40)
	seen, shapes := map[string]bool{}, map[string]int{}
	queue := []string{
		"/",
		"/runs",
		"/plans",
		"/approvals",
		"/approvals?status=approved",
		"/approvals?status=rejected",
		"/handoffs",
		"/agents",
		"/agents/tools",
		"/agents/providers",
		"/audit",
		"/system",
		"/settings",
		"/settings/users",
		"/settings/tokens",
		"/me",
		"/help",
		"/ask",
		"/bulk",
		"/bulk/new?do=cancel&q=plan:canary",
		"/plans/new",
		"/plans/canary",
		"/plans/canary/start",
		"/plans/canary/edit",
		"/find?q=" + url.QueryEscape(canary),
		"/runs?q=" + url.QueryEscape("plan:"+canary),
		"/audit?q=" + url.QueryEscape(
			"actor:"+canary,
		),
		"/login?next=" + url.QueryEscape("/"+canary),
		"/login/link?token=" + url.QueryEscape(canary),
		"/" + url.PathEscape(canary),
		"/plans/" + url.PathEscape(canary),
		"/runs/" + url.PathEscape(canary),
		"/agents/tools/crm.find/accept",
	}
	pages, sown := 0, 0
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		u, err := url.Parse(at)
		if err != nil || seen[at] || u.Host != "" || strings.HasPrefix(u.Path, "/static/") || u.Path == "/live" || u.Path == "/metrics" ||
			strings.HasPrefix(u.Path, "/login/oidc") ||
			strings.HasPrefix(u.Path, "/api/") {
			continue
		}
		seen[at] = true
		fresh := false
		for _, k := range pageVariants(u) {
			fresh = fresh || shapes[k] < each
		}
		if !fresh {
			continue
		}
		for _, k := range pageVariants(u) {
			shapes[k]++
		}
		for _, fragment := range []bool{false, true} {
			var header []string
			if fragment {
				header = []string{"HX-Request", "true", "Sec-Fetch-Site", "same-origin"}
			}
			p := b.Do(webtest.Request(t, http.MethodGet, site.URL+at, "", header...))
			pages++
			checkSecurityHeaders(t, at, p.Header)
			kind := p.Header.Get("Content-Type")
			if p.Code >= 500 && p.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: got status %d, want %d", at, p.Code, http.StatusServiceUnavailable)
			}
			if !strings.HasPrefix(kind, "text/html") {
				if kind != "" && kind != "application/problem+json" && kind != bundle.MediaType && !strings.HasPrefix(kind,
					"text/plain") && !strings.HasPrefix(kind, "application/json") && !strings.HasPrefix(kind, "application/octet-stream") &&
					!strings.HasPrefix(kind, "application/x-ndjson") && !strings.HasPrefix(kind, "application/yaml") &&
					!strings.HasPrefix(kind, "text/markdown") &&
					!strings.HasPrefix(kind, "text/csv") &&
					!strings.HasPrefix(p.Header.Get("Content-Security-Policy"), "sandbox;") {
					t.Errorf("%s is %s", at, kind)
				}
				continue
			}
			if strings.Contains(p.Body, "xc") {
				sown++
			}
			checkCanaryEscaped(t, at, p.Body)
			if i := strings.Index(p.Body, "%!"); i >= 0 {
				t.Errorf("%s has a text with missing arguments: %.80s", at, p.Body[max(0, i-40):])
			}
			if fragment {
				continue
			}
			doc, err := html.Parse(strings.NewReader(p.Body))
			if err != nil {
				t.Fatal(err)
			}
			for n := range doc.Descendants() {
				for _, a := range n.Attr {
					if n.Data == "a" && a.Key == "href" || a.Key == "hx-get" || n.Data == "form" && a.Key == "action" {
						if to, err := u.Parse(a.Val); err == nil {
							to.Fragment = ""
							queue = append(queue, to.RequestURI())
						}
					}
				}
			}
		}
	}
	if pages < 150 || sown < 60 {
		t.Errorf("visited only %d pages, %d of them with the canary", pages, sown)
	}
	proof.Figure(t, "access: pages and fragments crawled for a canary", pages)
}

// checkSecurityHeaders checks the headers that every response has (S08).
func checkSecurityHeaders(t *testing.T, at string, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s is %q", at, name, got)
		}
	}
	csp := h.Get("Content-Security-Policy")
	if strings.HasPrefix(csp, "sandbox; default-src 'none'") && strings.HasPrefix(h.Get("Content-Disposition"), "attachment") {
		return // a download, never shown as a page
	}
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'",
		"object-src 'none'"} {
		if !strings.Contains(csp, part) {
			t.Errorf("%s: the CSP lacks %s: %q", at, part, csp)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Errorf("%s: %s", at, csp)
	}
}

// S08, S09: every route sends the security headers with every response, and no route responds to
// another host name.
func TestEveryRouteHasItsHeaders(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	fill, apiFill := addresses(
		seed,
	), strings.NewReplacer(
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
	paths := map[string]bool{"/nowhere": true, api.Base + "/nowhere": true}
	for _, r := range site.Routes() {
		paths[fill.Replace(r.Path)] = true
	}
	for _, r := range site.Permissions() {
		paths[api.Base+apiFill.Replace(r.Path)] = true
	}
	for path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			resp := b.Head(webtest.Request(t, method, site.URL+path, ""))
			checkSecurityHeaders(t, method+" "+path, resp.Header)
			if kept := resp.Header.Get("Cache-Control"); kept != "no-store" && !strings.HasPrefix(path, "/static/") && path != "/healthz" &&
				path != "/readyz" {
				t.Errorf("%s %s: Cache-Control is %q", method, path, kept)
			}
			if strings.HasPrefix(path, api.Base) && resp.Header.Get("Content-Type") != "" {
				if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") &&
					!strings.HasPrefix(kind, "application/problem+json") &&
					!strings.HasPrefix(kind, "text/event-stream") &&
					!strings.HasPrefix(kind, "application/openapi+json") {
					t.Errorf("%s %s is %s", method, path, kind)
				}
			}
			req := webtest.Request(t, method, site.URL+path, "")
			req.Host = "evil.example"
			if resp := b.Head(req); resp.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("A12: %s %s for evil.example: got status %d, want %d",
					method, path, resp.StatusCode, http.StatusMisdirectedRequest)
			}
		}
	}
}
