package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

type listDoubtsIn struct {
	ListIn
	Plan string `query:"plan" maxLength:"200" doc:"The key of a plan."`
	Node string `query:"node" maxLength:"128" doc:"The step."`
	Run  string `query:"run" maxLength:"64" doc:"The id of a run."`
}

type doubtsOut struct {
	Body apitypes.List[apitypes.Doubt]
}

func (h runHandler) doubtRoutes(a *API) {
	mount(a, huma.Operation{OperationID: "list-doubts", Method: http.MethodGet, Path: "/doubts", Tags: []string{"runs"},
		Summary: "List steps in doubt of all runs, newest runs first",
		Description: "Each item has what POST /runs/{id}/nodes/{node}/resolve requires. Resolve the items of one step to decide them " +
			"together. A page has the items of at most limit runs.",
	}, h.listDoubts)
}

func (h runHandler) listDoubts(ctx context.Context, in *listDoubtsIn) (*doubtsOut, error) {
	page, err := searchPage(ctx, h.kernel, &in.ListIn, func(p domain.Page) (domain.List[apitypes.Doubt], error) {
		list, err := h.runs.Doubts(ctx, actorOf(ctx), domain.DoubtFilter{Plan: in.Plan, Node: in.Node, Run: in.Run, Page: p})
		out := domain.List[apitypes.Doubt]{Next: list.Next}
		for _, d := range list.Items {
			out.Items = append(out.Items, apitypes.DoubtOf(d))
		}
		return out, err
	})
	return &doubtsOut{page}, err
}
