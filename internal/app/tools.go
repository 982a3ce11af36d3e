package app

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Tools are the operations on tools and on the MCP servers that offer some of them.
type Tools struct{ *kernel }

// List gives the tools by name.
//
// Errors: forbidden.
func (t *Tools) List(ctx context.Context, by domain.Actor) ([]domain.ToolInfo, error) {
	if err := t.allow(ctx, ListTools, by, ""); err != nil {
		return nil, err
	}
	return t.tools().Tools(ctx)
}

// Get gives one tool.
//
// Errors: not_found, forbidden.
func (t *Tools) Get(ctx context.Context, by domain.Actor, name string) (domain.ToolInfo, error) {
	if err := t.allow(ctx, GetTool, by, ""); err != nil {
		return domain.ToolInfo{}, err
	}
	list, err := t.tools().Tools(ctx)
	if err != nil {
		return domain.ToolInfo{}, err
	}
	return named(list, name, "tool", func(t domain.ToolInfo) string { return t.Name })
}

// named finds one of a list by its name.
func named[T any](list []T, want, what string, name func(T) string) (found T, err error) {
	for _, x := range list {
		if name(x) == want {
			return x, nil
		}
	}
	return found, domain.Errorf(domain.CodeNotFound, "there is no %s %q", what, want).Suggest("kairos %ss lists them", what)
}

// Servers gives the MCP servers by name.
//
// Errors: forbidden.
func (t *Tools) Servers(ctx context.Context, by domain.Actor) ([]domain.ToolServer, error) {
	if err := t.allow(ctx, ListToolServers, by, ""); err != nil {
		return nil, err
	}
	return t.tools().ToolServers(ctx)
}

// ToolAcceptance names a definition of a tool.
type ToolAcceptance struct {
	Meta   `json:"-"`
	Tool   string
	Digest string // of the change that was read; empty: whatever the server offers now
	Reason string // kept in the audit log
}

// Accept takes the definition that an MCP server offers now for the accepted one.
//
// Errors: not_found, conflict (it is the accepted one), stale (the server offers another
// one than Digest), forbidden.
func (t *Tools) Accept(ctx context.Context, req ToolAcceptance) error {
	return t.change(ctx, AcceptTool, req.Meta, req, func(keep keeper) error {
		return t.tools().AcceptTool(ctx, keep, req.Tool, req.Digest, req.Reason)
	})
}

// ServerRetry names an MCP server.
type ServerRetry struct {
	Meta   `json:"-"`
	Server string
	Reason string // kept in the audit log
}

// RetryServer starts an MCP server again that was given up; one that runs lists its
// tools again.
//
// Errors: not_found, conflict (it may not be run), forbidden.
func (t *Tools) RetryServer(ctx context.Context, req ServerRetry) error {
	box := t.tools()
	server := object[string]{
		id:   func(name string) string { return name },
		find: func(_ context.Context, name string) (string, error) { return name, nil },
	}
	_, repeated, err := carryOut(ctx, t.kernel, RetryToolServer, req.Meta, req, server, func(tx *store.Tx) (string, error) {
		tx.Audit("mcp:"+req.Server, req.Reason, nil)
		return req.Server, box.CheckToolServer(req.Server)
	})
	if err != nil || repeated {
		return err
	}
	return box.RetryToolServer(req.Server)
}

// DisableRequest names a tool or a provider to disable.
type DisableRequest struct {
	Meta   `json:"-"`
	Name   string
	Reason string // required; kept in the audit log, and part of the error of a refused call
}

// Disable refuses new calls of a tool until it is enabled, also after a restart. Calls
// under way go on.
//
// Errors: not_found, invalid (there is no reason), conflict (it is disabled), unavailable
// (nothing is stored here), forbidden.
func (t *Tools) Disable(ctx context.Context, req DisableRequest) error {
	return t.change(ctx, DisableTool, req.Meta, req, func(keep keeper) error {
		if err := reasoned(req.Reason); err != nil {
			return err
		}
		return t.tools().DisableTool(ctx, keep, req.By, req.Name, req.Reason)
	})
}

// reasoned refuses to disable something without a reason.
func reasoned(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return domain.Errorf(domain.CodeInvalid, "missing reason").Suggest("pass --reason, or reason in the request")
	}
	return nil
}

// EnableRequest names a tool or a provider to enable.
type EnableRequest struct {
	Meta   `json:"-"`
	Name   string
	Host   string // close only the circuit of this host, of a tool that has one for each
	Reason string // kept in the audit log
}

// Enable allows calls of a tool that is disabled, and closes its circuits. With a host, it
// closes only the circuit of that host.
//
// Errors: not_found, invalid (the tool has no circuit for each host), conflict (it is
// enabled and no circuit is open), unavailable (nothing is stored here), forbidden.
func (t *Tools) Enable(ctx context.Context, req EnableRequest) error {
	return t.change(ctx, EnableTool, req.Meta, req, func(keep keeper) error {
		return t.tools().EnableTool(ctx, keep, req.Name, req.Host, req.Reason)
	})
}
