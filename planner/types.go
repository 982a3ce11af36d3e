package planner

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// builtins holds each type's default effect; that of tool
// and tools is their tools' own.
var builtins = map[string]walk.Effect{
	walk.TypeTool: walk.EffectUnsafe, walk.TypeAgent: walk.EffectIdempotent, walk.TypeLLM: walk.EffectIdempotent,
	walk.TypeDecision: walk.EffectPure,
	walk.TypeNoop:     walk.EffectPure, walk.TypeLog: walk.EffectPure, walk.TypeRouter: walk.EffectIdempotent,
	walk.TypeTools:     walk.EffectUnsafe,
	walk.TypeGenerator: walk.EffectIdempotent, walk.TypeSet: walk.EffectPure, walk.TypeWait: walk.EffectControl,
	walk.TypeApproval: walk.EffectControl,
	walk.TypePlan:     walk.EffectControl,
}

// aliases are the types of older documents [000].
var aliases = map[string]string{
	"init": walk.TypeNoop, "format_output": walk.TypeNoop, "error_handler": walk.TypeNoop, "terminal": walk.TypeNoop,
	"validation": walk.TypeDecision, "llm_call": walk.TypeLLM,
}

// BuiltinType reports whether a name is a node type of the language or an alias
// of one: no tool may take it.
func BuiltinType(name string) bool {
	_, alias := aliases[name]
	_, builtin := builtins[name]
	return alias || builtin
}

// resolveType follows aliases.
func resolveType(name string) string {
	if t, ok := aliases[name]; ok {
		return t
	}
	return name
}

// typeNames lists everything that a node's type may be, for suggestions.
func typeNames(c *Catalog) []string {
	names := append(slices.Collect(maps.Keys(builtins)), slices.Collect(maps.Keys(aliases))...)
	if c != nil {
		names = append(names, slices.Collect(maps.Keys(c.Tools))...)
		names = append(names, slices.Collect(maps.Keys(c.Types))...)
	}
	slices.Sort(names)
	return names
}

// EffectOf is the effect of a node as far as it is known before it runs: what
// the document says, else its tool's, agent's or type's.
func (c *Catalog) EffectOf(n *walk.ProgramNode) walk.Effect {
	if n.Effect != "" {
		return n.Effect
	}
	return c.DefaultEffect(n)
}

// DefaultEffect is EffectOf without what the document says.
func (c *Catalog) DefaultEffect(n *walk.ProgramNode) walk.Effect {
	switch n.Type {
	case walk.TypeTool:
		if c == nil {
			return walk.EffectUnsafe
		}
		info, ok := c.Tools[n.Tool]
		if !ok {
			return walk.EffectUnsafe
		}
		if info.EffectOf != nil && n.Input != nil {
			return info.EffectOf(n.Input.Source)
		}
		return info.Effect
	case walk.TypeAgent:
		if c != nil {
			if a, ok := c.Agents[n.Agent]; ok && a.Effect != "" {
				return a.Effect
			}
		}
	}
	if e, ok := builtins[n.Type]; ok {
		return e
	}
	if c != nil {
		if e, ok := c.Types[n.Type]; ok {
			return e
		}
	}
	return walk.EffectUnsafe
}
