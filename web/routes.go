package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/static"
)

// open marks routes that need no login. It is a word and not nothing, so that a
// route without a permission is found out (T11).
const open kairos.Role = "everybody"

// unlisted are the addresses besides the table: they are for everybody, and say
// nothing of what is stored.
var unlisted = []string{"/static/:hash/:file", "/healthz", "/readyz"}

// route is one address and who may use it.
type route struct {
	method, path string
	role         kairos.Role
	handle       func(*request) error
}

// table is every address of the dashboard. A GET never changes
// anything, but for the one that ends a login at the identity provider; every
// POST also answers GET, with a preview of the act or the page of its form.
func (s *Server) table() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{get, "/login", open, (*request).loginPage},
		{post, "/login", open, (*request).login},
		{get, "/login/code", open, (*request).loginPage},
		{post, "/login/code", open, (*request).loginCode},
		{get, "/login/oidc", open, (*request).toProvider},
		{get, "/login/oidc/callback", open, (*request).fromProvider},
		{get, "/login/link", open, (*request).linkPage},
		{post, "/login/link", open, (*request).followLink},
		{get, "/setup", open, (*request).setupPage},
		{post, "/setup", open, (*request).setup},
		{post, "/logout", kairos.RoleViewer, (*request).logout},
		{post, "/display", open, (*request).setDisplay},
		{get, "/display", open, see("/me")},
		{get, "/logout", kairos.RoleViewer, see("/me")},

		{get, "/", kairos.RoleViewer, (*request).home},
		{get, "/failures/ack", kairos.RoleOperator, (*request).ackForm},
		{post, "/failures/ack", kairos.RoleOperator, (*request).ack},
		{get, "/failures/unack", kairos.RoleOperator, (*request).ackForm},
		{post, "/failures/unack", kairos.RoleOperator, (*request).ack},
		{get, "/find", kairos.RoleViewer, (*request).find},
		{get, "/help", kairos.RoleViewer, (*request).help},
		{get, "/help/shortcuts", kairos.RoleViewer, see("/help#shortcuts")},
		{get, "/live", kairos.RoleViewer, (*request).live},

		{get, "/runs", kairos.RoleViewer, (*request).runs},
		{get, "/runs/compare", kairos.RoleViewer, (*request).compare},
		{get, "/runs/changes", kairos.RoleViewer, (*request).changes},
		{get, "/runs/new", kairos.RoleOperator, (*request).newRun},
		{get, "/runs/suggest", kairos.RoleViewer, (*request).suggest},
		{get, "/runs.csv", kairos.RoleViewer, (*request).exportRuns},
		{post, "/columns", kairos.RoleViewer, (*request).setColumns},
		{get, "/columns", kairos.RoleViewer, see("/runs")},
		{get, "/runs/:run", kairos.RoleViewer, (*request).run},
		{get, "/runs/:run/graph.svg", kairos.RoleViewer, (*request).graphFile},
		{get, "/runs/:run/lineage", kairos.RoleViewer, (*request).lineage},
		{get, "/runs/:run/steps/:seq", kairos.RoleViewer, (*request).stepPage},
		{get, "/runs/:run/steps/:seq/raw/:part", kairos.RoleViewer, (*request).stepRaw},
		{get, "/runs/:run/log", kairos.RoleViewer, see("/runs/:run?view=log")},
		{get, "/runs/:run/log.txt", kairos.RoleViewer, (*request).logFile},
		{get, "/runs/:run/log.jsonl", kairos.RoleViewer, (*request).logLines},
		{get, "/runs/:run/state", kairos.RoleViewer, see("/runs/:run?view=state")},
		{get, "/runs/:run/state/:cp", kairos.RoleViewer, (*request).stateAt},
		{get, "/runs/:run/peek", kairos.RoleViewer, (*request).peek},
		{get, "/runs/:run/raw/:seq/:part", kairos.RoleViewer, (*request).raw},
		{get, "/runs/:run/summary.md", kairos.RoleViewer, (*request).summaryFile},
		{get, "/runs/:run/note", kairos.RoleOperator, (*request).notePage},
		{post, "/runs/:run/note", kairos.RoleOperator, (*request).note},
		{get, "/runs/:run/ack", kairos.RoleOperator, (*request).ackRunPage},
		{post, "/runs/:run/ack", kairos.RoleOperator, (*request).ackRun},
		{get, "/runs/:run/:action", kairos.RoleOperator, (*request).previewPage},
		{post, "/runs/:run/:action", kairos.RoleOperator, (*request).act},
		{post, "/runs/:run/nodes/:node/resolve", kairos.RoleOperator, (*request).resolve},
		{get, "/runs/:run/nodes/:node/resolve", kairos.RoleOperator, see("/runs/:run?node=:node")},

		{get, "/bulk", kairos.RoleViewer, (*request).bulkList},
		{get, "/bulk/new", kairos.RoleOperator, (*request).bulkPreview},
		{post, "/bulk", kairos.RoleOperator, (*request).bulkStart},
		{get, "/bulk/:bulk", kairos.RoleViewer, (*request).bulkShow},
		{post, "/bulk/:bulk/stop", kairos.RoleOperator, (*request).bulkStop},
		{get, "/bulk/:bulk/stop", kairos.RoleOperator, see("/bulk/:bulk")},
		{post, "/views", kairos.RoleOperator, (*request).saveView},
		{get, "/views", kairos.RoleOperator, see("/runs")},
		{post, "/views/default", kairos.RoleViewer, (*request).setDefaultView},
		{get, "/views/default", kairos.RoleViewer, see("/runs")},

		{get, "/steps", kairos.RoleViewer, (*request).steps},

		{get, "/plans", kairos.RoleViewer, (*request).plans},
		{get, "/plans/new", kairos.RoleAuthor, (*request).newPlan},
		{post, "/plans/new", kairos.RoleAuthor, (*request).savePlan},
		{get, "/plans/check", kairos.RoleAuthor, (*request).newPlan},
		{post, "/plans/check", kairos.RoleAuthor, (*request).checkPlan},
		{get, "/plans/:plan", kairos.RoleViewer, (*request).plan},
		{get, "/plans/:plan/v/:number", kairos.RoleViewer, (*request).plan},
		{get, "/plans/:plan/v/:number/graph.svg", kairos.RoleViewer, (*request).planGraphFile},
		{get, "/plans/:plan/v/:number/source", kairos.RoleViewer, (*request).planSource},
		{get, "/plans/:plan/v/:number/restore", kairos.RoleAuthor, (*request).restorePage},
		{post, "/plans/:plan/v/:number/restore", kairos.RoleAuthor, (*request).restore},
		{get, "/plans/:plan/diff/:a/:b", kairos.RoleViewer, (*request).planDiff},
		{get, "/plans/:plan/diff/:range", kairos.RoleViewer, (*request).planDiffRange},
		{get, "/plans/:plan/versions", kairos.RoleViewer, see("/plans/:plan")},
		{get, "/plans/:plan/archive", kairos.RoleAuthor, (*request).archivePage},
		{post, "/plans/:plan/archive", kairos.RoleAuthor, (*request).archive},
		{get, "/plans/:plan/pause", kairos.RoleOperator, (*request).pausePage},
		{post, "/plans/:plan/pause", kairos.RoleOperator, (*request).pause},
		{get, "/plans/:plan/edit", kairos.RoleAuthor, (*request).editPlan},
		{post, "/plans/:plan/edit", kairos.RoleAuthor, (*request).savePlan},
		{get, "/plans/:plan/start", kairos.RoleOperator, (*request).startPage},
		{post, "/plans/:plan/start", kairos.RoleOperator, (*request).start},

		{get, "/ask", kairos.RoleOperator, (*request).askPage},
		{post, "/ask", kairos.RoleOperator, (*request).makeDraft},
		{get, "/ask/:plan/v/:number", kairos.RoleViewer, (*request).plannedVersion},
		{post, "/ask/:plan/v/:number", kairos.RoleOperator, (*request).acceptVersion},
		{get, "/plans/drafts", kairos.RoleViewer, see("/plans?state=draft")},
		{post, "/plans/drafts", kairos.RoleOperator, (*request).makeDraft},
		{get, "/plans/drafts/:draft", kairos.RoleViewer, (*request).draftPage},
		{get, "/plans/drafts/:draft/refine", kairos.RoleOperator, see("/plans/drafts/:draft#refine")},
		{post, "/plans/drafts/:draft/refine", kairos.RoleOperator, (*request).refineDraft},
		{get, "/plans/drafts/:draft/accept", kairos.RoleOperator, (*request).acceptPage},
		{post, "/plans/drafts/:draft/accept", kairos.RoleOperator, (*request).acceptDraft},
		{get, "/plans/drafts/:draft/discard", kairos.RoleOperator, (*request).discardPage},
		{post, "/plans/drafts/:draft/discard", kairos.RoleOperator, (*request).discardDraft},

		{get, "/approvals", kairos.RoleViewer, (*request).approvals},
		{get, "/approvals/bulk", kairos.RoleOperator, (*request).bulkApprovals},
		{post, "/approvals/bulk", kairos.RoleOperator, (*request).decideAlike},
		{get, "/approvals/:approval/assign", kairos.RoleOperator, (*request).approval},
		{post, "/approvals/:approval/assign", kairos.RoleOperator, (*request).assign},
		{get, "/approvals/:approval", kairos.RoleViewer, (*request).approval},
		{post, "/approvals/:approval", kairos.RoleOperator, (*request).decide},
		{get, "/agents", kairos.RoleViewer, (*request).crew},
		{get, "/tools", kairos.RoleViewer, see("/agents/tools")},
		{get, "/tools/:tool", kairos.RoleViewer, see("/agents/tools/:tool")},
		{get, "/providers", kairos.RoleViewer, see("/agents/providers")},
		{get, "/providers/:provider", kairos.RoleViewer, see("/agents/providers/:provider")},
		{get, "/agents/:part", kairos.RoleViewer, (*request).crew},
		{get, "/agents/agents/:agent", kairos.RoleViewer, (*request).agentPage},
		{get, "/agents/tools/:tool", kairos.RoleViewer, (*request).toolPage},
		{get, "/agents/tools/:tool/accept", kairos.RoleAdmin, (*request).acceptToolPage},
		{post, "/agents/tools/:tool/accept", kairos.RoleAdmin, (*request).acceptTool},
		{get, "/agents/tools/:tool/try", kairos.RoleAuthor, (*request).tryToolPage},
		{post, "/agents/tools/:tool/try", kairos.RoleAuthor, (*request).tryTool},
		{get, "/agents/tools/:tool/stop", kairos.RoleOperator, (*request).stopToolPage},
		{post, "/agents/tools/:tool/stop", kairos.RoleOperator, (*request).stopTool},
		{get, "/agents/tools/:tool/circuit", kairos.RoleOperator, (*request).toolCircuitPage},
		{post, "/agents/tools/:tool/circuit", kairos.RoleOperator, (*request).changeToolCircuit},
		{get, "/agents/providers/:provider", kairos.RoleViewer, (*request).providerPage},
		{get, "/agents/providers/:provider/stop", kairos.RoleOperator, (*request).stopProviderPage},
		{post, "/agents/providers/:provider/stop", kairos.RoleOperator, (*request).stopProvider},
		{get, "/agents/providers/:provider/circuit", kairos.RoleOperator, (*request).providerCircuitPage},
		{post, "/agents/providers/:provider/circuit", kairos.RoleOperator, (*request).changeProviderCircuit},
		{get, "/agents/servers/:server/retry", kairos.RoleOperator, (*request).retryServerPage},
		{post, "/agents/servers/:server/retry", kairos.RoleOperator, (*request).retryServer},
		{get, "/handoffs", kairos.RoleViewer, (*request).allHandoffs},
		{get, "/handoffs/:handoff", kairos.RoleViewer, (*request).handoffPage},
		{get, "/audit", kairos.RoleViewer, (*request).audit},
		{get, "/audit.jsonl", kairos.RoleViewer, (*request).exportAudit},
		{get, "/audit/suggest", kairos.RoleViewer, (*request).suggestAudit},
		{get, "/audit/verify", kairos.RoleOperator, (*request).verifyPage},
		{post, "/audit/verify", kairos.RoleOperator, (*request).verify},
		{get, "/audit/:event", kairos.RoleViewer, (*request).auditEvent},

		{get, "/system", kairos.RoleViewer, (*request).system},
		{get, "/system/storage", kairos.RoleViewer, (*request).systemStorage},
		{get, "/system/jobs", kairos.RoleViewer, (*request).systemJobs},
		{get, "/system/log", kairos.RoleOperator, (*request).systemLog},
		{get, "/system/logs", kairos.RoleOperator, see("/system/log")},
		{get, "/system/config", kairos.RoleAdmin, (*request).systemConfig},
		{post, "/system/release", kairos.RoleOperator, (*request).releaseAll},
		{post, "/system/maintenance", kairos.RoleOperator, (*request).maintain},
		{post, "/system/backup", kairos.RoleAdmin, (*request).backUp},
		{get, "/system/release", kairos.RoleOperator, see("/system")},
		{get, "/system/maintenance", kairos.RoleOperator, see("/system")},
		{get, "/system/backup", kairos.RoleAdmin, see("/system")},

		{get, "/settings", kairos.RoleAdmin, (*request).settings},
		{get, "/settings/users", kairos.RoleAdmin, (*request).users},
		{post, "/settings/users", kairos.RoleAdmin, (*request).createUser},
		{get, "/settings/users/:user", kairos.RoleAdmin, (*request).user},
		{post, "/settings/users/:user", kairos.RoleAdmin, (*request).changeUser},
		{get, "/settings/roles", kairos.RoleAdmin, (*request).roleSettings},
		{get, "/settings/tokens", kairos.RoleAdmin, (*request).tokens},
		{post, "/settings/tokens", kairos.RoleAdmin, (*request).createToken},
		{get, "/settings/tokens/:token", kairos.RoleAdmin, see("/settings/tokens")},
		{get, "/settings/tokens/:token/revoke", kairos.RoleAdmin, (*request).revokeTokenPage},
		{post, "/settings/tokens/:token/revoke", kairos.RoleAdmin, (*request).revokeToken},
		{get, "/memory", kairos.RoleViewer, (*request).memory},
		{get, "/memory/forget", kairos.RoleOperator, (*request).forgetPage},
		{post, "/memory/forget", kairos.RoleOperator, (*request).forget},
		{get, "/settings/access", kairos.RoleAdmin, (*request).accessSettings},
		{get, "/settings/notifications", kairos.RoleAdmin, (*request).notificationSettings},
		{post, "/settings/notifications/:channel/test", kairos.RoleAdmin, (*request).testChannel},
		{get, "/settings/notifications/:channel/test", kairos.RoleAdmin, see("/settings/notifications")},
		{get, "/settings/retention", kairos.RoleAdmin, (*request).retentionSettings},
		{post, "/settings/retention", kairos.RoleAdmin, (*request).runRetention},
		{get, "/settings/secrets", kairos.RoleAdmin, (*request).secretSettings},
		{get, "/settings/secrets/:secret/rotate", kairos.RoleAdmin, (*request).rotateSecretPage},
		{post, "/settings/secrets/:secret/rotate", kairos.RoleAdmin, (*request).rotateSecret},
		{get, "/me", kairos.RoleViewer, (*request).me},
		{get, "/me/second-factor", kairos.RoleViewer, (*request).secondFactorPage},
		{post, "/me/second-factor", kairos.RoleViewer, (*request).setSecondFactor},
		{post, "/me/password", kairos.RoleViewer, (*request).changePassword},
		{post, "/me/sessions", kairos.RoleViewer, (*request).signOut},
		{get, "/me/password", kairos.RoleViewer, see("/me")},
		{get, "/me/sessions", kairos.RoleViewer, see("/me")},
	}
}

