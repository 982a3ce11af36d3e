package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/static"
)

// open marks routes that need no login. It is a word and not nothing, so that a
// route without a permission is found out (T11).
const open domain.Role = "everybody"

// unlisted are the addresses besides the table: they are for everybody, and say
// nothing of what is stored.
var unlisted = []string{"/static/:hash/:file", "/healthz", "/readyz"}

// route is one address and who may use it.
type route struct {
	method, path string
	role         domain.Role
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
		{post, "/logout", domain.RoleViewer, (*request).logout},
		{post, "/display", open, (*request).setDisplay},
		{get, "/display", open, see("/me")},
		{get, "/logout", domain.RoleViewer, see("/me")},

		{get, "/", domain.RoleViewer, (*request).home},
		{get, "/failures/ack", domain.RoleOperator, (*request).ackForm},
		{post, "/failures/ack", domain.RoleOperator, (*request).ack},
		{get, "/failures/unack", domain.RoleOperator, (*request).ackForm},
		{post, "/failures/unack", domain.RoleOperator, (*request).ack},
		{get, "/find", domain.RoleViewer, (*request).find},
		{get, "/help", domain.RoleViewer, (*request).help},
		{get, "/help/shortcuts", domain.RoleViewer, see("/help#shortcuts")},
		{get, "/live", domain.RoleViewer, (*request).live},

		{get, "/runs", domain.RoleViewer, (*request).runs},
		{get, "/runs/compare", domain.RoleViewer, (*request).compare},
		{get, "/runs/changes", domain.RoleViewer, (*request).changes},
		{get, "/runs/new", domain.RoleOperator, (*request).newRun},
		{get, "/runs/suggest", domain.RoleViewer, (*request).suggest},
		{get, "/runs.csv", domain.RoleViewer, (*request).exportRuns},
		{post, "/columns", domain.RoleViewer, (*request).setColumns},
		{get, "/columns", domain.RoleViewer, see("/runs")},
		{get, "/runs/:run", domain.RoleViewer, (*request).run},
		{get, "/runs/:run/graph.svg", domain.RoleViewer, (*request).graphFile},
		{get, "/runs/:run/lineage", domain.RoleViewer, (*request).lineage},
		{get, "/runs/:run/steps/:seq", domain.RoleViewer, (*request).stepPage},
		{get, "/runs/:run/steps/:seq/raw/:part", domain.RoleViewer, (*request).stepRaw},
		{get, "/runs/:run/log", domain.RoleViewer, see("/runs/:run?view=log")},
		{get, "/runs/:run/log.txt", domain.RoleViewer, (*request).logFile},
		{get, "/runs/:run/log.jsonl", domain.RoleViewer, (*request).logLines},
		{get, "/runs/:run/state", domain.RoleViewer, see("/runs/:run?view=state")},
		{get, "/runs/:run/state/:cp", domain.RoleViewer, (*request).stateAt},
		{get, "/runs/:run/peek", domain.RoleViewer, (*request).peek},
		{get, "/runs/:run/raw/:seq/:part", domain.RoleViewer, (*request).raw},
		{get, "/runs/:run/summary.md", domain.RoleViewer, (*request).summaryFile},
		{get, "/runs/:run/note", domain.RoleOperator, (*request).notePage},
		{post, "/runs/:run/note", domain.RoleOperator, (*request).note},
		{get, "/runs/:run/ack", domain.RoleOperator, (*request).ackRunPage},
		{post, "/runs/:run/ack", domain.RoleOperator, (*request).ackRun},
		{get, "/runs/:run/:action", domain.RoleOperator, (*request).previewPage},
		{post, "/runs/:run/:action", domain.RoleOperator, (*request).act},
		{post, "/runs/:run/nodes/:node/resolve", domain.RoleOperator, (*request).resolve},
		{get, "/runs/:run/nodes/:node/resolve", domain.RoleOperator, see("/runs/:run?node=:node")},

		{get, "/bulk", domain.RoleViewer, (*request).bulkList},
		{get, "/bulk/new", domain.RoleOperator, (*request).bulkPreview},
		{post, "/bulk", domain.RoleOperator, (*request).bulkStart},
		{get, "/bulk/:bulk", domain.RoleViewer, (*request).bulkShow},
		{post, "/bulk/:bulk/stop", domain.RoleOperator, (*request).bulkStop},
		{get, "/bulk/:bulk/stop", domain.RoleOperator, see("/bulk/:bulk")},
		{post, "/views", domain.RoleOperator, (*request).saveView},
		{get, "/views", domain.RoleOperator, see("/runs")},
		{post, "/views/default", domain.RoleViewer, (*request).setDefaultView},
		{get, "/views/default", domain.RoleViewer, see("/runs")},

		{get, "/steps", domain.RoleViewer, (*request).steps},

		{get, "/plans", domain.RoleViewer, (*request).plans},
		{get, "/plans/new", domain.RoleAuthor, (*request).newPlan},
		{post, "/plans/new", domain.RoleAuthor, (*request).savePlan},
		{get, "/plans/check", domain.RoleAuthor, (*request).newPlan},
		{post, "/plans/check", domain.RoleAuthor, (*request).checkPlan},
		{get, "/plans/:plan", domain.RoleViewer, (*request).plan},
		{get, "/plans/:plan/v/:number", domain.RoleViewer, (*request).plan},
		{get, "/plans/:plan/v/:number/graph.svg", domain.RoleViewer, (*request).planGraphFile},
		{get, "/plans/:plan/v/:number/source", domain.RoleViewer, (*request).planSource},
		{get, "/plans/:plan/v/:number/restore", domain.RoleAuthor, (*request).restorePage},
		{post, "/plans/:plan/v/:number/restore", domain.RoleAuthor, (*request).restore},
		{get, "/plans/:plan/diff/:a/:b", domain.RoleViewer, (*request).planDiff},
		{get, "/plans/:plan/diff/:range", domain.RoleViewer, (*request).planDiffRange},
		{get, "/plans/:plan/versions", domain.RoleViewer, see("/plans/:plan")},
		{get, "/plans/:plan/archive", domain.RoleAuthor, (*request).archivePage},
		{post, "/plans/:plan/archive", domain.RoleAuthor, (*request).archive},
		{get, "/plans/:plan/pause", domain.RoleOperator, (*request).pausePage},
		{post, "/plans/:plan/pause", domain.RoleOperator, (*request).pause},
		{get, "/plans/:plan/edit", domain.RoleAuthor, (*request).editPlan},
		{post, "/plans/:plan/edit", domain.RoleAuthor, (*request).savePlan},
		{get, "/plans/:plan/start", domain.RoleOperator, (*request).startPage},
		{post, "/plans/:plan/start", domain.RoleOperator, (*request).start},

		{get, "/ask", domain.RoleOperator, (*request).askPage},
		{post, "/ask", domain.RoleOperator, (*request).makeDraft},
		{get, "/ask/:plan/v/:number", domain.RoleViewer, (*request).plannedVersion},
		{post, "/ask/:plan/v/:number", domain.RoleOperator, (*request).acceptVersion},
		{get, "/plans/drafts", domain.RoleViewer, see("/plans?state=draft")},
		{post, "/plans/drafts", domain.RoleOperator, (*request).makeDraft},
		{get, "/plans/drafts/:draft", domain.RoleViewer, (*request).draftPage},
		{get, "/plans/drafts/:draft/refine", domain.RoleOperator, see("/plans/drafts/:draft#refine")},
		{post, "/plans/drafts/:draft/refine", domain.RoleOperator, (*request).refineDraft},
		{get, "/plans/drafts/:draft/accept", domain.RoleOperator, (*request).acceptPage},
		{post, "/plans/drafts/:draft/accept", domain.RoleOperator, (*request).acceptDraft},
		{get, "/plans/drafts/:draft/discard", domain.RoleOperator, (*request).discardPage},
		{post, "/plans/drafts/:draft/discard", domain.RoleOperator, (*request).discardDraft},

		{get, "/approvals", domain.RoleViewer, (*request).approvals},
		{get, "/approvals/bulk", domain.RoleOperator, (*request).bulkApprovals},
		{post, "/approvals/bulk", domain.RoleOperator, (*request).decideAlike},
		{get, "/approvals/:approval/assign", domain.RoleOperator, (*request).approval},
		{post, "/approvals/:approval/assign", domain.RoleOperator, (*request).assign},
		{get, "/approvals/:approval", domain.RoleViewer, (*request).approval},
		{post, "/approvals/:approval", domain.RoleOperator, (*request).decide},
		{get, "/agents", domain.RoleViewer, (*request).crew},
		{get, "/tools", domain.RoleViewer, see("/agents/tools")},
		{get, "/tools/:tool", domain.RoleViewer, see("/agents/tools/:tool")},
		{get, "/providers", domain.RoleViewer, see("/agents/providers")},
		{get, "/providers/:provider", domain.RoleViewer, see("/agents/providers/:provider")},
		{get, "/agents/:part", domain.RoleViewer, (*request).crew},
		{get, "/agents/agents/:agent", domain.RoleViewer, (*request).agentPage},
		{get, "/agents/tools/:tool", domain.RoleViewer, (*request).toolPage},
		{get, "/agents/tools/:tool/accept", domain.RoleAdmin, (*request).acceptToolPage},
		{post, "/agents/tools/:tool/accept", domain.RoleAdmin, (*request).acceptTool},
		{get, "/agents/tools/:tool/try", domain.RoleAuthor, (*request).tryToolPage},
		{post, "/agents/tools/:tool/try", domain.RoleAuthor, (*request).tryTool},
		{get, "/agents/tools/:tool/stop", domain.RoleOperator, (*request).stopToolPage},
		{post, "/agents/tools/:tool/stop", domain.RoleOperator, (*request).stopTool},
		{get, "/agents/tools/:tool/circuit", domain.RoleOperator, (*request).toolCircuitPage},
		{post, "/agents/tools/:tool/circuit", domain.RoleOperator, (*request).changeToolCircuit},
		{get, "/agents/providers/:provider", domain.RoleViewer, (*request).providerPage},
		{get, "/agents/providers/:provider/stop", domain.RoleOperator, (*request).stopProviderPage},
		{post, "/agents/providers/:provider/stop", domain.RoleOperator, (*request).stopProvider},
		{get, "/agents/providers/:provider/circuit", domain.RoleOperator, (*request).providerCircuitPage},
		{post, "/agents/providers/:provider/circuit", domain.RoleOperator, (*request).changeProviderCircuit},
		{get, "/agents/servers/:server/retry", domain.RoleOperator, (*request).retryServerPage},
		{post, "/agents/servers/:server/retry", domain.RoleOperator, (*request).retryServer},
		{get, "/handoffs", domain.RoleViewer, (*request).allHandoffs},
		{get, "/handoffs/:handoff", domain.RoleViewer, (*request).handoffPage},
		{get, "/audit", domain.RoleViewer, (*request).audit},
		{get, "/audit.jsonl", domain.RoleViewer, (*request).exportAudit},
		{get, "/audit/suggest", domain.RoleViewer, (*request).suggestAudit},
		{get, "/audit/verify", domain.RoleOperator, (*request).verifyPage},
		{post, "/audit/verify", domain.RoleOperator, (*request).verify},
		{get, "/audit/:event", domain.RoleViewer, (*request).auditEvent},

		{get, "/system", domain.RoleViewer, (*request).system},
		{get, "/system/storage", domain.RoleViewer, (*request).systemStorage},
		{get, "/system/jobs", domain.RoleViewer, (*request).systemJobs},
		{get, "/system/log", domain.RoleOperator, (*request).systemLog},
		{get, "/system/logs", domain.RoleOperator, see("/system/log")},
		{get, "/system/config", domain.RoleAdmin, (*request).systemConfig},
		{post, "/system/release", domain.RoleOperator, (*request).releaseAll},
		{post, "/system/maintenance", domain.RoleOperator, (*request).maintain},
		{post, "/system/backup", domain.RoleAdmin, (*request).backUp},
		{get, "/system/release", domain.RoleOperator, see("/system")},
		{get, "/system/maintenance", domain.RoleOperator, see("/system")},
		{get, "/system/backup", domain.RoleAdmin, see("/system")},

		{get, "/settings", domain.RoleAdmin, (*request).settings},
		{get, "/settings/users", domain.RoleAdmin, (*request).users},
		{post, "/settings/users", domain.RoleAdmin, (*request).createUser},
		{get, "/settings/users/:user", domain.RoleAdmin, (*request).user},
		{post, "/settings/users/:user", domain.RoleAdmin, (*request).changeUser},
		{get, "/settings/roles", domain.RoleAdmin, (*request).roleSettings},
		{get, "/settings/tokens", domain.RoleAdmin, (*request).tokens},
		{post, "/settings/tokens", domain.RoleAdmin, (*request).createToken},
		{get, "/settings/tokens/:token", domain.RoleAdmin, see("/settings/tokens")},
		{get, "/settings/tokens/:token/revoke", domain.RoleAdmin, (*request).revokeTokenPage},
		{post, "/settings/tokens/:token/revoke", domain.RoleAdmin, (*request).revokeToken},
		{get, "/memory", domain.RoleViewer, (*request).memory},
		{get, "/memory/forget", domain.RoleOperator, (*request).forgetPage},
		{post, "/memory/forget", domain.RoleOperator, (*request).forget},
		{get, "/settings/access", domain.RoleAdmin, (*request).accessSettings},
		{get, "/settings/notifications", domain.RoleAdmin, (*request).notificationSettings},
		{post, "/settings/notifications/:channel/test", domain.RoleAdmin, (*request).testChannel},
		{get, "/settings/notifications/:channel/test", domain.RoleAdmin, see("/settings/notifications")},
		{get, "/settings/retention", domain.RoleAdmin, (*request).retentionSettings},
		{post, "/settings/retention", domain.RoleAdmin, (*request).runRetention},
		{get, "/settings/secrets", domain.RoleAdmin, (*request).secretSettings},
		{get, "/settings/secrets/:secret/rotate", domain.RoleAdmin, (*request).rotateSecretPage},
		{post, "/settings/secrets/:secret/rotate", domain.RoleAdmin, (*request).rotateSecret},
		{get, "/me", domain.RoleViewer, (*request).me},
		{get, "/me/second-factor", domain.RoleViewer, (*request).secondFactorPage},
		{post, "/me/second-factor", domain.RoleViewer, (*request).setSecondFactor},
		{post, "/me/password", domain.RoleViewer, (*request).changePassword},
		{post, "/me/sessions", domain.RoleViewer, (*request).signOut},
		{get, "/me/password", domain.RoleViewer, see("/me")},
		{get, "/me/sessions", domain.RoleViewer, see("/me")},
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
	Role         domain.Role
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
		if r.role != open && !slices.Contains(domain.Roles, r.role) {
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
