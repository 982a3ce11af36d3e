package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

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
	register(a, huma.Operation{OperationID: "list-tools", Method: http.MethodGet, Path: "/tools", Tags: tags,
		Summary: "List tools: effect, permission, and whether they can be called"},
		func(ctx context.Context, _ *struct{}) (*toolsOut, error) {
			list, err := a.App.Tools.List(ctx, actorOf(ctx))
			return &toolsOut{Body: listOf(list, "", func(t domain.ToolInfo) domain.ToolInfo { return t })}, err
		})
	register(a, huma.Operation{OperationID: "get-tool", Method: http.MethodGet, Path: "/tools/{name}", Tags: tags,
		Summary: "One tool, with the schema of its arguments"},
		func(ctx context.Context, in *toolIn) (*toolOut, error) {
			t, err := a.App.Tools.Get(ctx, actorOf(ctx), unescaped(in.Name))
			return &toolOut{t}, err
		})
	mount(a, huma.Operation{OperationID: "accept-tool", Method: http.MethodPost, Path: "/tools/{name}/accept", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Accept the definition that a tool of an MCP server has now"},
		func(ctx context.Context, in *acceptIn) (*struct{}, error) {
			var body AcceptBody
			if in.Body != nil {
				body = *in.Body
			}
			return nil, a.App.Tools.Accept(ctx, app.ToolAcceptance{Meta: meta(ctx), Tool: in.Name, Digest: body.Digest, Reason: body.Reason})
		})
	for what, stop := range map[string]func(context.Context, app.StopCalls) error{"tool": a.App.Tools.Stop, "provider": a.App.Providers.Stop} {
		mount(a, huma.Operation{OperationID: "stop-" + what, Method: http.MethodPost, Path: "/" + what + "s/{name}/stop", Tags: []string{what + "s"}, DefaultStatus: http.StatusNoContent,
			Summary: "Let no call of a " + what + " begin any more, or let them begin again"},
			func(ctx context.Context, in *stopIn) (*struct{}, error) {
				return nil, stop(ctx, app.StopCalls{Meta: meta(ctx), Name: in.Name, On: in.Body.On, Reason: in.Body.Reason})
			})
	}
	for what, change := range map[string]func(context.Context, app.CircuitRequest) error{"tool": a.App.Tools.ChangeCircuit, "provider": a.App.Providers.ChangeCircuit} {
		mount(a, huma.Operation{OperationID: "change-" + what + "-circuit", Method: http.MethodPost, Path: "/" + what + "s/{name}/circuit", Tags: []string{what + "s"}, DefaultStatus: http.StatusNoContent,
			Summary: "Open the circuit of a " + what + " for a time, or close it"},
			func(ctx context.Context, in *circuitIn) (*struct{}, error) {
				c, err := in.Body.change()
				if err != nil {
					return nil, err
				}
				return nil, change(ctx, app.CircuitRequest{Meta: meta(ctx), Name: in.Name, CircuitChange: c})
			})
	}
	register(a, huma.Operation{OperationID: "list-tool-servers", Method: http.MethodGet, Path: "/mcp", Tags: tags,
		Summary: "List MCP servers: whether they run, and if not, why"},
		func(ctx context.Context, _ *struct{}) (*serversOut, error) {
			list, err := a.App.Tools.Servers(ctx, actorOf(ctx))
			return &serversOut{Body: listOf(list, "", func(s domain.ToolServer) domain.ToolServer { return s })}, err
		})
	mount(a, huma.Operation{OperationID: "retry-tool-server", Method: http.MethodPost, Path: "/mcp/{name}/retry", Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Start an MCP server again that was given up"},
		func(ctx context.Context, in *retryIn) (*struct{}, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			return nil, a.App.Tools.RetryServer(ctx, app.ServerRetry{Meta: meta(ctx), Server: in.Name, Reason: reason})
		})
}

// change is what the body asks for.
func (b CircuitBody) change() (domain.CircuitChange, error) {
	c := domain.CircuitChange{Part: b.Part, Open: b.Open, Reason: b.Reason}
	if b.For == "" {
		return c, nil
	}
	var err error
	if c.For, err = time.ParseDuration(b.For); err != nil || c.For <= 0 {
		return c, domain.Errorf(domain.CodeInvalid, "for: %q is not a time", b.For).Suggest("write it like 90s or 2h")
	}
	return c, nil
}
