package domain

import "context"

// Role orders what a principal may do: each includes the ones before.
type Role string

const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleAuthor   Role = "author"
	RoleAdmin    Role = "admin"
)

// Roles lists all roles, weakest first.
var Roles = []Role{RoleViewer, RoleOperator, RoleAuthor, RoleAdmin}

// Includes reports whether r may do what needs the role s.
func (r Role) Includes(s Role) bool { return roleRank(r) >= roleRank(s) }

func roleRank(r Role) int {
	for i, x := range Roles {
		if x == r {
			return i + 1
		}
	}
	return 0
}

// Actor is who does something, and through which door.
type Actor struct {
	Name    string // "marta", "token ci 01jr8k2mf0aaaaaaaaaaaa7qx2", "cli:root"
	Role    Role
	Surface string // ui, api, cli, engine
	// Scopes narrow what an API token may do, separated by blanks; empty: all
	// that Role allows.
	Scopes string
	// Request is that by which they do it.
	Request Request
}

// Request is the request by which someone acts.
type Request struct {
	ID      string // all that one request leads to has it; empty: none is known
	Address string // where it came from: an IP address, or empty
}

type requestKey struct{}

// WithRequest lets a context say by which request something is done.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf is what WithRequest said; the zero Request if nothing did.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request) // none is the zero Request
	return r
}

// System is the daemon itself.
var System = Actor{Name: "system", Role: RoleAdmin, Surface: "engine"}
