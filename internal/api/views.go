package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// ViewBody is a saved view: a name for a query of the run list.
type ViewBody struct {
	Name      string `json:"name" minLength:"1" maxLength:"160"`
	Filter    string `json:"filter" minLength:"1" maxLength:"4096" doc:"The dashboard's filter grammar."`
	Everybody bool   `json:"everybody,omitempty" doc:"It is in everybody's list, not only in one's own."`
}

type (
	viewsOut   struct{ Body List[ViewBody] }
	viewIn     struct{ Body ViewBody }
	viewOut    struct{ Body ViewBody }
	dropViewIn struct {
		Name      string `path:"name" maxLength:"512"`
		Everybody bool   `query:"everybody" doc:"Everybody's view of that name, instead of one's own."`
	}
)

func (a *API) viewRoutes() {
	tags := []string{"runs"}
	register(a, huma.Operation{OperationID: "list-views", Method: http.MethodGet, Path: "/views", Tags: tags,
		Summary: "Saved views of the run list: one's own and everybody's"}, a.listViews)
	register(a, huma.Operation{OperationID: "save-view", Method: http.MethodPost, Path: "/views", Tags: tags,
		Summary: "Save a view; one of the same name is replaced"}, a.saveView)
	register(a, huma.Operation{OperationID: "delete-view", Method: http.MethodDelete, Path: "/views/{name}", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Remove a saved view"}, a.dropView)
}

func (a *API) listViews(ctx context.Context, _ *struct{}) (*viewsOut, error) {
	list, err := a.Reader.SavedViews(ctx, actorOf(ctx).Name)
	if err != nil {
		return nil, err
	}
	return &viewsOut{Body: listOf(list, "", func(v domain.SavedView) ViewBody { return ViewBody{v.Name, v.Query, v.Owner == ""} })}, nil
}

func (a *API) saveView(ctx context.Context, in *viewIn) (*viewOut, error) {
	v := in.Body
	if v.Name = strings.TrimSpace(v.Name); v.Name == "" || !utf8.ValidString(v.Name) || strings.ContainsAny(v.Name, "\n\r\x00") {
		return nil, domain.Errorf(domain.CodeInvalid, "a view needs a name on one line")
	}
	if _, problem := filter.Parse(v.Filter, time.Now()); problem != nil {
		return nil, problem
	}
	return &viewOut{v}, a.keepView(ctx, v.Name, v.Filter, v.Everybody)
}

func (a *API) dropView(ctx context.Context, in *dropViewIn) (*struct{}, error) {
	name, err := url.PathUnescape(in.Name)
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotFound, "there is no view %q", in.Name)
	}
	list, err := a.Reader.SavedViews(ctx, actorOf(ctx).Name)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if v.Name == name && (v.Owner == "") == in.Everybody {
			return nil, a.keepView(ctx, name, "", in.Everybody)
		}
	}
	return nil, domain.Errorf(domain.CodeNotFound, "there is no view %q", name).Suggest("GET /views lists your views and everybody's")
}

// keepView keeps a query under a name; an empty one removes it.
func (a *API) keepView(ctx context.Context, name, query string, everybody bool) error {
	actor := actorOf(ctx)
	owner := actor.Name
	if everybody {
		owner = ""
	}
	return a.Reader.SaveView(ctx, owner, name, query,
		domain.AuditRecord{Action: "view.save", Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Object: "view:" + name, Result: "ok", Reason: query})
}
