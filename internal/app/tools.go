package app

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Tools contains the operations on tools and MCP servers.
type Tools struct{ *kernel }

// List returns the tools by name.
//
// Errors: forbidden.
func (t *Tools) List(ctx context.Context, by domain.Actor) ([]domain.ToolInfo, error) {
	if err := t.allow(ctx, ListTools, by, ""); err != nil {
		return nil, err
	}
	return t.tools().Tools(ctx)
}

// Get returns one tool.
//
// Errors: not_found, forbidden.
func (t *Tools) Get(ctx context.Context, by domain.Actor, name string) (domain.ToolInfo, error) {
	if err := t.allow(ctx, GetTool, by, ""); err != nil {
		return domain.ToolInfo{}, err
	}
	return t.named(name)(ctx)
}

// named finds one tool.
func (t *Tools) named(name string) func(ctx context.Context) (domain.ToolInfo, error) {
	return func(ctx context.Context) (domain.ToolInfo, error) {
		list, err := t.tools().Tools(ctx)
		if err != nil {
			return domain.ToolInfo{}, err
		}
		return named(list, name, "tool", func(t domain.ToolInfo) string { return t.Name })
	}
}

// named finds an element of a list by its name.
func named[T any](list []T, want, what string, name func(T) string) (found T, err error) {
	for _, x := range list {
		if name(x) == want {
			return x, nil
		}
	}
	return found, domain.Errorf(domain.CodeNotFound, "%s %q not found", what, want).Suggest("list them: kairos %ss", what)
}

// Server returns one MCP server.
//
// Errors: not_found, forbidden.
func (t *Tools) Server(ctx context.Context, by domain.Actor, name string) (domain.ToolServer, error) {
	list, err := t.Servers(ctx, by)
	if err != nil {
		return domain.ToolServer{}, err
	}
	return named(list, name, "tool server", func(s domain.ToolServer) string { return s.Name })
}

// Servers returns the MCP servers by name.
//
// Errors: forbidden.
func (t *Tools) Servers(ctx context.Context, by domain.Actor) ([]domain.ToolServer, error) {
	if err := t.allow(ctx, ListToolServers, by, ""); err != nil {
		return nil, err
	}
	return t.tools().ToolServers(ctx)
}

// ToolAcceptance accepts a definition of a tool.
type ToolAcceptance struct {
	Meta   `json:"-"`
	Tool   string
	Digest string // of the change that was shown; empty: the current definition
	Reason string // kept in the audit log
}

// Accept accepts the definition that an MCP server offers now. A tool whose definition has not
// changed is returned unchanged.
//
// Errors: not_found, stale (the server offers another one than Digest), forbidden.
func (t *Tools) Accept(ctx context.Context, req ToolAcceptance) (domain.ToolInfo, error) {
	return change(ctx, t.kernel, AcceptTool, req.Meta, req, t.named(req.Tool), func(ctx context.Context, keep *keeper) error {
		return t.tools().AcceptTool(ctx, keep, req.Tool, req.Digest, req.Reason)
	})
}

// ServerRetry identifies an MCP server.
type ServerRetry struct {
	Meta   `json:"-"`
	Server string
	Reason string // kept in the audit log
}

// RetryServer starts a disabled MCP server again. A running server lists its tools again. The key
// is recorded after that. If kairosd is killed between both, a repetition starts the server again.
//
// Errors: not_found, conflict (it may not be run), forbidden.
func (t *Tools) RetryServer(ctx context.Context, req ServerRetry) (domain.ToolServer, error) {
	server := func(ctx context.Context) (domain.ToolServer, error) {
		list, err := t.tools().ToolServers(ctx)
		if err != nil {
			return domain.ToolServer{}, err
		}
		return named(list, req.Server, "tool server", func(s domain.ToolServer) string { return s.Name })
	}
	return change(ctx, t.kernel, RetryToolServer, req.Meta, req, server, func(_ context.Context, keep *keeper) error {
		if err := t.tools().RetryToolServer(req.Server); err != nil {
			return err
		}
		record := domain.AuditRecord{Action: policy[RetryToolServer].Audit, Object: "mcp:" + req.Server, Reason: req.Reason}
		return keep.keep([]domain.AuditRecord{record}, func(*store.Tx) error { return nil })
	})
}

// DisableRequest identifies a tool or a provider to disable.
type DisableRequest struct {
	Meta   `json:"-"`
	Name   string
	Reason string // required; kept in the audit log, and part of the error of rejected calls
}

// Disable rejects new calls of a tool until it is enabled, also after a restart. Active calls
// continue. A disabled tool is returned unchanged.
//
// Errors: not_found, invalid (there is no reason), unavailable (there is no store), forbidden.
func (t *Tools) Disable(ctx context.Context, req DisableRequest) (domain.ToolInfo, error) {
	return change(ctx, t.kernel, DisableTool, req.Meta, req, t.named(req.Name), func(ctx context.Context, keep *keeper) error {
		if err := reasoned(req.Reason); err != nil {
			return err
		}
		return t.tools().DisableTool(ctx, keep, req.By, req.Name, req.Reason)
	})
}

// reasoned returns an error if a request to disable something has no reason.
func reasoned(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return domain.Errorf(domain.CodeInvalid, "missing reason").Suggest("pass --reason, or reason in the request")
	}
	return nil
}

// EnableRequest identifies a tool or a provider to enable.
type EnableRequest struct {
	Meta   `json:"-"`
	Name   string
	Host   string // close only the circuit of this host, for a tool with a circuit per host
	Reason string // kept in the audit log
}

// Enable allows calls of a disabled tool, and closes its circuits. With a host, it closes only the
// circuit of that host. An enabled tool whose circuits are closed is returned unchanged. A tool
// that is no longer configured can be enabled; it is returned with its name alone.
//
// Errors: not_found, invalid (the tool has no circuit per host), unavailable (there is no store),
// forbidden.
func (t *Tools) Enable(ctx context.Context, req EnableRequest) (domain.ToolInfo, error) {
	find := findOr(t.named(req.Name), domain.ToolInfo{Name: req.Name})
	return change(ctx, t.kernel, EnableTool, req.Meta, req, find, func(ctx context.Context, keep *keeper) error {
		return t.tools().EnableTool(ctx, keep, req.Name, req.Host, req.Reason)
	})
}

// findOr returns a function that finds an object, or else returns gone.
func findOr[T any](find func(ctx context.Context) (T, error), gone T) func(ctx context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		found, err := find(ctx)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return gone, nil
		}
		return found, err
	}
}
