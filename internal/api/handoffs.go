package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

type handoffsIn struct {
	PageIn
	Q string `query:"q" maxLength:"4096" doc:"from:, to:, plan:, status:open|returned|failed, since:, until:"`
}

type handoffIn struct {
	ID string `path:"id" maxLength:"400" doc:"A handoff's id, as lists have it."`
}

type handoffOut struct{ Body domain.HandoffDetail }

type handoffsOut struct{ Body List[domain.HandoffSeen] }

func (a *API) handoffRoutes() {
	mount(a, huma.Operation{OperationID: "list-handoffs", Method: http.MethodGet, Path: "/handoffs", Tags: []string{"runs"},
		Summary: "Which agent gave what to which, over all runs, newest first"}, a.listHandoffs)
	mount(a, huma.Operation{OperationID: "get-handoff", Method: http.MethodGet, Path: "/handoffs/{id}", Tags: []string{"runs"},
		Summary: "One handoff: what was passed on, with which tools, and what came back"}, a.getHandoff)
}

func (a *API) listHandoffs(ctx context.Context, in *handoffsIn) (*handoffsOut, error) {
	after, err := a.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f, problem := filter.ParseHandoffs(in.Q, time.Now())
	if problem != nil {
		return nil, problem
	}
	f.Page = domain.Page{After: after, Limit: in.Limit}
	list, err := a.App.Runs.Handoffs(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	same := func(h domain.HandoffSeen) domain.HandoffSeen { return h }
	return &handoffsOut{Body: listOf(list.Items, a.seal(ctx, list.Next), same)}, nil
}

func (a *API) getHandoff(ctx context.Context, in *handoffIn) (*handoffOut, error) {
	id, err := url.PathUnescape(in.ID)
	if err != nil {
		id = in.ID
	}
	h, err := a.App.Runs.Handoff(ctx, actorOf(ctx), id)
	return &handoffOut{Body: h}, err
}
