package run

import (
	"encoding/json"

	"github.com/kairosd/kairosd/internal/domain"
)

// Call returns the call that a journal row records: a sub-step of a conversation, or the only model
// call of a step without sub-steps.
func Call(e *domain.Entry) (what string, ok bool) {
	switch {
	case e.Kind == domain.EntrySubstep:
		var p struct{ Kind string }
		if json.Unmarshal(e.Decision, &p) != nil {
			return "", false
		}
		return p.Kind, p.Kind != ""
	case e.Kind == domain.EntryResult && !e.Usage.Zero():
		return "model", true
	}
	return "", false
}
