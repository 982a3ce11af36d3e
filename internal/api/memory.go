package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Memory is what sessions remember, by who started their runs.
type Memory interface {
	// MemorySessions lists an owner's sessions that remember something, by name.
	MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error)
	// Memories lists what a session remembers, newest first.
	Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error)
	// Forget removes what a session remembers and says how many exchanges that
	// was; CodeNotFound if it remembers nothing.
	Forget(ctx context.Context, owner, session, reason string, actor domain.Actor) (int64, error)
}

// ForgottenBody is what was forgotten.
type ForgottenBody struct {
	Exchanges int64 `json:"exchanges" doc:"How many exchanges the session remembered."`
}

type (
	// OwnerIn says whose memory.
	OwnerIn struct {
		Owner string `query:"owner" maxLength:"200" doc:"Whose sessions: your own, unless you are an admin."`
	}
	memorySessionsIn struct {
		PageIn
		OwnerIn
	}
	memorySessionsOut struct {
		Body List[domain.MemorySession]
	}
	memoriesIn struct {
		Session string `path:"session" maxLength:"512"`
		PageIn
		OwnerIn
	}
	memoriesOut struct{ Body List[domain.Memory] }
	forgetIn    struct {
		Session string `path:"session" maxLength:"512"`
		OwnerIn
		Reason string `query:"reason" maxLength:"500" doc:"Kept in the audit log."`
	}
	forgottenOut struct{ Body ForgottenBody }
)

// whose is the owner whose memory is asked for: a person's or token's own;
// another's only for admins.
func (in OwnerIn) whose(actor domain.Actor) (string, error) {
	if in.Owner == "" || in.Owner == actor.Name {
		return actor.Name, nil
	}
	if !actor.Role.Includes(domain.RoleAdmin) {
		return "", domain.Errorf(domain.CodeForbidden, "what others' sessions remember is for admins")
	}
	return in.Owner, nil
}

// sessionOf is a session's name as it was given: it may hold what addresses escape.
func sessionOf(escaped string) (string, error) {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return "", domain.Errorf(domain.CodeNotFound, "there is no session %q", escaped)
	}
	return name, nil
}

func (a *API) memoryRoutes() {
	tags := []string{"memory"}
	there := func() error {
		if a.Memory == nil {
			return domain.Errorf(domain.CodeUnavailable, "memory is not managed here")
		}
		return nil
	}
	register(a, huma.Operation{OperationID: "list-memory", Method: http.MethodGet, Path: "/memory", Tags: tags,
		Summary: "List your sessions that remember something"},
		func(ctx context.Context, in *memorySessionsIn) (*memorySessionsOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			owner, err := in.whose(actorOf(ctx))
			if err != nil {
				return nil, err
			}
			after, err := a.unseal(ctx, in.Cursor)
			if err != nil {
				return nil, err
			}
			list, err := a.Memory.MemorySessions(ctx, owner, domain.Page{After: after, Limit: in.Limit})
			if err != nil {
				return nil, err
			}
			return &memorySessionsOut{Body: listOf(list.Items, a.seal(ctx, list.Next), func(s domain.MemorySession) domain.MemorySession { return s })}, nil
		})
	register(a, huma.Operation{OperationID: "get-memory", Method: http.MethodGet, Path: "/memory/{session}", Tags: tags,
		Summary: "List what a session remembers, newest first"},
		func(ctx context.Context, in *memoriesIn) (*memoriesOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			owner, err := in.whose(actorOf(ctx))
			if err != nil {
				return nil, err
			}
			session, err := sessionOf(in.Session)
			if err != nil {
				return nil, err
			}
			after, err := a.unseal(ctx, in.Cursor)
			if err != nil {
				return nil, err
			}
			list, err := a.Memory.Memories(ctx, owner, session, domain.Page{After: after, Limit: in.Limit})
			if err != nil {
				return nil, err
			}
			return &memoriesOut{Body: listOf(list.Items, a.seal(ctx, list.Next), func(m domain.Memory) domain.Memory { return m })}, nil
		})
	register(a, huma.Operation{OperationID: "forget-memory", Method: http.MethodDelete, Path: "/memory/{session}", Tags: tags,
		Summary: "Forget what a session remembers; the journals of its runs stay"},
		func(ctx context.Context, in *forgetIn) (*forgottenOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			owner, err := in.whose(actorOf(ctx))
			if err != nil {
				return nil, err
			}
			session, err := sessionOf(in.Session)
			if err != nil {
				return nil, err
			}
			n, err := a.Memory.Forget(ctx, owner, session, in.Reason, actorOf(ctx))
			if err != nil {
				return nil, err
			}
			return &forgottenOut{Body: ForgottenBody{Exchanges: n}}, nil
		})
}
