package engine

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// recordUse records a participant of the attempt.
func (t *attempt) recordUse(kind, name string) {
	if name == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uses = append(t.uses, domain.Use{Kind: kind, Name: name})
}

// recordSubstepUse records the target of a sub-step.
func (t *attempt) recordSubstepUse(kind string) {
	if name, ok := strings.CutPrefix(kind, runstate.ToolKindPrefix); ok {
		t.recordUse(domain.UseTool, name)
	}
}

// takeUses returns the participants since the last call.
func (t *attempt) takeUses() []domain.Use {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.uses
	t.uses = nil
	return list
}
