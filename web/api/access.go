package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/kairos"
)

// need is what a principal must have to use a route: at least the role, and,
// for tokens that are narrowed to scopes, the scope (empty: any will do).
type need struct {
	role  kairos.Role
	scope string
}

// public lists the paths that need no principal: what the API is like is no
// secret, and says nothing of this installation.
var public = map[string]bool{"/openapi.json": true}

// access says who may use which route. A route that is not listed is not
// served (deny by default, RELIABILITY 4.2).
var access = map[string]need{
	"GET /openapi.json": {},
	"GET /version":      {kairos.RoleViewer, ""},
	"GET /me":           {kairos.RoleViewer, ""},

	"GET /plans":                            {kairos.RoleViewer, "plans:read"},
	"POST /plans":                           {kairos.RoleAuthor, "plans:write"},
	"POST /plans/check":                     {kairos.RoleViewer, "plans:read"},
	"GET /plans/{id}":                       {kairos.RoleViewer, "plans:read"},
	"GET /plans/{id}/versions":              {kairos.RoleViewer, "plans:read"},
	"GET /plans/{id}/versions/{n}":          {kairos.RoleViewer, "plans:read"},
	"GET /plans/{id}/flow":                  {kairos.RoleViewer, "plans:read"},
	"GET /plans/{id}/diff/{a}/{b}":          {kairos.RoleViewer, "plans:read"},
	"POST /plans/try":                       {kairos.RoleAuthor, "plans:write"},
	"GET /plans/drafts":                     {kairos.RoleViewer, "plans:read"},
	"POST /plans/drafts":                    {kairos.RoleOperator, "plans:write"},
	"GET /plans/drafts/{id}":                {kairos.RoleViewer, "plans:read"},
	"POST /plans/drafts/{id}/refine":        {kairos.RoleOperator, "plans:write"},
	"POST /plans/drafts/{id}/accept":        {kairos.RoleOperator, "plans:write"},
	"POST /plans/drafts/{id}/start":         {kairos.RoleOperator, "runs:write"},
	"POST /plans/drafts/{id}/discard":       {kairos.RoleOperator, "plans:write"},
	"POST /plans/{id}/accept":               {kairos.RoleOperator, "plans:write"},
	"POST /plans/{id}/archive":              {kairos.RoleAuthor, "plans:write"},
	"POST /plans/{id}/pause":                {kairos.RoleOperator, "plans:write"},
	"POST /plans/{id}/unpause":              {kairos.RoleOperator, "plans:write"},
	"POST /plans/{id}/versions/{n}/restore": {kairos.RoleAuthor, "plans:write"},
	"POST /plans/{id}/unarchive":            {kairos.RoleAuthor, "plans:write"},

	"GET /handoffs":                        {kairos.RoleViewer, "runs:read"},
	"GET /handoffs/{id}":                   {kairos.RoleViewer, "runs:read"},
	"GET /steps":                           {kairos.RoleViewer, "runs:read"},
	"GET /views":                           {kairos.RoleViewer, "runs:read"},
	"POST /views":                          {kairos.RoleOperator, "runs:write"},
	"DELETE /views/{name}":                 {kairos.RoleOperator, "runs:write"},
	"GET /runs":                            {kairos.RoleViewer, "runs:read"},
	"POST /runs":                           {kairos.RoleOperator, "runs:write"},
	"GET /runs/compare":                    {kairos.RoleViewer, "runs:read"},
	"GET /runs/{id}":                       {kairos.RoleViewer, "runs:read"},
	"DELETE /runs/{id}":                    {kairos.RoleOperator, "runs:write"},
	"GET /runs/{id}/notes":                 {kairos.RoleViewer, "runs:read"},
	"POST /runs/{id}/notes":                {kairos.RoleOperator, "runs:write"},
	"GET /runs/{id}/export":                {kairos.RoleAuthor, "runs:read"},
	"GET /runs/{id}/journal":               {kairos.RoleViewer, "runs:read"},
	"GET /runs/{id}/steps/{seq}":           {kairos.RoleViewer, "runs:read"},
	"GET /runs/{id}/messages":              {kairos.RoleViewer, "runs:read"},
	"GET /runs/{id}/events":                {kairos.RoleViewer, "runs:read"},
	"GET /runs/{id}/preview":               {kairos.RoleViewer, "runs:read"},
	"POST /runs/{id}/preview":              {kairos.RoleViewer, "runs:read"},
	"POST /runs/{id}/resume":               {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/rerun":                {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/fork":                 {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/cancel":               {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/pause":                {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/continue":             {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/retry-now":            {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/start-now":            {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/ack":                  {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/release":              {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/limits":               {kairos.RoleOperator, "runs:write"},
	"POST /runs/{id}/nodes/{node}/resolve": {kairos.RoleOperator, "runs:write"},

	"GET /approvals":               {kairos.RoleViewer, "runs:read"},
	"GET /approvals/{id}":          {kairos.RoleViewer, "runs:read"},
	"POST /approvals/{id}":         {kairos.RoleOperator, "approvals"},
	"POST /approvals/{id}/assign":  {kairos.RoleOperator, "approvals"},
	"GET /approvals/{id}/forecast": {kairos.RoleViewer, "runs:read"},

	"GET /events":       {kairos.RoleViewer, "runs:read"},
	"GET /ws":           {kairos.RoleViewer, "runs:read"},
	"GET /audit":        {kairos.RoleViewer, "admin"},
	"GET /audit/{seq}":  {kairos.RoleViewer, "admin"},
	"GET /audit/export": {kairos.RoleViewer, "admin"},
	"GET /audit/check":  {kairos.RoleViewer, "admin"},
	"POST /audit/check": {kairos.RoleOperator, "admin"},

	"POST /ask":              {kairos.RoleOperator, "runs:write"},
	"POST /planner/classify": {kairos.RoleViewer, "plans:read"},
	"POST /planner/plan":     {kairos.RoleOperator, "plans:write"},
	"GET /failures":          {kairos.RoleViewer, "runs:read"},
	"POST /failures/ack":     {kairos.RoleOperator, "runs:write"},
	"POST /failures/unack":   {kairos.RoleOperator, "runs:write"},
	"POST /bulk/preview":     {kairos.RoleViewer, "runs:read"},
	"GET /bulk":              {kairos.RoleViewer, "runs:read"},
	"POST /bulk":             {kairos.RoleOperator, "runs:write"},
	"GET /bulk/{id}":         {kairos.RoleViewer, "runs:read"},
	"POST /bulk/{id}/stop":   {kairos.RoleOperator, "runs:write"},

	"GET /system":                    {kairos.RoleViewer, "runs:read"},
	"GET /system/vitals":             {kairos.RoleViewer, "runs:read"},
	"GET /system/log":                {kairos.RoleOperator, "admin"},
	"GET /metrics":                   {kairos.RoleViewer, "metrics"},
	"POST /system/release":           {kairos.RoleOperator, "runs:write"},
	"POST /system/maintenance":       {kairos.RoleOperator, "runs:write"},
	"GET /agents":                    {kairos.RoleViewer, "plans:read"},
	"GET /agents/{id}":               {kairos.RoleViewer, "plans:read"},
	"GET /providers/{name}":          {kairos.RoleViewer, "plans:read"},
	"GET /tools/{name}":              {kairos.RoleViewer, "plans:read"},
	"GET /providers":                 {kairos.RoleViewer, "plans:read"},
	"GET /tools":                     {kairos.RoleViewer, "plans:read"},
	"POST /tools/{name}/accept":      {kairos.RoleAdmin, "admin"},
	"GET /mcp":                       {kairos.RoleViewer, "plans:read"},
	"POST /mcp/{name}/retry":         {kairos.RoleOperator, "runs:write"},
	"POST /tools/{name}/stop":        {kairos.RoleOperator, "runs:write"},
	"POST /tools/{name}/circuit":     {kairos.RoleOperator, "runs:write"},
	"POST /providers/{name}/circuit": {kairos.RoleOperator, "runs:write"},
	"POST /providers/{name}/stop":    {kairos.RoleOperator, "runs:write"},
	"POST /system/backup":            {kairos.RoleAdmin, "admin"},
	"POST /system/retention":         {kairos.RoleAdmin, "admin"},

	"GET /memory":              {kairos.RoleViewer, "runs:read"},
	"GET /memory/{session}":    {kairos.RoleViewer, "runs:read"},
	"DELETE /memory/{session}": {kairos.RoleOperator, "runs:write"},

	"GET /tokens":         {kairos.RoleAdmin, "tokens"},
	"GET /tokens/{id}":    {kairos.RoleAdmin, "tokens"},
	"POST /tokens":        {kairos.RoleAdmin, "tokens"},
	"DELETE /tokens/{id}": {kairos.RoleAdmin, "tokens"},
	"GET /users":          {kairos.RoleAdmin, "admin"},
	"GET /users/{id}":     {kairos.RoleAdmin, "admin"},
	"POST /users":         {kairos.RoleAdmin, "admin"},
	"PATCH /users/{id}":   {kairos.RoleAdmin, "admin"},

	"POST /secrets/{name}/rotate":        {kairos.RoleAdmin, "admin"},
	"GET /settings":                      {kairos.RoleAdmin, "admin"},
	"POST /notifications/{channel}/test": {kairos.RoleAdmin, "admin"},

	"POST /users/{id}/link":            {kairos.RoleAdmin, "admin"},
	"POST /users/{id}/sign-out":        {kairos.RoleAdmin, "admin"},
	"DELETE /users/{id}/second-factor": {kairos.RoleAdmin, "admin"},
	"POST /users/{id}/login-link":      {kairos.RoleAdmin, "admin"},
}

// allow returns nil if the actor has what is needed.
func (n need) allow(a kairos.Actor) error {
	if n.role == "" {
		return nil
	}
	if !a.Role.Includes(n.role) {
		return kairos.Errorf(kairos.CodeForbidden, "this needs the role %s; yours is %s", n.role, orNone(a.Role)).
			Suggest("ask an admin for the role, or for a token that has it")
	}
	if n.scope != "" && a.Scopes != "" && !slices.Contains(strings.Fields(a.Scopes), n.scope) {
		return kairos.Errorf(kairos.CodeForbidden, "this token has no scope %s", n.scope).
			Suggest("use a token that has the scope; this one has: %s", a.Scopes)
	}
	return nil
}

func orNone(r kairos.Role) kairos.Role {
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
	e, ok := errors.AsType[*kairos.Error](err)
	if !ok || e.Code != kairos.CodeForbidden || e.Audited || a.Audit == nil || !unsafeMethod(info.request.Method) {
		return
	}
	if err := a.Audit.Audit(context.WithoutCancel(ctx), kairos.AuditRecord{Action: "access.denied", Actor: info.actor.Name, Surface: info.actor.Surface, Request: info.actor.Request,
		Object: info.request.Method + " " + info.request.URL.Path, Result: "denied", Reason: err.Error()}); err != nil {
		a.Log.Error("record a refusal", "path", info.request.URL.Path, "err", err)
	}
}

// Permission is a route and who may use it: at least the role, and for tokens
// that have scopes, the scope. An empty role is for everybody.
type Permission struct {
	Method, Path string // the path without Base, with {names}
	Role         kairos.Role
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
