package events_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/events"
)

func TestTopics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event domain.Event
		want  string
	}{
		{domain.Event{Type: "node_completed", Run: "r"}, "runs now run-r circuits"},
		{domain.Event{Type: "node_retrying", Run: "r"}, "runs now run-r circuits system attention approvals"},
		{domain.Event{Type: "node_resolved", Run: "r"}, "runs now run-r circuits attention approvals"},
		{domain.Event{Type: "run_status", Run: "r"}, "runs now run-r attention approvals"},
		{domain.Event{Type: "approval_requested", Run: "r"}, "runs now run-r attention approvals"},
		{domain.Event{Type: "tool_disabled"}, "runs now circuits system"},
		{domain.Event{Type: "draft_progress", Data: map[string]any{"draft": "d"}}, "runs now draft-d drafts"},
		{domain.Event{Type: "maintenance_on"}, "runs now system"},
		{domain.Event{Type: "workers_changed"}, "runs now system"},
		{domain.Event{Type: "worker_wait", Run: "r"}, "runs now run-r"},
		{domain.Event{Type: "plan_saved"}, "runs now"},
	} {
		if got := strings.Join(events.Topics(c.event), " "); got != c.want {
			t.Errorf("%s: topics %q, want %q", c.event.Type, got, c.want)
		}
		for _, topic := range events.Topics(c.event) {
			if !events.IsTopic(topic) {
				t.Errorf("%s: %q is not known as a topic", c.event.Type, topic)
			}
		}
	}
	for _, unknown := range []string{"", "day", "run-", "run", "other", "drafts-1"} {
		if events.IsTopic(unknown) {
			t.Errorf("%q is known as a topic", unknown)
		}
	}
}
