package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// DraftCreate is the body of a request for a draft.
type DraftCreate struct {
	Query       string             `json:"query" minLength:"1" maxLength:"32768" doc:"The request in plain language."`
	Agent       string             `json:"agent,omitempty" maxLength:"128" doc:"Answers directly, without a plan."`
	Provider    string             `json:"provider,omitempty" maxLength:"128" doc:"The provider of the planning model; absent: rules or model, as configured."`
	Examples    string             `json:"examples,omitempty" maxLength:"32768" doc:"Examples of input, for a planning model."`
	Fresh       bool               `json:"fresh,omitempty" doc:"Plan again, even if an equal request has a plan already."`
	Constraints domain.Constraints `json:"constraints,omitzero" required:"false"`
	Preferences map[string]any     `json:"preferences,omitempty" doc:"Values for parameters of skills, such as a tone. Every agent of the plan gets them."`
}

// DraftRefine requests another draft of the same request.
type DraftRefine struct {
	Query       string             `json:"query,omitempty" maxLength:"32768" doc:"The request; absent: as before."`
	Change      string             `json:"change,omitempty" maxLength:"32768" doc:"The change to the draft."`
	Provider    string             `json:"provider,omitempty" maxLength:"128" doc:"The provider of the planning model."`
	Constraints domain.Constraints `json:"constraints,omitzero" required:"false" doc:"Absent: as before."`
	Preferences map[string]any     `json:"preferences,omitempty" doc:"Absent: as before."`
}

// DraftRunCreate is the body of a request to start a run of a draft's plan.
type DraftRunCreate struct {
	Accept  bool   `json:"accept,omitempty" doc:"Also start a plan with steps that cannot be repeated, and make a generated version of a plan in use current."`
	Session string `json:"session,omitempty" maxLength:"128"`
	Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// DraftAccept accepts a draft.
type DraftAccept struct {
	Alternative string `json:"alternative,omitempty" maxLength:"64" doc:"The kind of an alternative to accept instead of the proposed plan, such as cheaper or faster; absent: the proposed plan."`
	Reason      string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

type (
	draftIn   struct{ Body DraftCreate }
	draftOut  struct{ Body domain.Draft }
	draftIDIn struct {
		ID string `path:"id" maxLength:"64"`
	}
	refineIn struct {
		ID   string `path:"id" maxLength:"64"`
		Body DraftRefine
	}
	startDraftedIn struct {
		ID   string `path:"id" maxLength:"64"`
		Body *DraftRunCreate
	}
	acceptDraftIn struct {
		ID   string `path:"id" maxLength:"64"`
		Body *DraftAccept
	}
	draftsIn struct {
		ListIn
		All bool `query:"all" doc:"Include accepted and discarded drafts."`
	}
	draftsOut struct{ Body apitypes.List[domain.Draft] }
)

// draftHandler serves drafts of plans.
type draftHandler struct {
	*kernel
	drafts *app.Drafts
}

func (h draftHandler) routes(a *API) {
	tags := []string{"planning"}
	mount(
		a,
		huma.Operation{
			OperationID: "list-drafts",
			Method:      http.MethodGet,
			Path:        "/drafts",
			Tags:        tags,
			Summary:     "List drafts, newest first",
		},
		func(ctx context.Context, in *draftsIn) (*draftsOut, error) {
			list, err := h.drafts.List(ctx, actorOf(ctx), in.All, maxListed)
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, &in.ListIn, list, func(d domain.Draft) string { return d.ID }, same)
			return &draftsOut{page}, err
		},
	)
	mount(
		a,
		huma.Operation{OperationID: "start-draft", Method: http.MethodPost, Path: "/drafts", Tags: tags, DefaultStatus: http.StatusAccepted,
			Summary: "Plan a request in the background",
			Description: "The response arrives immediately. GET /drafts/{id} returns the progress. " +
				"The events are draft_progress, draft_ready, and draft_failed. Nothing runs before the draft is accepted."},
		func(ctx context.Context, in *draftIn) (*draftOut, error) {
			b := in.Body
			d, err := h.drafts.Start(
				ctx,
				app.DraftStart{Meta: meta(ctx), DraftRequest: domain.DraftRequest{Query: b.Query, Agent: b.Agent, Provider: b.Provider,
					Examples: b.Examples, Fresh: b.Fresh, Constraints: b.Constraints, Preferences: b.Preferences}},
			)
			return &draftOut{d}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID: "get-draft",
			Method:      http.MethodGet,
			Path:        "/drafts/{id}",
			Tags:        tags,
			Summary:     "Get a draft with its progress or its result",
		},
		func(ctx context.Context, in *draftIDIn) (*draftOut, error) {
			d, err := h.drafts.Get(ctx, actorOf(ctx), in.ID)
			return &draftOut{d}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID:   "refine-draft",
			Method:        http.MethodPost,
			Path:          "/drafts/{id}/refine",
			Tags:          tags,
			DefaultStatus: http.StatusAccepted,
			Summary:       "Create another draft of a request, with a change or by another provider",
		},
		func(ctx context.Context, in *refineIn) (*draftOut, error) {
			b := in.Body
			d, err := h.drafts.Refine(
				ctx,
				app.DraftRefinement{Meta: meta(ctx), Draft: in.ID, DraftRequest: domain.DraftRequest{Query: b.Query, Change: b.Change,
					Provider: b.Provider, Constraints: b.Constraints, Preferences: b.Preferences}},
			)
			return &draftOut{d}, err
		},
	)
	mount(
		a,
		huma.Operation{
			OperationID:   "run-draft",
			Method:        http.MethodPost,
			Path:          "/drafts/{id}/start",
			Tags:          tags,
			DefaultStatus: http.StatusCreated,
			Summary:       "Start a run of exactly the plan of a draft",
			Description:   "This also accepts the draft. A draft of a plan in use stays a draft, unless accept is set.",
		},
		func(ctx context.Context, in *startDraftedIn) (*startedOut, error) {
			b := DraftRunCreate{}
			if in.Body != nil {
				b = *in.Body
			}
			run, err := h.drafts.Run(
				ctx,
				app.DraftRun{
					Meta:       meta(ctx),
					Draft:      in.ID,
					DraftStart: domain.DraftStart{Accept: b.Accept, Session: b.Session, Reason: b.Reason},
				},
			)
			if err != nil {
				return nil, err
			}
			return started(run), nil
		},
	)
	mount(a, huma.Operation{OperationID: "accept-draft", Method: http.MethodPost, Path: "/drafts/{id}/accept", Tags: tags,
		Summary:     "Accept a draft, or an alternative of it",
		Description: "An alternative is stored as a version of the same plan and becomes the plan of the draft."},
		func(ctx context.Context, in *acceptDraftIn) (*draftOut, error) {
			b := DraftAccept{}
			if in.Body != nil {
				b = *in.Body
			}
			d, err := h.drafts.Accept(
				ctx,
				app.DraftAcceptance{
					Meta:            meta(ctx),
					Draft:           in.ID,
					DraftAcceptance: domain.DraftAcceptance{Alternative: b.Alternative, Reason: b.Reason},
				},
			)
			return &draftOut{d}, err
		})
	mount(a, huma.Operation{OperationID: "discard-draft", Method: http.MethodPost, Path: "/drafts/{id}/discard", Tags: tags,
		Summary: "Discard a draft and stop its planning"},
		func(ctx context.Context, in *archiveIn) (*draftOut, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			d, err := h.drafts.Discard(ctx, app.DraftChange{Meta: meta(ctx), Draft: in.ID, Reason: reason})
			return &draftOut{d}, err
		})
}
