package events

import (
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
)

// Topics returns the names of the data that an event may have changed, for readers that fetch it
// again: "runs", "now", "attention", "approvals", "drafts", "circuits", "system", "demo",
// "run-<id>", and "draft-<id>".
func Topics(e domain.Event) []string {
	out := []string{"runs", "now"}
	if e.Run != "" {
		out = append(out, "run-"+e.Run)
	}
	kind, _, _ := strings.Cut(e.Type, "_")
	switch kind {
	case "node", "tool", "provider": // a call has ended, or calls were disabled or enabled
		out = append(out, "circuits")
	}
	switch {
	case kind == "tool" || kind == "provider":
		return append(out, "system")
	case kind == "run" || kind == "failure" || kind == "bulk" || kind == "daemon" || e.Type == "node_retrying":
		if e.Type == "node_retrying" {
			out = append(out, "system") // a circuit may have opened
		}
		return append(out, "attention", "approvals") // the end of a run closes its approval requests
	case kind == "approval" || e.Type == "node_resolved":
		return append(out, "attention", "approvals")
	case kind == "draft":
		if id, ok := e.Data["draft"].(string); ok {
			out = append(out, "draft-"+id)
		}
		return append(out, "drafts")
	case kind == "demo":
		return append(out, "demo")
	case kind == "store" || kind == "maintenance" || kind == "workers":
		return append(out, "system")
	}
	return out
}

// IsTopic reports whether topic is a possible result of Topics.
func IsTopic(name string) bool {
	switch name {
	case "runs", "now", "attention", "approvals", "drafts", "circuits", "system", "demo":
		return true
	}
	kind, id, _ := strings.Cut(name, "-")
	return id != "" && (kind == "run" || kind == "draft")
}
