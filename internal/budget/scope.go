// Package budget contains the rules of budgets: which model calls a budget covers, its windows, what a call
// may use, and the time at which a budget is exhausted.
package budget

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
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
	// ID identifies the call if its run is executed in another program, which may repeat its reservation. Otherwise it is empty.
	ID                         string
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

// Scopes are the scopes of all budgets. A program without the budgets finds out from them whether one covers a call.
type Scopes struct {
	// Digest changes with the list. It is empty if the budgets are not known.
	Digest string
	List   []string
}

// scopesOf returns the scopes of budgets.
func scopesOf(list []domain.Budget) (s Scopes) {
	for _, b := range list {
		s.List = append(s.List, b.Scope)
	}
	slices.Sort(s.List)
	s.List = slices.Compact(s.List)
	sum := sha256.Sum256([]byte(strings.Join(s.List, "\n")))
	s.Digest = hex.EncodeToString(sum[:6])
	return s
}

// Of returns the scopes that can contain calls of a run with a plan and labels.
func (s Scopes) Of(plan string, labels map[string]string) Scopes {
	run := Scopes{Digest: s.Digest}
	for _, text := range s.List {
		scope, err := ParseScope(text)
		if err == nil && (scope.Kind == Agent || scope.Kind == Provider || scope.Covers(Call{Plan: plan, Labels: labels})) {
			run.List = append(run.List, text)
		}
	}
	return run
}

// Cover reports whether one of the scopes of a run contains the call of an agent and a provider.
func (s Scopes) Cover(agent, provider string) bool {
	return slices.ContainsFunc(s.List, func(text string) bool {
		scope, err := ParseScope(text)
		return err == nil && (scope.Kind != Agent && scope.Kind != Provider || scope.Covers(Call{Agent: agent, Provider: provider}))
	})
}
