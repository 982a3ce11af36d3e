package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// Every object has an ETag, and an action on an object accepts If-Match. The ETag of a run is its
// revision, and that of a plan is the hash of its newest version. The operations of runs and plans
// check these. The ETag of any other object is a hash of its body, and this package checks it
// before the action.

func etag(s string) string { return `"` + s + `"` }

func runTag(r domain.Run) string { return etag(strconv.FormatInt(r.LastSeq, 10)) }

// revOf returns the revision of a run in If-Match, or 0 for any revision.
func revOf(header string) (int64, error) {
	tag := unquoted(header)
	if tag == "" || tag == "*" {
		return 0, nil
	}
	rev, err := strconv.ParseInt(tag, 10, 64)
	if err != nil || rev <= 0 {
		return 0, staleTag()
	}
	return rev, nil
}

func unquoted(header string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(header), "W/"), `"`)
}

func staleTag() error {
	return domain.Errorf(domain.CodeStale, "the object has changed since you read it").Suggest("read it again, then retry")
}

// tagged lists the operations that return one object, with an ETag of its body.
var tagged = map[app.Operation]bool{
	app.GetApproval: true, app.GetDraft: true, app.GetTool: true, app.GetAgent: true, app.GetProvider: true, app.GetUser: true,
	app.GetToken: true, app.GetBulk: true, app.GetHandoff: true, app.GetSettings: true, app.GetToolServer: true,
	app.GetView: true, app.SaveView: true,
}

// matched maps actions with an If-Match header to the operation that reads the object. The path of
// an action begins with that of the object.
var matched = map[app.Operation]app.Operation{
	app.DecideApproval: app.GetApproval, app.AssignApproval: app.GetApproval,
	app.RefineDraft: app.GetDraft, app.AcceptDraft: app.GetDraft, app.DiscardDraft: app.GetDraft, app.StartDrafted: app.GetDraft,
	app.AcceptTool: app.GetTool, app.DisableTool: app.GetTool, app.EnableTool: app.GetTool,
	app.DisableProvider: app.GetProvider, app.EnableProvider: app.GetProvider, app.RetryToolServer: app.GetToolServer,
	app.UpdateUser: app.GetUser, app.LinkUser: app.GetUser, app.SignOutUser: app.GetUser, app.RemoveSecondFactor: app.GetUser,
	app.RevokeToken: app.GetToken, app.StopBulk: app.GetBulk, app.DeleteView: app.GetView, app.SaveView: app.GetView,
	app.AcceptPlan: app.GetPlan, app.ArchivePlan: app.GetPlan, app.UnarchivePlan: app.GetPlan, app.PausePlan: app.GetPlan,
	app.UnpausePlan: app.GetPlan, app.AcknowledgeRun: app.GetRun, app.UnacknowledgeRun: app.GetRun, app.AddNote: app.GetRun,
}

// tag sets the ETag of a response that is one object.
func tag(ctx huma.Context, _ string, v any) (any, error) {
	if !tagged[app.Operation(ctx.Operation().OperationID)] || ctx.Status() >= http.StatusBadRequest {
		return v, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return v, nil // the response fails with the same error
	}
	sum := sha256.Sum256(text)
	ctx.SetHeader("ETag", etag(base64.RawURLEncoding.EncodeToString(sum[:12])))
	return v, nil
}

// match refuses an action if its If-Match is not the ETag of the object.
func (a *API) match(ctx huma.Context, next func(huma.Context)) {
	reader, ok := matched[app.Operation(ctx.Operation().OperationID)]
	header := ctx.Header("If-Match")
	if !ok || header == "" || unquoted(header) == "*" {
		next(ctx)
		return
	}
	address, added := ctx.URL(), app.Operation(ctx.Operation().OperationID) == app.SaveView
	if added { // the body contains the name
		address = viewAddress(bodyOf(humaecho.Unwrap(ctx).Request()))
	}
	got, err := a.tagOf(ctx.Context(), reader, address)
	if err == nil && (got != "" || added) && !matches(header, got) {
		err = staleTag()
	}
	if err != nil {
		a.answer(ctx, a.problem(ctx.Context(), err))
		return
	}
	next(ctx)
}

// viewAddress returns the address of the saved view in a body.
func viewAddress(body []byte) url.URL {
	var v apitypes.View
	_ = json.Unmarshal(body, &v) // for an invalid body, no view has the address
	at := url.URL{Path: Base + "/views/" + strings.TrimSpace(v.Name)}
	at.RawPath = Base + "/views/" + url.PathEscape(strings.TrimSpace(v.Name))
	if v.Shared {
		at.RawQuery = "shared=true"
	}
	return at
}

// tagOf reads the ETag of the object at the beginning of a path. It is "" if there is no such
// object.
func (a *API) tagOf(ctx context.Context, reader app.Operation, address url.URL) (string, error) {
	route := a.Reads(reader)
	parts := strings.Split(address.EscapedPath(), "/")[:strings.Count(route, "/")+1]
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.Join(parts, "/"), nil)
	if err != nil {
		return "", err
	}
	if reader == app.GetView { // the query is part of the name
		r.URL.RawQuery = address.RawQuery
	}
	w := &headerWriter{header: http.Header{}}
	a.echo.ServeHTTP(w, r)
	return w.header.Get("ETag"), nil
}

// headerWriter keeps the header of a response.
type headerWriter struct{ header http.Header }

func (w *headerWriter) Header() http.Header         { return w.header }
func (w *headerWriter) Write(b []byte) (int, error) { return len(b), nil }
func (w *headerWriter) WriteHeader(int)             {}

func matches(header, tag string) bool {
	if header == "" {
		return false
	}
	for part := range strings.SplitSeq(header, ",") {
		if t := strings.TrimSpace(part); t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}
