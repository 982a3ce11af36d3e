package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

// MemoryCleared is the result of clearing memory.
type MemoryCleared struct {
	Exchanges int64 `json:"exchanges" doc:"Number of exchanges that the session remembered."`
}

type (
	// OwnerIn names the owner of a memory.
	OwnerIn struct {
		Owner string `query:"owner" maxLength:"200" doc:"The owner of the sessions; absent: you. Only an admin can name others."`
	}
	memorySessionsIn struct {
		ListIn
		OwnerIn
	}
	memorySessionsOut struct {
		Body apitypes.List[domain.MemorySession]
	}
	memoriesIn struct {
		Session string `path:"id" maxLength:"512" doc:"The name of the session."`
		ListIn
		OwnerIn
	}
	memoriesOut struct{ Body apitypes.List[domain.Memory] }
	forgetIn    struct {
		Session string `path:"id" maxLength:"512" doc:"The name of the session."`
		OwnerIn
		Reason string `query:"reason" maxLength:"500" doc:"Kept in the audit log."`
	}
	forgottenOut struct{ Body MemoryCleared }
)

// searchPage is a page of a list that the store reads in parts.
func searchPage[T any](
	ctx context.Context, k *kernel, in *ListIn, read func(domain.Page) (domain.List[T], error),
) (apitypes.List[T], error) {
	after, err := k.unseal(ctx, in.Cursor)
	if err != nil {
		return apitypes.List[T]{}, err
	}
	found, next, err := filter.Search(in.Filter, in.Limit, after, func(after string, limit int) ([]T, string, error) {
		list, err := read(domain.Page{After: after, Limit: limit})
		return list.Items, list.Next, err
	})
	return listOf(found, k.seal(ctx, next), same), err
}

// memoryHandler serves the memory of sessions.
type memoryHandler struct {
	*kernel
	memory *app.Memory
}

func (h memoryHandler) routes(a *API) {
	tags := []string{"memory"}
	mount(a, huma.Operation{OperationID: "list-sessions", Method: http.MethodGet, Path: "/sessions", Tags: tags,
		Summary: "List your sessions with memory"},
		func(ctx context.Context, in *memorySessionsIn) (*memorySessionsOut, error) {
			page, err := searchPage(ctx, h.kernel, &in.ListIn, func(p domain.Page) (domain.List[domain.MemorySession], error) {
				return h.memory.Sessions(ctx, actorOf(ctx), in.Owner, p)
			})
			return &memorySessionsOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "get-session-memory", Method: http.MethodGet, Path: "/sessions/{id}/memory", Tags: tags,
		Summary: "List the memory of a session, newest first"},
		func(ctx context.Context, in *memoriesIn) (*memoriesOut, error) {
			page, err := searchPage(ctx, h.kernel, &in.ListIn, func(p domain.Page) (domain.List[domain.Memory], error) {
				return h.memory.Exchanges(ctx, actorOf(ctx), in.Owner, in.Session, p)
			})
			return &memoriesOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "clear-session-memory", Method: http.MethodDelete, Path: "/sessions/{id}/memory", Tags: tags,
		Summary: "Clear the memory of a session; the journals of its runs stay"},
		func(ctx context.Context, in *forgetIn) (*forgottenOut, error) {
			n, err := h.memory.Forget(ctx, app.SessionChange{Meta: meta(ctx), Owner: in.Owner, Session: in.Session, Reason: in.Reason})
			return &forgottenOut{Body: MemoryCleared{Exchanges: n}}, err
		})
}
