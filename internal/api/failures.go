package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// GroupAcknowledge acknowledges a failure group. The plan, the step, and the code are required only
// if several groups have the fingerprint, or if it is any.
type GroupAcknowledge struct {
	Plan string `json:"plan,omitempty" maxLength:"200" doc:"The key of the plan." example:"invoice"`
	Node string `json:"node,omitempty" maxLength:"128" doc:"The step that failed."`
	Code string `json:"code,omitempty" maxLength:"64" doc:"The code of the error."`
	Note string `json:"note,omitempty" maxLength:"2000" doc:"A note for others." example:"the supplier has an outage"`
}

// GroupAcknowledgement is the result of acknowledging a group, or of withdrawing that.
type GroupAcknowledgement struct {
	Fingerprint  string `json:"fingerprint" doc:"The fingerprint of the group."`
	Acknowledged bool   `json:"acknowledged" doc:"Whether the group is acknowledged now."`
	Runs         int64  `json:"runs" doc:"Number of runs that were acknowledged, or that need attention after the withdrawal."`
}

// GroupIn names a failure group.
type GroupIn struct {
	Fingerprint string `path:"fingerprint" maxLength:"200" doc:"The fingerprint of the group; any: every message of that plan, node, and code."`
}

type (
	failuresOut struct {
		Body apitypes.List[domain.FailureGroup]
	}
	ackGroupIn struct {
		GroupIn
		Body *GroupAcknowledge
	}
	unackGroupIn struct {
		GroupIn
		Plan string `query:"plan" maxLength:"200" doc:"The key of the plan."`
		Node string `query:"node" maxLength:"128" doc:"The step that failed."`
		Code string `query:"code" maxLength:"64" doc:"The code of the error."`
	}
	ackGroupOut struct{ Body GroupAcknowledgement }
)

// ref is the group in a request.
func (in *GroupIn) ref(plan, node, code string) domain.FailureRef {
	r := domain.FailureRef{PlanKey: plan, Node: node, Code: code, Fingerprint: in.Fingerprint}
	if r.Fingerprint == "any" {
		r.Fingerprint = ""
	}
	return r
}

// failureID identifies a group of failed runs.
func failureID(g domain.FailureGroup) string {
	return strings.Join([]string{g.Plan.ID, g.Node, g.Code, g.Fingerprint}, "\x00")
}

// maxListed limits lists that are read completely. They contain the newest items.
const maxListed = 1000

// failureHandler serves groups of failed runs.
type failureHandler struct {
	*kernel
	failures *app.Failures
}

func (h failureHandler) routes(a *API) {
	tags, path := []string{"failures"}, "/failure-groups/{fingerprint}/acknowledgement"
	mount(a, huma.Operation{OperationID: "list-failure-groups", Method: http.MethodGet, Path: "/failure-groups", Tags: tags,
		Summary:     "List failure groups",
		Description: "Failed runs that need attention, grouped by plan, step, error code, and fingerprint."},
		func(ctx context.Context, in *ListIn) (*failuresOut, error) {
			groups, err := h.failures.List(ctx, actorOf(ctx), maxListed)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, groups, failureID, same)
			return &failuresOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "acknowledge-failure-group", Method: http.MethodPost, Path: path, Tags: tags,
		Summary:     "Acknowledge a failure group",
		Description: "Its runs need no attention until they, or runs like them, fail again."},
		func(ctx context.Context, in *ackGroupIn) (*ackGroupOut, error) {
			b := cmp.Or(in.Body, &GroupAcknowledge{})
			n, err := h.failures.Acknowledge(ctx,
				app.FailureChange{Meta: meta(ctx), FailureRef: in.ref(b.Plan, b.Node, b.Code), Note: b.Note})
			return &ackGroupOut{GroupAcknowledgement{in.Fingerprint, true, n}}, err
		})
	mount(a, huma.Operation{OperationID: "unacknowledge-failure-group", Method: http.MethodDelete, Path: path, Tags: tags,
		Summary: "Withdraw the acknowledgment of a failure group"},
		func(ctx context.Context, in *unackGroupIn) (*ackGroupOut, error) {
			n, err := h.failures.Unacknowledge(ctx, app.FailureChange{Meta: meta(ctx), FailureRef: in.ref(in.Plan, in.Node, in.Code)})
			return &ackGroupOut{GroupAcknowledgement{in.Fingerprint, false, n}}, err
		})
}
