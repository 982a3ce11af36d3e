// Package budget contains the rules of budgets: which model calls a budget covers, its windows, what a call
// may use, and the time at which a budget is exhausted.
package budget

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// Kinds of scopes.
const (
	All      = "all"
	Plan     = "plan"
	Agent    = "agent"
	Provider = "provider"
	Label    = "label"
)

// Scope selects model calls.
type Scope struct {
	Kind string
	// Name is the plan, agent, provider, or key of the label. Value is the value of the label.
	Name, Value string
}

// ParseScope parses a scope, such as plan:report or label:team=ops. The error has CodeInvalid.
func ParseScope(text string) (Scope, error) {
	kind, name, _ := strings.Cut(text, ":")
	s := Scope{Kind: kind, Name: name}
	switch {
	case text == All:
		return s, nil
	case (kind == Plan || kind == Agent || kind == Provider) && name != "":
		return s, nil
	case kind == Label:
		var ok bool
		if s.Name, s.Value, ok = strings.Cut(name, "="); ok && s.Name != "" && s.Value != "" {
			return s, nil
		}
	}
	return s, domain.Errorf(domain.CodeInvalid, "invalid scope %q", text).
		Suggest("use all, plan:KEY, agent:ID, provider:NAME, or label:KEY=VALUE")
}

// Call is a model call as scopes see it.
type Call struct {
	Run, Plan, Agent, Provider string
	Labels                     map[string]string // of the run
}

// Covers reports whether the scope contains a call.
func (s Scope) Covers(c Call) bool {
	switch s.Kind {
	case All:
		return true
	case Plan:
		return c.Plan == s.Name
	case Agent:
		return c.Agent == s.Name
	case Provider:
		return c.Provider == s.Name
	case Label:
		v, ok := c.Labels[s.Name]
		return ok && v == s.Value
	}
	return false
}
