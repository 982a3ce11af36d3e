package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// unseededPaths maps each address that tests of all pages leave out to the reason.
var unseededPaths = map[string]string{
	"/login/code": loginStep, "/login/oidc": ssoStep, "/login/oidc/callback": ssoStep, "/setup": "it exists only before the first user",
	"/display": redirects, "/logout": redirects, "/help/shortcuts": redirects, "/columns": redirects, "/views": redirects,
	"/views/default": redirects, "/plans/drafts": redirects, "/demo/answer": redirects,
	"/plans/drafts/:draft/refine": redirects, "/plans/drafts/:draft/accept": "a draft with a plan is needed",
	"/bulk/:bulk/stop": redirects, "/tools": redirects,
	"/tools/:tool": redirects, "/providers": redirects, "/providers/:provider": redirects, "/system/logs": redirects,
	"/system/release": redirects, "/system/maintenance": redirects,
	"/system/backup": redirects, "/settings/notifications/:channel/test": redirects, "/me/password": redirects,
	"/me/sessions": redirects, "/runs/:run/nodes/:node/resolve": redirects,
	"/plans/check": "another name of the editor at /plans/new", "/settings": redirects,
	"/live": "a stream", "/runs/changes": isFragment, "/runs/suggest": isFragment, "/audit/suggest": isFragment,
	"/find/suggest": isFragment,
	"/runs.csv":     isFile, "/audit.jsonl": isFile, "/runs/:run/graph.svg": isFile, "/runs/:run/log.txt": isFile,
	"/runs/:run/log.jsonl": isFile, "/runs/:run/log": redirects, "/runs/:run/state": redirects, "/runs/:run/lineage": redirects,
	"/runs/:run/state/:cp": redirects, "/plans/:plan/versions": redirects, "/plans/:plan/diff/:range": redirects,
	"/runs/:run/summary.md": isFile, "/runs/:run/raw/:seq/:part": isFile,
	"/runs/:run/steps/:seq/raw/:part": isFile, "/plans/:plan/v/:number/graph.svg": isFile, "/plans/:plan/v/:number/source": isFile,
	"/static/:hash/:file": isFile, "/healthz": isFile, "/readyz": isFile,
	"/agents/tools/:tool/accept": "a tool whose definition changed is needed",
	"/settings/tokens/:token":    "it redirects to the list", "/settings/tokens/:token/revoke": "a token is needed, whose id changes",
	"/schedules/:schedule/resume": "a paused schedule is needed", "/schedules/:schedule/missed": "missed slots are needed",
	"/events/hooks/:hook/resume": "a paused hook is needed",
	"/docs/img/:picture":         isFile, "/agents/spend.csv": isFile, "/memory/forget": "a session with memory is needed",
}

// Reasons why an address has no page of its own.
const (
	redirects  = "it redirects to the page with its action"
	isFile     = "text or data, not a page"
	isFragment = "a part of a page, which scripts request"
	ssoStep    = "it redirects to the identity provider, or is called from there"
	loginStep  = "the second step of a login, which begins at /login"
)

// patternOf returns the pattern of the route that serves an address. If several match, it is the
// one with the fewest parameters.
func patternOf(routes []web.Route, address string) string {
	path, _, _ := strings.Cut(address, "?")
	got := strings.Split(path, "/")
	best := ""
	for _, r := range routes {
		want := strings.Split(r.Path, "/")
		if r.Method != http.MethodGet || len(want) != len(got) {
			continue
		}
		same := true
		for i := range want {
			same = same && (want[i] == got[i] || strings.HasPrefix(want[i], ":"))
		}
		if same && (best == "" || strings.Count(r.Path, ":") < strings.Count(best, ":")) {
			best = r.Path
		}
	}
	return best
}

// Tests of all pages (axe, budgets, crawls) cover every page that is not in unseeded.
func TestEveryPageIsSeeded(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	routes := site.Routes()
	covered := map[string]bool{}
	for _, path := range site.Furnish(t, site.Seed(t)).Paths() {
		p := patternOf(routes, path)
		if p == "" {
			t.Errorf("no route serves %s", path)
		}
		covered[p] = true
	}
	for _, r := range routes {
		if r.Method != http.MethodGet {
			continue
		}
		switch why := unseededPaths[r.Path]; {
		case covered[r.Path] && why != "":
			t.Errorf("%s is seeded, but also listed as unseeded: %s", r.Path, why)
		case !covered[r.Path] && why == "":
			t.Errorf("%s is in no path of webtest.Seeded: add one, or add the reason to unseededPaths", r.Path)
		}
	}
}
