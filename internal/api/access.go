package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// public lists the paths that need no principal: the description of the API is the same
// public lists the paths that need no principal. The description of the API is the same on every
// server.
var public = map[string]bool{"/openapi.json": true}

// previews maps each action with ?preview=true to the operation that permits the preview.
var previews = map[app.Operation]app.Operation{
	app.ResumeRun: app.PreviewRun, app.RerunRun: app.PreviewRun, app.ForkRun: app.PreviewRun, app.UndoRun: app.PreviewRun,
	app.CancelRun: app.PreviewRun,
	app.PauseRun:  app.PreviewRun, app.UnpauseRun: app.PreviewRun, app.UpdateRun: app.PreviewRun, app.DeleteRun: app.PreviewRun,
	app.StartBulk: app.PreviewBulk, app.BackfillSchedule: app.PreviewBackfill, app.ReplayDeliveries: app.PreviewReplay,
}

// admit is the first middleware of every route.
func (a *API) admit(op app.Operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		op := op
		if preview, ok := previews[op]; ok && ctx.Query("preview") == "true" {
			op = preview
		}
		if err := app.Allow(actorOf(ctx.Context()), op); err != nil {
			a.recordDenied(ctx.Context(), err)
			a.answer(ctx, a.problem(ctx.Context(), err))
			return
		}
		next(ctx)
	}
}

// recordDenied records a denied action in the audit log. A denied read is not recorded,
// and the refusal stands even if the record fails.
func (a *API) recordDenied(ctx context.Context, err error) {
	info := infoOf(ctx)
	e, ok := errors.AsType[*domain.Error](err)
	if !ok || e.Code != domain.CodeForbidden || e.Audited || a.Audit == nil || !unsafeMethod(info.request.Method) {
		return
	}
	if err := a.Audit.Audit(context.WithoutCancel(ctx), domain.AuditRecord{Action: "access.denied", Actor: info.actor.Name,
		Source: info.actor.Source, Request: info.actor.Request,
		Object: info.request.Method + " " + info.request.URL.Path, Result: "denied", Reason: err.Error()}); err != nil {
		a.Log.Error("record a refusal", "path", info.request.URL.Path, "err", err)
	}
}

// Permission is a route and its requirements: the lowest role and, for tokens with scopes, the
// scope. An empty role admits every request.
type Permission struct {
	Operation    app.Operation
	Method, Path string // the path without Base, with {names}
	Role         domain.Role
	Scope        string
}

// Permissions lists every route, for tests that request all of them.
func (a *API) Permissions() []Permission {
	out := make([]Permission, len(a.routes))
	for i, r := range a.routes {
		rule, _ := app.Policy(r.op)
		out[i] = Permission{r.op, r.method, r.path, rule.Role, rule.Scope}
	}
	return out
}

// unsafeMethod reports whether a method may change something.
func unsafeMethod(m string) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
}

// Reads returns the path, with {names}, of the GET route of an operation, or "" if it has none.
func (a *API) Reads(op app.Operation) string {
	for _, r := range a.routes {
		if r.op == op && r.method == http.MethodGet {
			return Base + r.path
		}
	}
	return ""
}
