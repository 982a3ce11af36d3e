package notify

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
)

var phrases = map[string]string{
	"failed": "failed", "completed": "completed", "cancelled": "was cancelled", "approval": "waits for an approval",
	"in_doubt":    "waits: the outcome of a step is unknown",
	"quarantined": "is quarantined: kairosd crashed three times while it ran", "held": "is held until it is released",
	"budget": "has used up its budget",
}

func textOf(kind string, r *domain.NotificationRun) string {
	text := fmt.Sprintf("Run %s of %s %s", domain.ShortID(r.ID), r.Plan.Key, phrases[kind])
	if r.Node != "" {
		text += " at " + r.Node
	}
	if r.Headline != "" {
		text += ": " + r.Headline
	}
	if r.URL != "" {
		text += "\n" + r.URL
	}
	return text
}
