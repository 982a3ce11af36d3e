package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// DisableOptions is the body of a request to disable a tool or a provider.
type DisableOptions struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Kept in the audit log, and part of the error of a refused call."`
}

// ToolEnable is the body of a request to enable a tool.
type ToolEnable struct {
	Host   string `json:"host,omitempty" maxLength:"255" doc:"Close only the circuit of this host, of a tool that has one for each." example:"api.example"`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

// ToolAccept is the body of a request to accept the definition of a tool.
type ToolAccept struct {
	Digest string `json:"digest,omitempty" maxLength:"64" doc:"The digest of the change that you reviewed; 409 if it has changed."`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Kept in the audit log."`
}

const refused = "New calls are refused until it is enabled. Active calls finish. A repetition changes nothing."

type (
	toolsOut struct {
		Body apitypes.List[domain.ToolInfo]
	}
	toolIn struct {
		Name string `path:"name" maxLength:"200"`
	}
	toolOut  struct{ Body domain.ToolInfo }
	acceptIn struct {
		Name string `path:"name" maxLength:"200"`
		Body *ToolAccept
	}
	serversOut struct {
		Body apitypes.List[domain.ToolServer]
	}
	serverOut struct{ Body domain.ToolServer }
	disableIn struct {
		Name string `path:"name" maxLength:"200"`
		Body DisableOptions
	}
	enableToolIn struct {
		Name string `path:"name" maxLength:"200"`
		Body *ToolEnable
	}
	retryIn struct {
		Name string `path:"name" maxLength:"64"`
		Body *ReasonOptions
	}
)

// toolHandler serves tools and the MCP servers that offer some of them.
type toolHandler struct {
	*kernel
	tools *app.Tools
}

func (h toolHandler) routes(a *API) {
	tags := []string{"tools"}
	mount(a, huma.Operation{OperationID: "list-tools", Method: http.MethodGet, Path: "/tools", Tags: tags,
		Summary: "List tools with side-effect class, permission, and status"},
		func(ctx context.Context, in *ListIn) (*toolsOut, error) {
			list, err := h.tools.List(ctx, actorOf(ctx))
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, list, func(t domain.ToolInfo) string { return t.Name }, same)
			return &toolsOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "get-tool", Method: http.MethodGet, Path: "/tools/{name}", Tags: tags,
		Summary: "Get a tool with the schema of its arguments"},
		func(ctx context.Context, in *toolIn) (*toolOut, error) {
			t, err := h.tools.Get(ctx, actorOf(ctx), in.Name)
			return &toolOut{t}, err
		})
	mount(a, huma.Operation{OperationID: "accept-tool", Method: http.MethodPost, Path: "/tools/{name}/accept", Tags: tags,
		Summary: "Accept the current definition of a tool of an MCP server"},
		func(ctx context.Context, in *acceptIn) (*toolOut, error) {
			body := cmp.Or(in.Body, &ToolAccept{})
			t, err := h.tools.Accept(ctx, app.ToolAcceptance{Meta: meta(ctx), Tool: in.Name, Digest: body.Digest, Reason: body.Reason})
			return &toolOut{t}, err
		})
	mount(a, huma.Operation{OperationID: "disable-tool", Method: http.MethodPost, Path: "/tools/{name}/disable", Tags: tags,
		Summary: "Disable a tool", Description: refused},
		func(ctx context.Context, in *disableIn) (*toolOut, error) {
			t, err := h.tools.Disable(ctx, app.DisableRequest{Meta: meta(ctx), Name: in.Name, Reason: in.Body.Reason})
			return &toolOut{t}, err
		})
	mount(a, huma.Operation{OperationID: "enable-tool", Method: http.MethodPost, Path: "/tools/{name}/enable", Tags: tags,
		Summary:     "Enable a tool, and close its circuits",
		Description: "With a host, only the circuit of that host is closed. A repetition changes nothing."},
		func(ctx context.Context, in *enableToolIn) (*toolOut, error) {
			body := cmp.Or(in.Body, &ToolEnable{})
			t, err := h.tools.Enable(ctx, app.EnableRequest{Meta: meta(ctx), Name: in.Name, Host: body.Host, Reason: body.Reason})
			return &toolOut{t}, err
		})
	mount(a, huma.Operation{OperationID: "list-tool-servers", Method: http.MethodGet, Path: "/tool-servers", Tags: tags,
		Summary: "List MCP servers with their status"},
		func(ctx context.Context, in *ListIn) (*serversOut, error) {
			list, err := h.tools.Servers(ctx, actorOf(ctx))
			if err != nil {
				return nil, err
			}
			page, err := pageOf(ctx, h.kernel, in, list, func(s domain.ToolServer) string { return s.Name }, same)
			return &serversOut{page}, err
		})
	mount(a, huma.Operation{OperationID: "get-tool-server", Method: http.MethodGet, Path: "/tool-servers/{name}", Tags: tags,
		Summary: "Get an MCP server"},
		func(ctx context.Context, in *toolIn) (*serverOut, error) {
			s, err := h.tools.Server(ctx, actorOf(ctx), in.Name)
			return &serverOut{s}, err
		})
	mount(a, huma.Operation{OperationID: "retry-tool-server", Method: http.MethodPost, Path: "/tool-servers/{name}/retry", Tags: tags,
		Summary: "Restart a disabled MCP server"},
		func(ctx context.Context, in *retryIn) (*serverOut, error) {
			s, err := h.tools.RetryServer(
				ctx,
				app.ServerRetry{Meta: meta(ctx), Server: in.Name, Reason: cmp.Or(in.Body, &ReasonOptions{}).Reason},
			)
			return &serverOut{s}, err
		})
}
