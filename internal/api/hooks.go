package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type (
	hooksIn struct {
		PageIn
		Filter string `query:"filter" maxLength:"200" doc:"Part of the key."`
	}
	hooksOut struct{ Body apitypes.List[apitypes.Hook] }
	HookIn   struct {
		ID string `path:"id" maxLength:"128" doc:"The hook's id or key."`
	}
	hookOut struct {
		Status   int
		ETag     string `header:"ETag"`
		Location string `header:"Location"`
		Body     apitypes.HookDetail
	}
	hookReadIn struct {
		HookIn
		IfNoneMatch string `header:"If-None-Match"`
	}
	hookCreateIn struct{ Body apitypes.HookCreate }
	hookEditIn   struct {
		HookIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the hook that you saw."`
		Body    apitypes.HookEdit
	}
	hookChangeIn struct {
		HookIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the hook that you saw."`
		Body    *ReasonOptions
	}
	hookDeleteIn struct {
		HookIn
		IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag of the hook that you saw."`
	}
	hookDeliveriesIn struct {
		HookIn
		PageIn
		Filter domain.DeliveryState `query:"filter" enum:"accepted,duplicate,filtered,refused" doc:"The outcome."`
	}
	hookDeliveriesOut struct {
		Body apitypes.List[apitypes.HookDelivery]
	}
	hookDeliveryIn struct {
		ID string `path:"id" maxLength:"128" doc:"The delivery's id."`
	}
	hookDeliveryOut struct{ Body apitypes.HookDeliveryDetail }
	replayIn        struct {
		HookIn
		Preview bool `query:"preview" doc:"Only show what the replay would do. Requires the role viewer."`
		Body    apitypes.ReplayCreate
	}
	replayOut struct {
		Status   int
		Location string `header:"Location"`
		Body     any
	}
)

// hookHandler serves hooks and their deliveries.
type hookHandler struct {
	*kernel
	hooks *app.Hooks
}

func (h hookHandler) routes(a *API) {
	tags := []string{"hooks"}
	mount(a, huma.Operation{OperationID: "list-hooks", Method: http.MethodGet, Path: "/hooks", Tags: tags,
		Summary: "List hooks, by key"}, h.list)
	mount(a, huma.Operation{OperationID: "create-hook", Method: http.MethodPost, Path: "/hooks", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Create a hook",
		Description: "scheme, secret, and either plan or signal are required. The secret is the name of a configured one. " +
			"With the scheme files, files replaces secret."}, h.create)
	mount(a, huma.Operation{OperationID: "get-hook", Method: http.MethodGet, Path: "/hooks/{id}", Tags: tags,
		Summary: "One hook with warnings", Responses: map[string]*huma.Response{"304": {Description: "Not modified"}}}, h.get)
	mount(a, huma.Operation{OperationID: "update-hook", Method: http.MethodPatch, Path: "/hooks/{id}", Tags: tags,
		Summary: "Change a hook", Description: "Absent settings do not change."}, h.update)
	mount(a, huma.Operation{OperationID: "delete-hook", Method: http.MethodDelete, Path: "/hooks/{id}", Tags: tags,
		Summary: "Delete a hook with its deliveries, and return it; its runs stay"}, h.delete)
	mount(a, huma.Operation{OperationID: "pause-hook", Method: http.MethodPost, Path: "/hooks/{id}/pause", Tags: tags,
		Summary: "Pause a hook", Description: "Deliveries are refused with 503, so that senders repeat them."}, h.change(h.hooks.Pause))
	mount(a, huma.Operation{OperationID: "resume-hook", Method: http.MethodPost, Path: "/hooks/{id}/resume", Tags: tags,
		Summary: "Resume a hook"}, h.change(h.hooks.Resume))
	mount(a, huma.Operation{OperationID: "list-hook-deliveries", Method: http.MethodGet, Path: "/hooks/{id}/deliveries", Tags: tags,
		Summary: "List the deliveries to a hook, newest first"}, h.deliveries)
	mount(a, huma.Operation{OperationID: "get-hook-delivery", Method: http.MethodGet, Path: "/hook-deliveries/{id}", Tags: tags,
		Summary: "One delivery with its headers and its body"}, h.delivery)
	mount(a, huma.Operation{OperationID: "replay-deliveries", Method: http.MethodPost, Path: "/hooks/{id}/replay", Tags: tags,
		DefaultStatus: http.StatusCreated, Summary: "Replay deliveries to a hook",
		Description: "A bulk operation repeats verified deliveries, oldest first. Each gets a key that names the original.",
		Responses: map[string]*huma.Response{
			"201": a.jsonResponse("The bulk operation", reflect.TypeFor[apitypes.BulkOperation]()),
			"200": a.jsonResponse("With preview: what would be replayed", reflect.TypeFor[apitypes.ReplayPreview]())}}, h.replay)
}

func (h hookHandler) list(ctx context.Context, in *hooksIn) (*hooksOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.hooks.List(ctx, actorOf(ctx), domain.HookFilter{Text: in.Filter, Page: domain.Page{After: after, Limit: in.Limit}})
	if err != nil {
		return nil, err
	}
	return &hooksOut{listOf(list.Items, h.seal(ctx, list.Next), apitypes.HookOf)}, nil
}

