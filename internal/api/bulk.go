package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// BulkBody asks for one act on many runs.
type BulkBody struct {
	Action    string            `json:"action" enum:"resume,rerun,cancel,pause,continue,retry-now,release,start-now,delete,ack,label"`
	Filter    string            `json:"filter,omitempty" maxLength:"4096" doc:"Which runs, in the dashboard's filter grammar."`
	Runs      []string          `json:"runs,omitempty" maxItems:"10000" doc:"Which runs, by id; with a filter, those of them that it selects."`
	Reason    string            `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log and in every run's journal."`
	Canary    bool              `json:"canary,omitempty" doc:"Act on one run first, and on the rest only if it does not fail."`
	Rate      int               `json:"rate,omitempty" minimum:"0" maximum:"60000" doc:"Runs per minute; 0: as fast as it goes."`
	Labels    map[string]string `json:"labels,omitempty" doc:"Given to the runs by the action label."`
	NotBefore time.Time         `json:"notBefore,omitzero" doc:"When it begins; nothing: at once."`
	Provider  string            `json:"provider,omitempty" maxLength:"128" doc:"It begins when this provider takes calls, and a canary that fails as before is tried again with the next run."`
	Tool      string            `json:"tool,omitempty" maxLength:"384" doc:"The same of a tool, or of one host of it, like \"http api.example\": it waits while its circuit is open."`
	Digest    string            `json:"digest,omitempty" maxLength:"64" doc:"A preview's: refused if other runs would be acted on by now."`
}

func (b *BulkBody) request() domain.BulkRequest {
	return domain.BulkRequest{
		Action:    domain.Action(b.Action),
		Query:     b.Filter,
		Runs:      b.Runs,
		Reason:    b.Reason,
		Canary:    b.Canary,
		Rate:      b.Rate,
		Labels:    b.Labels,
		NotBefore: b.NotBefore,
		Provider:  b.Provider,
		Tool:      b.Tool,
		Digest:    b.Digest,
	}
}

// StopBody goes with stopping a bulk act.
type StopBody struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// BulkView is a bulk act with a page of its runs.
type BulkView struct {
	domain.Bulk
	Items []domain.BulkItem `json:"items"`
}

type (
	bulkIn      struct{ Body BulkBody }
	bulkPreview struct{ Body domain.BulkPreview }
	bulkOut     struct{ Body domain.Bulk }
	bulkViewOut struct{ Body BulkView }
	bulkListOut struct{ Body List[domain.Bulk] }
	bulkIDIn    struct {
		ID    string `path:"id" maxLength:"64"`
		After int64  `query:"after" minimum:"0" doc:"Position of the last run that is known."`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}
	bulkStopIn struct {
		ID   string `path:"id" maxLength:"64"`
		Body *StopBody
	}
)

// bulkHandler serves bulk operations.
type bulkHandler struct {
	*kernel
	bulk *app.Bulk
}

func (h bulkHandler) routes(a *API) {
	tags := []string{"bulk"}
	mount(a, huma.Operation{OperationID: "preview-bulk-operation", Method: http.MethodPost, Path: "/bulk-previews", Tags: tags,
		Summary: "What an act on many runs would do, and to how many"},
		func(ctx context.Context, in *bulkIn) (*bulkPreview, error) {
			p, err := h.bulk.Preview(ctx, actorOf(ctx), in.Body.request())
			return &bulkPreview{p}, err
		})
	mount(
		a,
		huma.Operation{
			OperationID:   "start-bulk-operation",
			Method:        http.MethodPost,
			Path:          "/bulk-operations",
			Tags:          tags,
			DefaultStatus: http.StatusCreated,
			Summary:       "Act on many runs",
		},
		func(ctx context.Context, in *bulkIn) (*bulkOut, error) {
			b, err := h.bulk.Start(ctx, app.BulkStart{Meta: meta(ctx), BulkRequest: in.Body.request()})
			return &bulkOut{b}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID: "list-bulk-operations",
			Method:      http.MethodGet,
			Path:        "/bulk-operations",
			Tags:        tags,
			Summary:     "The newest acts on many runs",
		},
		func(ctx context.Context, in *PageIn) (*bulkListOut, error) {
			list, err := h.bulk.List(ctx, actorOf(ctx), maxListed)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, list, func(b domain.Bulk) string { return b.ID }, same)
			return &bulkListOut{page}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID: "get-bulk-operation",
			Method:      http.MethodGet,
			Path:        "/bulk-operations/{id}",
			Tags:        tags,
			Summary:     "How far an act on many runs is",
		},
		func(ctx context.Context, in *bulkIDIn) (*bulkViewOut, error) {
			b, err := h.bulk.Get(ctx, actorOf(ctx), in.ID)
			if err != nil {
				return nil, err
			}
			items, err := h.bulk.Items(ctx, actorOf(ctx), in.ID, in.After, in.Limit)
			return &bulkViewOut{BulkView{b, items}}, err
		},
	)
	mount(a, huma.Operation{OperationID: "stop-bulk-operation", Method: http.MethodPost, Path: "/bulk-operations/{id}/stop", Tags: tags,
		Summary: "Stop an act on many runs; those not reached stay as they are"},
		func(ctx context.Context, in *bulkStopIn) (*bulkOut, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			b, err := h.bulk.Stop(ctx, app.BulkChange{Meta: meta(ctx), Bulk: in.ID, Reason: reason})
			return &bulkOut{b}, err
		})
}