// see sends whoever opens the address of an act, or another name of a page, to
// the page where it is: an address is always safe to open. Parts like :run are
// those of the address.
func see(page string) func(*request) error {
	return func(r *request) error {
		at := page
		for _, name := range r.c.ParamNames() {
			at = strings.Replace(at, ":"+name, url.PathEscape(r.c.Param(name)), 1)
		}
		return r.c.Redirect(http.StatusSeeOther, at)
	}
}

// Route is an address of the dashboard and the role that it needs; an empty role
// is for everybody.
type Route struct {
	Method, Path string
	Role         kairos.Role
}

// Routes lists every address, for tests that ask all of them.
func (s *Server) Routes() []Route {
	var out []Route
	for _, r := range s.table() {
		role := r.role
		if role == open {
			role = ""
		}
		out = append(out, Route{r.method, r.path, role})
	}
	for _, path := range unlisted {
		out = append(out, Route{Method: http.MethodGet, Path: path})
	}
	return out
}

// permitted refuses to serve a route that does not say who may use it, or that
// is not in the table (deny by default, RELIABILITY 4.2).
func (s *Server) permitted() error {
	known := map[string]bool{}
	for _, path := range unlisted {
		known[http.MethodGet+" "+path] = true
	}
	for _, r := range s.table() {
		if r.role != open && !slices.Contains(kairos.Roles, r.role) {
			return fmt.Errorf("web: %s %s does not say who may use it", r.method, r.path)
		}
		known[r.method+" "+r.path] = true
	}
	for _, r := range s.echo.Routes() {
		if !known[r.Method+" "+r.Path] {
			return fmt.Errorf("web: %s %s is served without a permission", r.Method, r.Path)
		}
	}
	return nil
}

func (s *Server) routes() {
	for _, r := range s.table() {
		s.echo.Add(r.method, r.path, func(c echo.Context) error { return s.serve(c, r) })
	}
	s.echo.GET("/static/:hash/:file", func(c echo.Context) error {
		static.Serve(c.Response(), c.Request(), c.Param("hash"), c.Param("file"))
		return nil
	})
	s.echo.GET("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	s.echo.GET("/readyz", func(c echo.Context) error {
		if s.Ready != nil {
			if err := s.Ready(c.Request().Context()); err != nil {
				return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
			}
		}
		text := "ready\n"
		if s.System != nil {
			if n := len(s.System.Notices(c.Request().Context())); n > 0 { // what they say is for those who are logged in
				text += plural(n, "notice", "notices") + " on the dashboard\n"
			}
		}
		return c.String(http.StatusOK, text)
	})
}
