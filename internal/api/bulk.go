package api

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// BulkOperationCreate starts a bulk operation.
type BulkOperationCreate struct {
	apitypes.BulkAction
	Filter   string            `json:"filter,omitempty" maxLength:"4096" doc:"The runs, in the filter language."`
	Runs     []string          `json:"runs,omitempty" maxItems:"10000" doc:"The ids of the runs. A filter selects among them."`
	Reason   string            `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log and in every run's journal."`
	Canary   bool              `json:"canary,omitempty" doc:"Act on one run first, and on the rest only if it does not fail."`
	Rate     int               `json:"rate,omitempty" minimum:"0" maximum:"60000" doc:"Runs per minute; 0: no limit."`
	Labels   map[string]string `json:"labels,omitempty" doc:"The labels that the action label adds."`
	StartAt  time.Time         `json:"startAt,omitzero" doc:"The operation does not start before this time."`
	Provider string            `json:"provider,omitempty" maxLength:"128" doc:"Start when this provider accepts calls. If the canary fails again, the next run becomes the canary."`
	Tool     string            `json:"tool,omitempty" maxLength:"384" doc:"Start when the circuit of this tool is closed, or of one host, such as \"http api.example\"."`
	Digest   string            `json:"digest,omitempty" maxLength:"64" doc:"The digest of a preview; 409 if the selected runs have changed."`
}

func (b *BulkOperationCreate) request() (domain.BulkRequest, error) {
	action, err := b.BulkAction.Domain()
	return domain.BulkRequest{
		Action:    action,
		Query:     b.Filter,
		Runs:      b.Runs,
		Reason:    b.Reason,
		Canary:    b.Canary,
		Rate:      b.Rate,
		Labels:    b.Labels,
		NotBefore: b.StartAt,
		Provider:  b.Provider,
		Tool:      b.Tool,
		Digest:    b.Digest,
	}, err
}

type (
	bulkIn struct {
		Preview bool `query:"preview" doc:"Only predict what the operation would do. Requires the role viewer."`
		Body    BulkOperationCreate
	}
	bulkStartedOut struct {
		Status   int
		Location string `header:"Location"`
		Body     any
	}
	bulkOut      struct{ Body apitypes.BulkOperation }
	bulkItemsOut struct {
		Body apitypes.List[domain.BulkItem]
	}
	bulkListOut struct {
		Body apitypes.List[apitypes.BulkOperation]
	}
	BulkIn struct {
		ID string `path:"id" maxLength:"64" doc:"The id of the bulk operation."`
	}
	bulkItemsIn struct {
		BulkIn
		Status string `query:"status" enum:"pending,acted,refused" doc:"Only runs with this status."`
		LongPageIn
	}
	bulkStopIn struct {
		ID   string `path:"id" maxLength:"64"`
		Body *ReasonOptions
	}
)

// bulkHandler serves bulk operations.
type bulkHandler struct {
	*kernel
	bulk *app.Bulk
}

func (h bulkHandler) routes(a *API) {
	tags := []string{"bulk"}
	mount(a, huma.Operation{OperationID: "start-bulk-operation", Method: http.MethodPost, Path: "/bulk-operations", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Start a bulk operation: one action on many runs",
		Responses: map[string]*huma.Response{
			"201": a.jsonResponse("The bulk operation", reflect.TypeFor[apitypes.BulkOperation]()),
			"200": a.jsonResponse("With preview: the prediction", reflect.TypeFor[domain.BulkPreview]())}},
		h.start)
	mount(
		a,
		huma.Operation{
			OperationID: "list-bulk-operations",
			Method:      http.MethodGet,
			Path:        "/bulk-operations",
			Tags:        tags,
			Summary:     "List bulk operations, newest first",
		},
		func(ctx context.Context, in *ListIn) (*bulkListOut, error) {
			list, err := h.bulk.List(ctx, actorOf(ctx), maxListed)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, list, func(b domain.Bulk) string { return b.ID },
				apitypes.BulkOperationOf)
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
			Summary:     "Get a bulk operation",
		},
		func(ctx context.Context, in *BulkIn) (*bulkOut, error) {
			b, err := h.bulk.Get(ctx, actorOf(ctx), in.ID)
			return &bulkOut{apitypes.BulkOperationOf(b)}, err
		},
	)
	mount(a, huma.Operation{OperationID: "list-bulk-operation-items", Method: http.MethodGet, Path: "/bulk-operations/{id}/items",
		Tags: tags, Summary: "List the runs of a bulk operation, in order"}, h.items)
	mount(a, huma.Operation{OperationID: "stop-bulk-operation", Method: http.MethodPost, Path: "/bulk-operations/{id}/stop", Tags: tags,
		Summary: "Stop a bulk operation; the remaining runs do not change"},
		func(ctx context.Context, in *bulkStopIn) (*bulkOut, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			b, err := h.bulk.Stop(ctx, app.BulkChange{Meta: meta(ctx), Bulk: in.ID, Reason: reason})
			return &bulkOut{apitypes.BulkOperationOf(b)}, err
		})
}

func (h bulkHandler) start(ctx context.Context, in *bulkIn) (*bulkStartedOut, error) {
	r, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	if in.Preview {
		p, err := h.bulk.Preview(ctx, actorOf(ctx), r)
		p.Action = in.Body.Action
		return &bulkStartedOut{Status: http.StatusOK, Body: p}, err
	}
	b, err := h.bulk.Start(ctx, app.BulkStart{Meta: meta(ctx), BulkRequest: r})
	if err != nil {
		return nil, err
	}
	return &bulkStartedOut{http.StatusCreated, Base + "/bulk-operations/" + b.ID, apitypes.BulkOperationOf(b)}, nil
}

func (h bulkHandler) items(ctx context.Context, in *bulkItemsIn) (*bulkItemsOut, error) {
	after, err := h.position(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	found, next, err := filter.Search(in.Filter, in.Limit, after, func(after int64, limit int) ([]domain.BulkItem, int64, error) {
		items, err := h.bulk.Items(ctx, actorOf(ctx), domain.BulkItemFilter{Bulk: in.ID, State: in.Status, After: after, Limit: limit})
		if err != nil || len(items) < limit {
			return items, 0, err
		}
		return items, items[len(items)-1].Position, nil
	})
	return &bulkItemsOut{listOf(found, h.sealPosition(ctx, next), same)}, err
}
