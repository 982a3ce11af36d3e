package model

import (
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/agent/llm"
)

// Names maps names of tools to names that model servers accept: letters, digits, _ and -, at most
// 64 characters. Names that would become equal are numbered.
type Names struct{ to, from map[string]string }

// NewNames maps the names of tools.
func NewNames(tools []llm.ToolSpec) Names {
	n := Names{map[string]string{}, map[string]string{}}
	for _, t := range tools {
		safe := strings.Map(func(r rune) rune {
			if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
				return r
			}
			return '_'
		}, t.Name)
		if len(safe) > 64 {
			safe = safe[:64]
		}
		base := safe
		for i := 2; n.from[safe] != ""; i++ {
			suffix := "_" + strconv.Itoa(i)
			safe = base[:min(len(base), 64-len(suffix))] + suffix
		}
		n.to[t.Name], n.from[safe] = safe, t.Name
	}
	return n
}

// To returns the name of a tool for the server.
func (n Names) To(tool string) string {
	if s, ok := n.to[tool]; ok {
		return s
	}
	return tool
}

// From returns the tool for a name of the server.
func (n Names) From(name string) string {
	if t, ok := n.from[name]; ok {
		return t
	}
	return name
}
