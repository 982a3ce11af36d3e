package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// unseeded maps each address that tests of all pages leave out to the reason.
var unseeded = map[string]string{
	"/login/code": noPage, "/login/oidc": provider, "/login/oidc/callback": provider, "/setup": "it is there before the first user only",
	"/display": elsewhere, "/logout": elsewhere, "/help/shortcuts": elsewhere, "/columns": elsewhere, "/views": elsewhere,
	"/views/default": elsewhere, "/plans/drafts": elsewhere, "/demo/answer": elsewhere,
	"/plans/drafts/:draft/refine": elsewhere, "/plans/drafts/:draft/accept": "a draft that came to a plan is needed",
	"/bulk/:bulk/stop": elsewhere, "/tools": elsewhere,
	"/tools/:tool": elsewhere, "/providers": elsewhere, "/providers/:provider": elsewhere, "/system/logs": elsewhere,
	"/system/release": elsewhere, "/system/maintenance": elsewhere,
	"/system/backup": elsewhere, "/settings/notifications/:channel/test": elsewhere, "/me/password": elsewhere,
	"/me/sessions": elsewhere, "/runs/:run/nodes/:node/resolve": elsewhere,
	"/plans/check": "the editor of /plans/new by another name", "/settings": elsewhere,
	"/live": "a stream", "/runs/changes": aFragment, "/runs/suggest": aFragment, "/audit/suggest": aFragment, "/find/suggest": aFragment,
	"/runs.csv": aFile, "/audit.jsonl": aFile, "/runs/:run/graph.svg": aFile, "/runs/:run/log.txt": aFile,
	"/runs/:run/log.jsonl": aFile, "/runs/:run/log": elsewhere, "/runs/:run/state": elsewhere, "/runs/:run/lineage": elsewhere,
	"/runs/:run/state/:cp": elsewhere, "/plans/:plan/versions": elsewhere, "/plans/:plan/diff/:range": elsewhere,
	"/runs/:run/summary.md": aFile, "/runs/:run/raw/:seq/:part": aFile,
	"/runs/:run/steps/:seq/raw/:part": aFile, "/plans/:plan/v/:number/graph.svg": aFile, "/plans/:plan/v/:number/source": aFile,
	"/static/:hash/:file": aFile, "/healthz": aFile, "/readyz": aFile,
	"/agents/tools/:tool/accept": "a tool whose definition changed is needed",
	"/settings/tokens/:token":    "it leads to the list", "/settings/tokens/:token/revoke": "a token is needed, whose id changes",
	"/docs/img/:picture": aFile, "/agents/spend.csv": aFile, "/memory/forget": "a session that remembers is needed",
	"/schedules/:schedule": aSchedule, "/schedules/:schedule/edit": aSchedule, "/schedules/:schedule/pause": aSchedule,
	"/schedules/:schedule/resume": aSchedule, "/schedules/:schedule/delete": aSchedule,
	"/schedules/:schedule/backfill": aSchedule, "/schedules/:schedule/missed": aSchedule,
}

// Reasons why an address has no page of its own.
const (
	elsewhere = "it leads to the page where its act is"
	aFile     = "no page, but text or data"
	aSchedule = "a schedule is needed; see the tests of web/schedules"
	aFragment = "a part of a page, which scripts ask for"
	provider  = "it leads to the identity provider, or comes from there"
	noPage    = "the second step of a login, which begins at /login"
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
			t.Errorf("no route answers %s", path)
		}
		covered[p] = true
	}
	for _, r := range routes {
		if r.Method != http.MethodGet {
			continue
		}
		switch why := unseeded[r.Path]; {
		case covered[r.Path] && why != "":
			t.Errorf("%s is seeded, and yet it is said why not: %s", r.Path, why)
		case !covered[r.Path] && why == "":
			t.Errorf("%s is in no path of webtest.Seeded: add one, or say here why not", r.Path)
		}
	}
}
