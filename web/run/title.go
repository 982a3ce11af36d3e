package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// marks are characters for the icons of statuses, which the titles of tabs cannot contain.
var marks = map[string]string{
	"i-ok":     "✓",
	"i-fail":   "✕",
	"i-now":    "●",
	"i-need":   "◆",
	"i-retry":  "↻",
	"i-queued": "○",
	"i-clock":  "◷",
	"i-wait":   "◌",
	"i-cancel": "⊘",
	"i-pause":  "‖",
	"i-doubt":  "?",
}

// titled returns a status for the beginning of a tab's title.
func (b *headPart) titled(s kit.Status) string { return marks[s.Icon] + " " + b.T(s.Word) }

func favicon(s domain.RunStatus) string {
	switch s {
	case domain.RunFailed, domain.RunCompleted, domain.RunRunning, domain.RunWaiting:
		return string(s)
	}
	return "idle"
}
