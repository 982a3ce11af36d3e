package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// need is what a principal must have to use a route: at least the role, and,
// for tokens that are narrowed to scopes, the scope (empty: any will do).
type need struct {
	role  domain.Role
	scope string
}

// public lists the paths that need no principal: what the API is like is no
// secret, and says nothing of this installation.
var public = map[string]bool{"/openapi.json": true}

// access says who may use which route. A route that is not listed is not
// served (deny by default).
var access = map[string]need{
	"GET /openapi.json": {},
	"GET /version":      {domain.RoleViewer, ""},
	"GET /me":           {domain.RoleViewer, ""},

	"GET /plans":                            {domain.RoleViewer, "plans:read"},
	"POST /plans":                           {domain.RoleAuthor, "plans:write"},
	"POST /plans/check":                     {domain.RoleViewer, "plans:read"},
	"GET /plans/{id}":                       {domain.RoleViewer, "plans:read"},
	"GET /plans/{id}/versions":              {domain.RoleViewer, "plans:read"},
	"GET /plans/{id}/versions/{n}":          {domain.RoleViewer, "plans:read"},
	"GET /plans/{id}/flow":                  {domain.RoleViewer, "plans:read"},
	"GET /plans/{id}/diff/{a}/{b}":          {domain.RoleViewer, "plans:read"},
	"POST /plans/try":                       {domain.RoleAuthor, "plans:write"},
	"GET /plans/drafts":                     {domain.RoleViewer, "plans:read"},
	"POST /plans/drafts":                    {domain.RoleOperator, "plans:write"},
	"GET /plans/drafts/{id}":                {domain.RoleViewer, "plans:read"},
	"POST /plans/drafts/{id}/refine":        {domain.RoleOperator, "plans:write"},
	"POST /plans/drafts/{id}/accept":        {domain.RoleOperator, "plans:write"},
	"POST /plans/drafts/{id}/start":         {domain.RoleOperator, "runs:write"},
	"POST /plans/drafts/{id}/discard":       {domain.RoleOperator, "plans:write"},
	"POST /plans/{id}/accept":               {domain.RoleOperator, "plans:write"},
	"POST /plans/{id}/archive":              {domain.RoleAuthor, "plans:write"},
	"POST /plans/{id}/pause":                {domain.RoleOperator, "plans:write"},
	"POST /plans/{id}/unpause":              {domain.RoleOperator, "plans:write"},
	"POST /plans/{id}/versions/{n}/restore": {domain.RoleAuthor, "plans:write"},
	"POST /plans/{id}/unarchive":            {domain.RoleAuthor, "plans:write"},

	"GET /handoffs":                        {domain.RoleViewer, "runs:read"},
	"GET /handoffs/{id}":                   {domain.RoleViewer, "runs:read"},
	"GET /steps":                           {domain.RoleViewer, "runs:read"},
	"GET /views":                           {domain.RoleViewer, "runs:read"},
	"POST /views":                          {domain.RoleOperator, "runs:write"},
	"DELETE /views/{name}":                 {domain.RoleOperator, "runs:write"},
	"GET /runs":                            {domain.RoleViewer, "runs:read"},
	"POST /runs":                           {domain.RoleOperator, "runs:write"},
	"GET /runs/compare":                    {domain.RoleViewer, "runs:read"},
	"GET /runs/{id}":                       {domain.RoleViewer, "runs:read"},
	"DELETE /runs/{id}":                    {domain.RoleOperator, "runs:write"},
	"GET /runs/{id}/notes":                 {domain.RoleViewer, "runs:read"},
	"POST /runs/{id}/notes":                {domain.RoleOperator, "runs:write"},
	"GET /runs/{id}/export":                {domain.RoleAuthor, "runs:read"},
	"GET /runs/{id}/journal":               {domain.RoleViewer, "runs:read"},
	"GET /runs/{id}/steps/{seq}":           {domain.RoleViewer, "runs:read"},
	"GET /runs/{id}/messages":              {domain.RoleViewer, "runs:read"},
	"GET /runs/{id}/events":                {domain.RoleViewer, "runs:read"},
	"GET /runs/{id}/preview":               {domain.RoleViewer, "runs:read"},
	"POST /runs/{id}/preview":              {domain.RoleViewer, "runs:read"},
	"POST /runs/{id}/resume":               {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/rerun":                {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/fork":                 {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/cancel":               {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/pause":                {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/continue":             {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/retry-now":            {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/start-now":            {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/ack":                  {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/release":              {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/limits":               {domain.RoleOperator, "runs:write"},
	"POST /runs/{id}/nodes/{node}/resolve": {domain.RoleOperator, "runs:write"},

	"GET /approvals":               {domain.RoleViewer, "runs:read"},
	"GET /approvals/{id}":          {domain.RoleViewer, "runs:read"},
	"POST /approvals/{id}":         {domain.RoleOperator, "approvals"},
	"POST /approvals/{id}/assign":  {domain.RoleOperator, "approvals"},
	"GET /approvals/{id}/forecast": {domain.RoleViewer, "runs:read"},

	"GET /events":       {domain.RoleViewer, "runs:read"},
	"GET /ws":           {domain.RoleViewer, "runs:read"},
	"GET /audit":        {domain.RoleViewer, "admin"},
	"GET /audit/{seq}":  {domain.RoleViewer, "admin"},
	"GET /audit/export": {domain.RoleViewer, "admin"},
	"GET /audit/check":  {domain.RoleViewer, "admin"},
	"POST /audit/check": {domain.RoleOperator, "admin"},

	"POST /ask":              {domain.RoleOperator, "runs:write"},
	"POST /planner/classify": {domain.RoleViewer, "plans:read"},
	"POST /planner/plan":     {domain.RoleOperator, "plans:write"},
	"GET /failures":          {domain.RoleViewer, "runs:read"},
	"POST /failures/ack":     {domain.RoleOperator, "runs:write"},
	"POST /failures/unack":   {domain.RoleOperator, "runs:write"},
	"POST /bulk/preview":     {domain.RoleViewer, "runs:read"},
	"GET /bulk":              {domain.RoleViewer, "runs:read"},
	"POST /bulk":             {domain.RoleOperator, "runs:write"},
	"GET /bulk/{id}":         {domain.RoleViewer, "runs:read"},
	"POST /bulk/{id}/stop":   {domain.RoleOperator, "runs:write"},

	"GET /system":                    {domain.RoleViewer, "runs:read"},
	"GET /system/vitals":             {domain.RoleViewer, "runs:read"},
	"GET /system/log":                {domain.RoleOperator, "admin"},
	"GET /metrics":                   {domain.RoleViewer, "metrics"},
	"POST /system/release":           {domain.RoleOperator, "runs:write"},
	"POST /system/maintenance":       {domain.RoleOperator, "runs:write"},
	"GET /agents":                    {domain.RoleViewer, "plans:read"},
	"GET /agents/{id}":               {domain.RoleViewer, "plans:read"},
	"GET /providers/{name}":          {domain.RoleViewer, "plans:read"},
	"GET /tools/{name}":              {domain.RoleViewer, "plans:read"},
	"GET /providers":                 {domain.RoleViewer, "plans:read"},
	"GET /tools":                     {domain.RoleViewer, "plans:read"},
	"POST /tools/{name}/accept":      {domain.RoleAdmin, "admin"},
	"GET /mcp":                       {domain.RoleViewer, "plans:read"},
	"POST /mcp/{name}/retry":         {domain.RoleOperator, "runs:write"},
	"POST /tools/{name}/stop":        {domain.RoleOperator, "runs:write"},
	"POST /tools/{name}/circuit":     {domain.RoleOperator, "runs:write"},
	"POST /providers/{name}/circuit": {domain.RoleOperator, "runs:write"},
	"POST /providers/{name}/stop":    {domain.RoleOperator, "runs:write"},
	"POST /system/backup":            {domain.RoleAdmin, "admin"},
	"POST /system/retention":         {domain.RoleAdmin, "admin"},

	"GET /memory":              {domain.RoleViewer, "runs:read"},
	"GET /memory/{session}":    {domain.RoleViewer, "runs:read"},
	"DELETE /memory/{session}": {domain.RoleOperator, "runs:write"},

	"GET /tokens":         {domain.RoleAdmin, "tokens"},
	"GET /tokens/{id}":    {domain.RoleAdmin, "tokens"},
	"POST /tokens":        {domain.RoleAdmin, "tokens"},
	"DELETE /tokens/{id}": {domain.RoleAdmin, "tokens"},
	"GET /users":          {domain.RoleAdmin, "admin"},
	"GET /users/{id}":     {domain.RoleAdmin, "admin"},
	"POST /users":         {domain.RoleAdmin, "admin"},
	"PATCH /users/{id}":   {domain.RoleAdmin, "admin"},

	"POST /secrets/{name}/rotate":        {domain.RoleAdmin, "admin"},
	"GET /settings":                      {domain.RoleAdmin, "admin"},
	"POST /notifications/{channel}/test": {domain.RoleAdmin, "admin"},

	"POST /users/{id}/link":            {domain.RoleAdmin, "admin"},
	"POST /users/{id}/sign-out":        {domain.RoleAdmin, "admin"},
	"DELETE /users/{id}/second-factor": {domain.RoleAdmin, "admin"},
	"POST /users/{id}/login-link":      {domain.RoleAdmin, "admin"},
}

// allow returns nil if the actor has what is needed.
func (n need) allow(a domain.Actor) error {
	if n.role == "" {
		return nil
	}
	if !a.Role.Includes(n.role) {
		return domain.Errorf(domain.CodeForbidden, "this needs the role %s; yours is %s", n.role, orNone(a.Role)).
			Suggest("ask an admin for the role, or for a token that has it")
	}
	if n.scope != "" && a.Scopes != "" && !slices.Contains(strings.Fields(a.Scopes), n.scope) {
		return domain.Errorf(domain.CodeForbidden, "this token has no scope %s", n.scope).
			Suggest("use a token that has the scope; this one has: %s", a.Scopes)
	}
	return nil
}

func orNone(r domain.Role) domain.Role {
	if r == "" {
		return "none"
	}
	return r
}

// admit is the middleware that every route begins with.
func (a *API) admit(n need) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if err := n.allow(actorOf(ctx.Context())); err != nil {
			a.recordDenied(ctx.Context(), err)
			a.answer(ctx, a.problem(ctx.Context(), err))
			return
		}
		next(ctx)
	}
}

// recordDenied writes down that somebody wanted to do what they may not; who only
// reads leaves no trace (A17). The refusal stands even if that fails.
func (a *API) recordDenied(ctx context.Context, err error) {
	info := infoOf(ctx)
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code != domain.CodeForbidden || e.Audited || a.Audit == nil || !unsafeMethod(info.request.Method) {
		return
	}
	if err := a.Audit.Audit(context.WithoutCancel(ctx), domain.AuditRecord{Action: "access.denied", Actor: info.actor.Name, Surface: info.actor.Surface, Request: info.actor.Request,
		Object: info.request.Method + " " + info.request.URL.Path, Result: "denied", Reason: err.Error()}); err != nil {
		a.Log.Error("record a refusal", "path", info.request.URL.Path, "err", err)
	}
}

// Permission is a route and who may use it: at least the role, and for tokens
// that have scopes, the scope. An empty role is for everybody.
type Permission struct {
	Method, Path string // the path without Base, with {names}
	Role         domain.Role
	Scope        string
}

// Permissions lists every route, for tests that ask all of them.
func (a *API) Permissions() []Permission {
	var out []Permission
	for _, route := range a.routes {
		method, path, _ := strings.Cut(route, " ")
		n := access[route]
		out = append(out, Permission{method, path, n.role, n.scope})
	}
	return out
}

// unsafeMethod reports whether a method may change something.
func unsafeMethod(m string) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
}
