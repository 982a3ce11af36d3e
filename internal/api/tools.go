package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// Tools are what plans and agents may call.
type Tools interface {
	// Tools lists them by name.
	Tools(ctx context.Context) ([]domain.ToolInfo, error)
	// AcceptTool takes the definition that an MCP server offers now for the
	// accepted one, if it has the digest (empty: whatever it is); CodeNotFound,
	// CodeForbidden, CodeStale, CodeConflict when it is the accepted one.
	AcceptTool(ctx context.Context, actor domain.Actor, name, digest, reason string) error
	// ToolServers lists the MCP servers by name.
	ToolServers(ctx context.Context) ([]domain.ToolServer, error)
	// RetryToolServer starts a server again that was given up; CodeNotFound,
	// CodeForbidden, CodeConflict when it may not be run.
	RetryToolServer(ctx context.Context, actor domain.Actor, name, reason string) error
	// StopTool lets nobody call a tool any more, or with on false lets it be called
	// again; StopProvider the same of a provider. CodeNotFound, CodeForbidden,
	// CodeConflict when it is so already.
	StopTool(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error
	StopProvider(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error
	// ChangeToolCircuit opens or closes a circuit of a tool, ChangeProviderCircuit
	// that of a provider. CodeNotFound, CodeForbidden, CodeInvalid for a circuit that
	// is none, CodeConflict when one is closed that is closed already.
	ChangeToolCircuit(ctx context.Context, actor domain.Actor, name string, c domain.CircuitChange) error
	ChangeProviderCircuit(ctx context.Context, actor domain.Actor, name string, c domain.CircuitChange) error
}

// StopCallsBody says whether calls are stopped or allowed again.
type StopCallsBody struct {
	On     bool   `json:"on" doc:"true: no call begins any more; false: they may again."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log, and shown to whoever meets the stop."`
}

// CircuitBody says whether a circuit is opened or closed.
type CircuitBody struct {
	Open   bool   `json:"open" doc:"true: calls are refused for a time; false: they are made again."`
	Part   string `json:"part,omitempty" maxLength:"255" doc:"The host, of a tool that has a circuit for each."`
	For    string `json:"for,omitempty" maxLength:"40" doc:"How long it stays open, as 90s or 2h; default 15m, at most 24h." example:"15m"`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log, and shown to whoever meets it."`
}

// AcceptBody goes with the acceptance of a tool.
type AcceptBody struct {
	Digest string `json:"digest,omitempty" maxLength:"64" doc:"Of the change that was read; another one is refused."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// RetryServerBody goes with the restart of a server.
type RetryServerBody struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

type (
	toolsOut struct{ Body List[domain.ToolInfo] }
	toolIn   struct {
		Name string `path:"name" maxLength:"200"`
	}
	toolOut  struct{ Body domain.ToolInfo }
	acceptIn struct {
		Name string `path:"name" maxLength:"200"`
		Body *AcceptBody
	}
	serversOut struct{ Body List[domain.ToolServer] }
	stopIn     struct {
		Name string `path:"name" maxLength:"200"`
		Body StopCallsBody
	}
	circuitIn struct {
		Name string `path:"name" maxLength:"200"`
		Body CircuitBody
	}
	retryIn struct {
		Name string `path:"name" maxLength:"64"`
		Body *RetryServerBody
	}
)

func (a *API) toolRoutes() {
	tags := []string{"tools"}
	there := func() error {
		if a.Tools == nil {
			return domain.Errorf(domain.CodeUnavailable, "tools are not managed here")
		}
		return nil
	}
	register(a, huma.Operation{OperationID: "list-tools", Method: http.MethodGet, Path: "/tools", Tags: tags,
		Summary: "List tools: effect, permission, and whether they can be called"},
		func(ctx context.Context, _ *struct{}) (*toolsOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Tools.Tools(ctx)
			if err != nil {
				return nil, err
			}
			return &toolsOut{Body: listOf(list, "", func(t domain.ToolInfo) domain.ToolInfo { return t })}, nil
		})
	register(a, huma.Operation{OperationID: "get-tool", Method: http.MethodGet, Path: "/tools/{name}", Tags: tags,
		Summary: "One tool, with the schema of its arguments"},
		func(ctx context.Context, in *toolIn) (*toolOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Tools.Tools(ctx)
			if err != nil {
				return nil, err
			}
			t, err := named(list, in.Name, "tool", "/tools", func(t domain.ToolInfo) string { return t.Name })
			return &toolOut{t}, err
		})
	register(a, huma.Operation{OperationID: "accept-tool", Method: http.MethodPost, Path: "/tools/{name}/accept", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Accept the definition that a tool of an MCP server has now"},
		func(ctx context.Context, in *acceptIn) (*struct{}, error) {
			if err := there(); err != nil {
				return nil, err
			}
			var body AcceptBody
			if in.Body != nil {
				body = *in.Body
			}
			return nil, a.Tools.AcceptTool(ctx, actorOf(ctx), in.Name, body.Digest, body.Reason)
		})
	stops := map[string]func(context.Context, domain.Actor, string, bool, string) error{
		"tool": func(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error {
			return a.Tools.StopTool(ctx, actor, name, on, reason)
		},
		"provider": func(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error {
			return a.Tools.StopProvider(ctx, actor, name, on, reason)
		},
	}
	for what, stop := range stops {
		register(a, huma.Operation{OperationID: "stop-" + what, Method: http.MethodPost, Path: "/" + what + "s/{name}/stop", Tags: []string{what + "s"}, DefaultStatus: http.StatusNoContent,
			Summary: "Let no call of a " + what + " begin any more, or let them begin again"},
			func(ctx context.Context, in *stopIn) (*struct{}, error) {
				if err := there(); err != nil {
					return nil, err
				}
				return nil, stop(ctx, actorOf(ctx), in.Name, in.Body.On, in.Body.Reason)
			})
	}
	circuits := map[string]func(context.Context, domain.Actor, string, domain.CircuitChange) error{
		"tool": func(ctx context.Context, actor domain.Actor, name string, c domain.CircuitChange) error {
			return a.Tools.ChangeToolCircuit(ctx, actor, name, c)
		},
		"provider": func(ctx context.Context, actor domain.Actor, name string, c domain.CircuitChange) error {
			return a.Tools.ChangeProviderCircuit(ctx, actor, name, c)
		},
	}
	for what, change := range circuits {
		register(a, huma.Operation{OperationID: "change-" + what + "-circuit", Method: http.MethodPost, Path: "/" + what + "s/{name}/circuit", Tags: []string{what + "s"}, DefaultStatus: http.StatusNoContent,
			Summary: "Open the circuit of a " + what + " for a time, or close it"},
			func(ctx context.Context, in *circuitIn) (*struct{}, error) {
				if err := there(); err != nil {
					return nil, err
				}
				c := domain.CircuitChange{Part: in.Body.Part, Open: in.Body.Open, Reason: in.Body.Reason}
				if in.Body.For != "" {
					var err error
					if c.For, err = time.ParseDuration(in.Body.For); err != nil || c.For <= 0 {
						return nil, domain.Errorf(domain.CodeInvalid, "for: %q is not a time", in.Body.For).Suggest("write it like 90s or 2h")
					}
				}
				return nil, change(ctx, actorOf(ctx), in.Name, c)
			})
	}
	register(a, huma.Operation{OperationID: "list-tool-servers", Method: http.MethodGet, Path: "/mcp", Tags: tags,
		Summary: "List MCP servers: whether they run, and if not, why"},
		func(ctx context.Context, _ *struct{}) (*serversOut, error) {
			if err := there(); err != nil {
				return nil, err
			}
			list, err := a.Tools.ToolServers(ctx)
			if err != nil {
				return nil, err
			}
			return &serversOut{Body: listOf(list, "", func(s domain.ToolServer) domain.ToolServer { return s })}, nil
		})
	register(a, huma.Operation{OperationID: "retry-tool-server", Method: http.MethodPost, Path: "/mcp/{name}/retry", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Start an MCP server again that was given up"},
		func(ctx context.Context, in *retryIn) (*struct{}, error) {
			if err := there(); err != nil {
				return nil, err
			}
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			return nil, a.Tools.RetryToolServer(ctx, actorOf(ctx), in.Name, reason)
		})
}
