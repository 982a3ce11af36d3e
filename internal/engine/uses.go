package engine

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// used notes something that takes part in the attempt.
func (t *attempt) used(kind, name string) {
	if name == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uses = append(t.uses, domain.Use{Kind: kind, Name: name})
}

// usedIn notes what a sub-step calls.
func (t *attempt) usedIn(kind string) {
	if name, ok := strings.CutPrefix(kind, runstate.ToolKindPrefix); ok {
		t.used(domain.UseTool, name)
	}
}

// takeUses gives what took part since the last call.
func (t *attempt) takeUses() []domain.Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.uses
	t.uses = nil
	return list
}
