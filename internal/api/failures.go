package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// AckBody names the failures that are taken note of.
type AckBody struct {
	domain.FailureRef
	Note string `json:"note,omitempty" maxLength:"2000" doc:"What others should know about it."`
}

// Acked says how many runs that was.
type Acked struct {
	Runs int64 `json:"runs"`
}

type (
	failuresOut struct{ Body List[domain.FailureGroup] }
	ackIn       struct{ Body AckBody }
	ackOut      struct{ Body Acked }
)

// failureID names a group of failed runs.
func failureID(g domain.FailureGroup) string {
	return strings.Join([]string{g.PlanID, g.Node, g.Code, g.Fingerprint}, "\x00")
}

// maxListed is how many items a list has that is read whole: the newest.
const maxListed = 1000

// failureHandler serves groups of failed runs.
type failureHandler struct {
	*kernel
	failures *app.Failures
}

func (h failureHandler) routes(a *API) {
	tags := []string{"failures"}
	mount(a, huma.Operation{OperationID: "list-failures", Method: http.MethodGet, Path: "/failures", Tags: tags,
		Summary: "Failed runs by what failed: plan, node, error code and what the error says"},
		func(ctx context.Context, in *PageIn) (*failuresOut, error) {
			groups, err := h.failures.List(ctx, actorOf(ctx), maxListed)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, groups, failureID, same)
			return &failuresOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "acknowledge-failures", Method: http.MethodPost, Path: "/failures/acknowledge", Tags: tags,
		Summary: "Acknowledge failures: their runs need no attention until they fail again"},
		func(ctx context.Context, in *ackIn) (*ackOut, error) {
			n, err := h.failures.Acknowledge(ctx, app.FailureChange{Meta: meta(ctx), FailureRef: in.Body.FailureRef, Note: in.Body.Note})
			return &ackOut{Acked{n}}, err
		})
	mount(a, huma.Operation{OperationID: "unacknowledge-failures", Method: http.MethodPost, Path: "/failures/unacknowledge", Tags: tags,
		Summary: "Take an acknowledgement back"},
		func(ctx context.Context, in *ackIn) (*ackOut, error) {
			n, err := h.failures.Unacknowledge(ctx, app.FailureChange{Meta: meta(ctx), FailureRef: in.Body.FailureRef})
			return &ackOut{Acked{n}}, err
		})
}
