package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Permission decides whether a tool may be called.
type Permission string

const (
	Allow Permission = "allow"
	Ask   Permission = "ask" // only after a person has approved the call
	Deny  Permission = "deny"
)

// strictness orders permissions from the least to the most strict. The empty one is first.
var strictness = []Permission{"", Allow, Ask, Deny}

// Stricter returns the stricter of two permissions. Any permission is stricter than an empty one.
func Stricter(a, b Permission) Permission {
	if slices.Index(strictness, b) > slices.Index(strictness, a) {
		return b
	}
	return a
}

// Valid reports whether p is allow, ask, or deny.
func (p Permission) Valid() bool { return p == Allow || p == Ask || p == Deny }

// Permissions maps names of tools to their permissions. `server.*` stands for all tools of an MCP
// server, and `*` for all tools. The most specific entry applies.
type Permissions map[string]Permission

// Of returns the permission of a tool, or "" if there is none.
func (p Permissions) Of(name string) Permission { return lookup(p, name) }

// lookup returns the most specific entry for a tool: for its name, for `server.*`, or for `*`.
// Without an entry, it returns the zero value.
func lookup[V any](of map[string]V, name string) V {
	if v, ok := of[name]; ok {
		return v
	}
	for prefix := name; ; {
		dot := strings.LastIndexByte(prefix, '.')
		if dot < 0 {
			return of["*"]
		}
		prefix = prefix[:dot]
		if v, ok := of[prefix+".*"]; ok {
			return v
		}
	}
}

// Check returns an error for invalid permissions. of names the section of the configuration.
func (p Permissions) Check(of string) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if !p[name].Valid() {
			return fmt.Errorf("%s.%s: %q is not allow, ask or deny", of, name, p[name])
		}
	}
	return nil
}

// Resolve combines the permissions of a tool in general, in a plan, and of an agent. A deny always
// wins. Otherwise the stricter one of plan and agent takes precedence over the general one. Without
// any, the tool is allowed.
func Resolve(general, plan, agent Permission) Permission {
	special := Stricter(plan, agent)
	switch {
	case general == Deny || special == Deny:
		return Deny
	case special != "":
		return special
	case general != "":
		return general
	}
	return Allow
}
