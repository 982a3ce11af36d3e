package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
)

// marks are the shapes of statuses as the titles of tabs can have them, always
// beside the word.
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

// titled is a status as a tab's title begins with it.
func (b *headPart) titled(s kit.Status) string { return marks[s.Icon] + " " + b.T(s.Word) }

func favicon(s domain.RunStatus) string {
	switch s {
	case domain.RunFailed, domain.RunCompleted, domain.RunRunning, domain.RunWaiting:
		return string(s)
	}
	return "idle"
}
