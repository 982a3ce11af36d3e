package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// auditHandler serves the audit log.
type auditHandler struct {
	*kernel
	audit *app.Audit
	runs  *app.Runs
}

func (h auditHandler) routes(a *API) {
	tags := []string{"audit"}
	mount(a, huma.Operation{OperationID: "list-audit-events", Method: http.MethodGet, Path: "/audit/events", Tags: tags,
		Summary: "List the audit log, newest first; checkpoints only with a filter for them"}, h.listAudit)
	mount(a, huma.Operation{OperationID: "get-audit-event", Method: http.MethodGet, Path: "/audit/events/{seq}", Tags: tags,
		Summary: "Get an event of the audit log"}, h.auditEvent)
	mount(a, huma.Operation{OperationID: "export-audit-events", Method: http.MethodGet, Path: "/audit/export", Tags: tags,
		Summary: "Export all events that match a filter, one JSON object per line, newest first",
		Responses: map[string]*huma.Response{
			"200": {
				Description: "JSON lines",
				Content:     map[string]*huma.MediaType{"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}},
			},
		}}, h.exportAudit)
	mount(a, huma.Operation{OperationID: "get-audit-check", Method: http.MethodGet, Path: "/audit/check", Tags: tags,
		Summary: "Get the latest verification of the audit log"}, h.auditCheck)
	mount(
		a,
		huma.Operation{
			OperationID:   "start-audit-check",
			Method:        http.MethodPost,
			Path:          "/audit/check",
			Tags:          tags,
			DefaultStatus: http.StatusAccepted,
			Summary:       "Start a verification of the whole audit log",
		},
		h.verifyAudit,
	)
}

// AuditQuery selects audit events by a filter or by single parameters.
type AuditQuery struct {
	Filter string `query:"filter" maxLength:"4096" doc:"actor:, action:, object:, result:, source:, ip:, request:, run:, since:, until:"`
	Actor  string `query:"actor" maxLength:"128"`
	Action string `query:"action" maxLength:"64"`
	Run    string `query:"run" maxLength:"64"`
	Object string `query:"object" maxLength:"128"`
	Result string `query:"result" enum:"ok,denied,failed"`
	Since  string `query:"since" maxLength:"40" doc:"24h, 7d, or a time."`
	Until  string `query:"until" maxLength:"40" doc:"24h, 7d, or a time."`
}

func (h auditHandler) auditFilter(ctx context.Context, in AuditQuery) (domain.AuditFilter, error) {
	f, problem := filter.ParseAudit(in.Filter, time.Now())
	if problem != nil {
		return f, problem
	}
	f.Actor, f.Action, f.Object, f.Result = in.Actor, in.Action, in.Object, in.Result
	if in.Run != "" {
		f.Run = in.Run
	}
	for _, p := range []struct {
		name, text string
		into       *time.Time
	}{{"since", in.Since, &f.Since}, {"until", in.Until, &f.Until}} {
		t, err := parseTime(p.name, p.text)
		if err != nil {
			return f, err
		}
		if !t.IsZero() {
			*p.into = t
		}
	}
	if f.Run != "" {
		run, err := h.runs.Find(ctx, actorOf(ctx), f.Run)
		if err != nil {
			return f, err
		}
		f.Run = run.ID
	}
	return f, nil
}

type (
	listAuditIn struct {
		PageIn
		AuditQuery
	}
	auditOut struct {
		Body apitypes.List[apitypes.AuditEvent]
	}
	auditEventIn struct {
		Seq int64 `path:"seq" minimum:"1"`
	}
	auditEventOut struct{ Body apitypes.AuditEvent }
	auditCheckOut struct{ Body domain.AuditCheck }
	exportAuditIn struct{ AuditQuery }
)

func (h auditHandler) listAudit(ctx context.Context, in *listAuditIn) (*auditOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f, err := h.auditFilter(ctx, in.AuditQuery)
	if err != nil {
		return nil, err
	}
	f.Page = domain.Page{After: after, Limit: in.Limit}
	list, err := h.audit.List(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &auditOut{Body: listOf(list.Items, h.seal(ctx, list.Next), apitypes.AuditEventOf)}, nil
}

func (h auditHandler) auditEvent(ctx context.Context, in *auditEventIn) (*auditEventOut, error) {
	e, err := h.audit.Event(ctx, actorOf(ctx), in.Seq)
	if err != nil {
		return nil, err
	}
	return &auditEventOut{Body: apitypes.AuditEventOf(e)}, nil
}

// exportAudit streams the log page by page, so that a long log blocks nothing.
func (h auditHandler) exportAudit(ctx context.Context, in *exportAuditIn) (*huma.StreamResponse, error) {
	f, err := h.auditFilter(ctx, in.AuditQuery)
	if err != nil {
		return nil, err
	}
	export, err := h.audit.Export(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		w := humaecho.Unwrap(hc).Response()
		w.Header().Set("Content-Type", "application/jsonl")
		if export.Write(ctx, w, http.NewResponseController(w).Flush) != nil {
			panic(http.ErrAbortHandler) // the sent part cannot be withdrawn, so the response must end visibly incomplete
		}
	}}, nil
}

func (h auditHandler) auditCheck(ctx context.Context, _ *struct{}) (*auditCheckOut, error) {
	check, err := h.audit.Check(ctx, actorOf(ctx))
	return &auditCheckOut{check}, err
}

func (h auditHandler) verifyAudit(ctx context.Context, _ *struct{}) (*auditCheckOut, error) {
	check, err := h.audit.Verify(ctx, meta(ctx))
	return &auditCheckOut{check}, err
}
