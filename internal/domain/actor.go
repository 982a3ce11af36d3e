package domain

import "context"

// Role is the role of a principal. Each role includes the permissions of the lower ones.
type Role string

const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleAuthor   Role = "author"
	RoleAdmin    Role = "admin"
)

// Roles lists all roles, lowest first.
var Roles = []Role{RoleViewer, RoleOperator, RoleAuthor, RoleAdmin}

// Includes reports whether r includes the permissions of s.
func (r Role) Includes(s Role) bool { return roleRank(r) >= roleRank(s) }

func roleRank(r Role) int {
	for i, x := range Roles {
		if x == r {
			return i + 1
		}
	}
	return 0
}

// Actor is the author of an action, with the interface that was used.
type Actor struct {
	Name   string // "marta", "token ci 01jr8k2mf0aaaaaaaaaaaa7qx2", "cli:root"
	Role   Role
	Source string // ui, api, cli, mcp, a2a, engine
	// Scopes restricts an API token to some of the permissions of its role, separated by spaces.
	// Empty means no restriction.
	Scopes string
	// Request is the request that caused the action.
	Request Request
}

// SourceMCP is the source of actions, and the origin of runs, through the MCP server.
const SourceMCP = "mcp"

// SourceA2A is the source of actions, and the origin of runs, through the A2A server.
const SourceA2A = "a2a"

// IsProtocol reports whether a source is a protocol in which programs call plans.
func IsProtocol(source string) bool { return source == SourceMCP || source == SourceA2A }

// MCPKey is the key of _meta under which an MCP client sends the idempotency key of a call.
const MCPKey = "kairosd/idempotencyKey"

// Request identifies a request. The log and the audit log refer to it.
type Request struct {
	ID      string // empty if there is none
	Address string // IP address of the client, or empty
}

type requestKey struct{}

// WithRequest returns a context that carries a request.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request of a context, or the zero Request.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request) // without a request, r is zero
	return r
}

// System is kairosd itself as an actor.
var System = Actor{Name: "system", Role: RoleAdmin, Source: "engine"}
