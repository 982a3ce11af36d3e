package notify

import (
	"fmt"
	"time"
)

// Message is the JSON body of a webhook. Text alone is a complete notification, for receivers that
// show nothing else.
type Message struct {
	ID   string    `json:"id"`
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	// Run is absent if the message is not about a run.
	Run *RunNews `json:"run,omitempty"`
	// More is the number of suppressed messages like this one since the previous message.
	More int64 `json:"more,omitempty"`
}

// RunNews is the run that a message is about, as it was at the time of the event.
type RunNews struct {
	RunID    string `json:"runId"`
	Plan     string `json:"plan"`
	Version  int    `json:"version,omitempty"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
	Headline string `json:"headline,omitempty"`
	Node     string `json:"node,omitempty"`
	Code     string `json:"code,omitempty"`
	URL      string `json:"url,omitempty"`
}

var says = map[string]string{
	"failed": "failed", "completed": "completed", "cancelled": "was cancelled", "approval": "waits for an approval",
	"in_doubt":    "waits: the outcome of a step is unknown",
	"quarantined": "is quarantined: kairosd crashed three times while it ran", "held": "is held until it is released",
	"budget": "has used up its budget",
}

func textOf(kind string, r *RunNews) string {
	text := fmt.Sprintf("Run %s of %s %s", r.RunID[max(0, len(r.RunID)-4):], r.Plan, says[kind])
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
