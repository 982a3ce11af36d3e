package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// MemoryCleared is what was forgotten.
type MemoryCleared struct {
	Exchanges int64 `json:"exchanges" doc:"How many exchanges the session remembered."`
}

type (
	// OwnerIn names the owner of a memory.
	OwnerIn struct {
		Owner string `query:"owner" maxLength:"200" doc:"Whose sessions: your own, unless you are an admin."`
	}
	memorySessionsIn struct {
		PageIn
		OwnerIn
	}
	memorySessionsOut struct {
		Body apitypes.List[domain.MemorySession]
	}
	memoriesIn struct {
		Session string `path:"id" maxLength:"512" doc:"The name of the session."`
		PageIn
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

// sessionOf is a session's name as it was given: it may hold what addresses escape.
func sessionOf(escaped string) (string, error) {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return "", domain.Errorf(domain.CodeNotFound, "there is no session %q", escaped)
	}
	return name, nil
}

// memoryHandler serves what sessions remember.
type memoryHandler struct {
	*kernel
	memory *app.Memory
}

func (h memoryHandler) routes(a *API) {
	tags := []string{"memory"}
	mount(a, huma.Operation{OperationID: "list-sessions", Method: http.MethodGet, Path: "/sessions", Tags: tags,
		Summary: "List your sessions that remember something"},
		func(ctx context.Context, in *memorySessionsIn) (*memorySessionsOut, error) {
			after, err := h.unseal(ctx, in.Cursor)
			if err != nil {
				return nil, err
			}
			list, err := h.memory.Sessions(ctx, actorOf(ctx), in.Owner, domain.Page{After: after, Limit: in.Limit})
			if err != nil {
				return nil, err
			}
			return &memorySessionsOut{
				Body: listOf(list.Items, h.seal(ctx, list.Next), func(s domain.MemorySession) domain.MemorySession { return s }),
			}, nil
		})
	mount(a, huma.Operation{OperationID: "get-session-memory", Method: http.MethodGet, Path: "/sessions/{id}/memory", Tags: tags,
		Summary: "List what a session remembers, newest first"},
		func(ctx context.Context, in *memoriesIn) (*memoriesOut, error) {
			session, err := sessionOf(in.Session)
			if err != nil {
				return nil, err
			}
			after, err := h.unseal(ctx, in.Cursor)
			if err != nil {
				return nil, err
			}
			list, err := h.memory.Exchanges(ctx, actorOf(ctx), in.Owner, session, domain.Page{After: after, Limit: in.Limit})
			if err != nil {
				return nil, err
			}
			return &memoriesOut{Body: listOf(list.Items, h.seal(ctx, list.Next), func(m domain.Memory) domain.Memory { return m })}, nil
		})
	mount(a, huma.Operation{OperationID: "clear-session-memory", Method: http.MethodDelete, Path: "/sessions/{id}/memory", Tags: tags,
		Summary: "Forget what a session remembers; the journals of its runs stay"},
		func(ctx context.Context, in *forgetIn) (*forgottenOut, error) {
			session, err := sessionOf(in.Session)
			if err != nil {
				return nil, err
			}
			n, err := h.memory.Forget(ctx, app.SessionChange{Meta: meta(ctx), Owner: in.Owner, Session: session, Reason: in.Reason})
			return &forgottenOut{Body: MemoryCleared{Exchanges: n}}, err
		})
}
