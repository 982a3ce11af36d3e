// Package handoff contains what several sections show of handoffs between agents.
package handoff

import (
	"strings"

	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Status returns the state of a handoff as a status.
func Status(s string) kit.Status {
	switch s {
	case "returned":
		return kit.Word("quiet", "i-ok", locale.Mark("returned"), true)
	case "failed":
		return kit.Word("fail", "i-fail", locale.Mark("failed"), true)
	case "refused":
		return kit.Word("fail", "i-fail", locale.Mark("refused"), true)
	}
	return kit.Word("now", "i-now", locale.Mark("still open"), false)
}

// reasons are the predefined reasons of handoffs.
var reasons = map[string]string{
	"plan_step":        locale.Mark("plan step"),
	"capability_match": locale.Mark("capability match"),
	"user_request":     locale.Mark("user request"),
	"error_recovery":   locale.Mark("error recovery"),
	"clarification":    locale.Mark("clarification"),
}

// Reason returns the reason of a handoff in the user's language.
func Reason(c *ui.Context, code string) string {
	if text := reasons[code]; text != "" {
		return c.T(text)
	}
	return strings.ReplaceAll(kit.Escape(code), "_", " ")
}
