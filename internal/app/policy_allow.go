package app

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// Policy returns the rule of an operation. ok is false if the operation does not exist.
func Policy(op Operation) (r Rule, ok bool) {
	r, ok = policy[op]
	return r, ok
}

// May reports whether a principal may use an operation.
func May(who domain.Actor, op Operation) bool { return Allow(who, op) == nil }

// Operations lists all operations, in no order.
func Operations() []Operation {
	return slices.Collect(maps.Keys(policy))
}

// Allow refuses a principal without permission for an operation. The error has CodeForbidden, and
// names what is missing and what to do.
func Allow(who domain.Actor, op Operation) error {
	r, ok := policy[op]
	switch {
	case !ok:
		return domain.Errorf(domain.CodeInternal, "unknown operation %q", op)
	case r.Role == "":
		return nil
	case !who.Role.Includes(r.Role):
		return domain.Errorf(domain.CodeForbidden, "this requires the role %s; your role is %s", r.Role, cmp.Or(who.Role, "none")).
			Suggest("request the role, or a token with it, from an admin")
	case r.Scope != "" && who.Scopes != "" && !scoped(strings.Fields(who.Scopes), required(r.Scope, who)):
		return domain.Errorf(domain.CodeForbidden, "this token has no scope %s", required(r.Scope, who)).
			Suggest("use a token that has the scope; this one has: %s", who.Scopes)
	}
	return nil
}
