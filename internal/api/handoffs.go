package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

type handoffsIn struct {
	PageIn
	Filter string `query:"filter" maxLength:"4096" doc:"from:, to:, plan:, status:open|returned|failed, since:, until:"`
}

type handoffIn struct {
	ID string `path:"id" maxLength:"400" doc:"The id of the handoff, as in lists."`
}

type handoffOut struct{ Body domain.HandoffDetail }

type (
	ofRunIn struct {
		RunIn
		ListIn
	}
	messagesOut struct {
		Body apitypes.List[domain.AgentMessage]
	}
	runHandoffsOut struct{ Body apitypes.List[domain.Handoff] }
)

type handoffsOut struct {
	Body apitypes.List[domain.HandoffSummary]
}

func (h runHandler) handoffRoutes(a *API) {
	mount(a, huma.Operation{OperationID: "list-handoffs", Method: http.MethodGet, Path: "/handoffs", Tags: []string{"runs"},
		Summary: "List the handoffs between agents of all runs, newest first"}, h.listHandoffs)
	mount(a, huma.Operation{OperationID: "get-handoff", Method: http.MethodGet, Path: "/handoffs/{id}", Tags: []string{"runs"},
		Summary: "Get a handoff with its data, tools, and result"}, h.getHandoff)
	mount(a, huma.Operation{OperationID: "list-messages", Method: http.MethodGet, Path: "/runs/{id}/messages", Tags: []string{"runs"},
		Summary: "List the messages between the agents of a run, in order"}, h.listMessages)
	mount(a, huma.Operation{OperationID: "list-run-handoffs", Method: http.MethodGet, Path: "/runs/{id}/handoffs", Tags: []string{"runs"},
		Summary: "List the handoffs of a run, in order"}, h.listRunHandoffs)
}

func (h runHandler) listMessages(ctx context.Context, in *ofRunIn) (*messagesOut, error) {
	c, err := h.runs.Conversation(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, &in.ListIn, c.Messages, func(m domain.AgentMessage) string { return m.ID }, same)
	return &messagesOut{page}, err
}

func (h runHandler) listRunHandoffs(ctx context.Context, in *ofRunIn) (*runHandoffsOut, error) {
	c, err := h.runs.Conversation(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, h.kernel, &in.ListIn, c.Handoffs, func(r domain.Handoff) string { return r.ID }, same)
	return &runHandoffsOut{page}, err
}

func (h runHandler) listHandoffs(ctx context.Context, in *handoffsIn) (*handoffsOut, error) {
	after, err := h.unseal(ctx, in.Cursor)
	if err != nil {
		return nil, err
	}
	f, problem := filter.ParseHandoffs(in.Filter, time.Now())
	if problem != nil {
		return nil, problem
	}
	f.Page = domain.Page{After: after, Limit: in.Limit}
	list, err := h.runs.Handoffs(ctx, actorOf(ctx), f)
	if err != nil {
		return nil, err
	}
	return &handoffsOut{Body: listOf(list.Items, h.seal(ctx, list.Next), same)}, nil
}

func (h runHandler) getHandoff(ctx context.Context, in *handoffIn) (*handoffOut, error) {
	found, err := h.runs.Handoff(ctx, actorOf(ctx), in.ID)
	return &handoffOut{Body: found}, err
}
