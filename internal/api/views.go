package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

type (
	viewsOut   struct{ Body apitypes.List[apitypes.View] }
	viewIn     struct{ Body apitypes.View }
	viewOut    struct{ Body apitypes.View }
	dropViewIn struct {
		Name   string `path:"name" maxLength:"512"`
		Shared bool   `query:"shared" doc:"The shared view of that name, instead of your own."`
	}
)

// viewHandler serves saved views.
type viewHandler struct {
	*kernel
	views *app.Views
}

func (h viewHandler) routes(a *API) {
	tags := []string{"runs"}
	mount(a, huma.Operation{OperationID: "list-views", Method: http.MethodGet, Path: "/views", Tags: tags,
		Summary: "List saved views of the run list: your own and shared ones"}, h.listViews)
	mount(a, huma.Operation{OperationID: "get-view", Method: http.MethodGet, Path: "/views/{name}", Tags: tags,
		Summary: "Get a saved view"}, h.getView)
	mount(a, huma.Operation{OperationID: "save-view", Method: http.MethodPost, Path: "/views", Tags: tags,
		Summary: "Save a view, and replace one with the same name"}, h.saveView)
	mount(
		a,
		huma.Operation{
			OperationID: "delete-view",
			Method:      http.MethodDelete,
			Path:        "/views/{name}",
			Tags:        tags,
			Summary:     "Delete a saved view, and return it",
		},
		h.dropView,
	)
}

func (h viewHandler) listViews(ctx context.Context, in *ListIn) (*viewsOut, error) {
	list, err := h.views.List(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, in, list, func(v domain.SavedView) string { return v.Owner + "\x00" + v.Name },
		viewOf)
	return &viewsOut{page}, err
}

func (h viewHandler) saveView(ctx context.Context, in *viewIn) (*viewOut, error) {
	v, err := h.views.Save(ctx, app.ViewChange{Meta: meta(ctx), Name: in.Body.Name, Query: in.Body.Filter, Shared: in.Body.Shared})
	return &viewOut{viewOf(v)}, err
}

func (h viewHandler) getView(ctx context.Context, in *dropViewIn) (*viewOut, error) {
	v, err := h.views.Get(ctx, actorOf(ctx), in.Name, in.Shared)
	return &viewOut{viewOf(v)}, err
}

func (h viewHandler) dropView(ctx context.Context, in *dropViewIn) (*viewOut, error) {
	v, err := h.views.Delete(ctx, app.ViewChange{Meta: meta(ctx), Name: in.Name, Shared: in.Shared})
	return &viewOut{viewOf(v)}, err
}

func viewOf(v domain.SavedView) apitypes.View {
	return apitypes.View{Name: v.Name, Filter: v.Query, Shared: v.Owner == ""}
}
