package planner

import (
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/walk"
)

// builtins holds the default side-effect class of each type. The types tool and tools use the class
// of the tool.
var builtins = map[string]walk.Effect{
	walk.TypeTool: walk.EffectUnsafe, walk.TypeAgent: walk.EffectIdempotent, walk.TypeLLM: walk.EffectIdempotent,
	walk.TypeDecision: walk.EffectPure,
	walk.TypeNoop:     walk.EffectPure, walk.TypeLog: walk.EffectPure, walk.TypeRouter: walk.EffectIdempotent,
	walk.TypeTools:     walk.EffectUnsafe,
	walk.TypeGenerator: walk.EffectIdempotent, walk.TypeSet: walk.EffectPure, walk.TypeWait: walk.EffectControl,
	walk.TypeApproval: walk.EffectControl,
	walk.TypePlan:     walk.EffectControl, walk.TypeFail: walk.EffectPure,
}

// aliases are the types of older documents.
var aliases = map[string]string{
	"init": walk.TypeNoop, "format_output": walk.TypeNoop, "error_handler": walk.TypeNoop, "terminal": walk.TypeNoop,
	"validation": walk.TypeDecision, "llm_call": walk.TypeLLM,
	blockType: walk.TypePlan,
}

// blockType is the type of a step with do:. Documents do not write it.
const blockType = "block"

// BuiltinType reports whether a name is a node type of the language or an alias of one. No tool may
// have such a name.
func BuiltinType(name string) bool {
	_, alias := aliases[name]
	_, builtin := builtins[name]
	return alias || builtin
}

// StepTypes returns the names of the node types of the language, sorted.
func StepTypes() []string { return slices.Sorted(maps.Keys(builtins)) }

// TypeAliases returns the names of node types in older documents, sorted.
func TypeAliases() []string { return slices.Sorted(maps.Keys(aliases)) }

// resolveType replaces an alias with its type.
func resolveType(name string) string {
	if t, ok := aliases[name]; ok {
		return t
	}
	return name
}

// typeNames lists all valid types of a node, for suggestions.
func typeNames(c *Catalog) []string {
	names := append(slices.Collect(maps.Keys(builtins)), slices.Collect(maps.Keys(aliases))...)
	if c != nil {
		names = append(names, slices.Collect(maps.Keys(c.Tools))...)
		names = append(names, slices.Collect(maps.Keys(c.Types))...)
	}
	slices.Sort(names)
	return names
}

// EffectOf returns the side-effect class of a node before it runs: the class in the document, or
// else that of its tool, agent, or type.
func (c *Catalog) EffectOf(n *walk.ProgramNode) walk.Effect {
	if n.Effect != "" {
		return n.Effect
	}
	return c.DefaultEffect(n)
}

// DefaultEffect is EffectOf without the class in the document.
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