// answer returns a hook with warnings.
func (h hookHandler) answer(ctx context.Context, x domain.Hook, status int) (*hookOut, error) {
	out := &hookOut{Status: status, ETag: etag(strconv.FormatInt(x.Rev, 10)), Body: apitypes.HookDetail{Hook: apitypes.HookOf(x)}}
	warnings, err := h.hooks.Warnings(ctx, actorOf(ctx), x)
	out.Body.Warnings = make([]string, len(warnings))
	for i, w := range warnings {
		out.Body.Warnings[i] = w.String()
	}
	return out, err
}

func hookFields(e apitypes.HookEdit) app.HookFields {
	f := app.HookFields{Plan: e.Plan, Version: e.Version, Scheme: e.Scheme, Secret: e.Secret, Files: e.Files, Filter: e.Filter,
		Input: e.Input, Signal: e.Signal, SignalKey: e.SignalKey, Profile: e.Profile, Labels: e.Labels}
	if e.SettleMs != nil {
		settle := time.Duration(*e.SettleMs) * time.Millisecond
		f.Settle = &settle
	}
	return f
}

func (h hookHandler) create(ctx context.Context, in *hookCreateIn) (*hookOut, error) {
	x, err := h.hooks.Create(ctx, app.NewHook{Meta: meta(ctx), Key: in.Body.Key, HookFields: hookFields(in.Body.HookEdit)})
	if err != nil {
		return nil, err
	}
	out, err := h.answer(ctx, x, http.StatusCreated)
	out.Location = Base + "/hooks/" + x.ID
	return out, err
}

func (h hookHandler) get(ctx context.Context, in *hookReadIn) (*hookOut, error) {
	x, err := h.hooks.Get(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	out, err := h.answer(ctx, x, http.StatusOK)
	if err == nil && matches(in.IfNoneMatch, out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, err
}

func (h hookHandler) update(ctx context.Context, in *hookEditIn) (*hookOut, error) {
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	x, err := h.hooks.Update(ctx, app.HookEdit{Meta: meta(ctx), Hook: in.ID, Rev: rev, HookFields: hookFields(in.Body)})
	if err != nil {
		return nil, err
	}
	return h.answer(ctx, x, http.StatusOK)
}

func (h hookHandler) change(do func(context.Context, app.HookChange) (domain.Hook, error)) func(context.Context,
	*hookChangeIn) (*hookOut, error) {
	return func(ctx context.Context, in *hookChangeIn) (*hookOut, error) {
		rev, err := revOf(in.IfMatch)
		if err != nil {
			return nil, err
		}
		r := app.HookChange{Meta: meta(ctx), Hook: in.ID, Rev: rev}
		if in.Body != nil {
			r.Reason = in.Body.Reason
		}
		x, err := do(ctx, r)
		if err != nil {
			return nil, err
		}
		return h.answer(ctx, x, http.StatusOK)
	}
}

func (h hookHandler) delete(ctx context.Context, in *hookDeleteIn) (*hookOut, error) {
	rev, err := revOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	x, err := h.hooks.Delete(ctx, app.HookChange{Meta: meta(ctx), Hook: in.ID, Rev: rev})
	if err != nil {
		return nil, err
	}
	return &hookOut{Status: http.StatusOK, Body: apitypes.HookDetail{Hook: apitypes.HookOf(x), Warnings: []string{}}}, nil
}

func (h hookHandler) deliveries(ctx context.Context, in *hookDeliveriesIn) (*hookDeliveriesOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := h.hooks.Deliveries(ctx, actorOf(ctx), domain.DeliveryFilter{Hook: in.ID, State: in.Filter,
		Page: domain.Page{After: after, Limit: in.Limit}})
	if err != nil {
		return nil, err
	}
	return &hookDeliveriesOut{listOf(list.Items, h.seal(ctx, list.Next), apitypes.HookDeliveryOf)}, nil
}

func (h hookHandler) delivery(ctx context.Context, in *hookDeliveryIn) (*hookDeliveryOut, error) {
	d, err := h.hooks.Delivery(ctx, actorOf(ctx), in.ID)
	if d.Headers == nil {
		d.Headers = map[string]string{}
	}
	return &hookDeliveryOut{apitypes.HookDeliveryDetail{HookDelivery: apitypes.HookDeliveryOf(d), Headers: d.Headers, Body: d.Body}}, err
}

func (h hookHandler) replay(ctx context.Context, in *replayIn) (*replayOut, error) {
	r := app.Replay{Meta: meta(ctx), Hook: in.ID, Deliveries: in.Body.Deliveries, State: in.Body.Status, Since: in.Body.Since,
		Canary: in.Body.Canary, Rate: in.Body.Rate, Reason: in.Body.Reason, Digest: in.Body.Digest}
	if in.Preview {
		p, err := h.hooks.PreviewReplay(ctx, actorOf(ctx), r)
		return &replayOut{Status: http.StatusOK, Body: apitypes.ReplayPreview{Deliveries: append([]string{}, p.Deliveries...),
			First: p.First, Last: p.Last, Digest: p.Digest}}, err
	}
	b, err := h.hooks.Replay(ctx, r)
	return &replayOut{Status: http.StatusCreated, Location: Base + "/bulk-operations/" + b.ID, Body: apitypes.BulkOperationOf(b)}, err
}
