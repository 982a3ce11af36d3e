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

// noteUses puts what newly takes part into the checkpoint that is put together.
func (a *runner) noteUses(t *attempt) {
	t.mu.Lock()
	list := t.uses
	t.uses = nil
	t.mu.Unlock()
	for _, u := range list {
		if a.noted[u] {
			continue
		}
		if a.noted == nil {
			a.noted = map[domain.Use]bool{}
		}
		a.noted[u] = true
		a.pipe.next.Uses = append(a.pipe.next.Uses, u)
	}
}
