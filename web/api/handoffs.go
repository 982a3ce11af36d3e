package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/kairos"
)

type handoffsIn struct {
	PageIn
	Q string `query:"q" maxLength:"4096" doc:"from:, to:, plan:, status:open|returned|failed, since:, until:"`
}

type handoffsOut struct{ Body List[kairos.HandoffSeen] }

func (a *API) handoffRoutes() {
	register(a, huma.Operation{OperationID: "list-handoffs", Method: http.MethodGet, Path: "/handoffs", Tags: []string{"runs"},
		Summary: "Which agent gave what to which, over all runs, newest first"}, a.listHandoffs)
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
	f.Page = kairos.Page{After: after, Limit: in.Limit}
	list, err := a.Reader.HandoffsOf(ctx, f)
	if err != nil {
		return nil, err
	}
	same := func(h kairos.HandoffSeen) kairos.HandoffSeen { return h }
	return &handoffsOut{Body: listOf(list.Items, a.seal(ctx, list.Next), same)}, nil
}
