package kairos

// guesses maps words from other systems to the commands with that meaning.
var guesses = map[string][]string{
	"approvals":  {"inbox", "pending"},
	"cancel":     {"abort", "kill", "stop", "terminate"},
	"failures":   {"ack", "errors"},
	"logs":       {"events", "journal", "log", "tail"},
	"operations": {"bulk"},
	"plans":      {"add", "apply", "dag", "dags", "deploy", "graph", "workflow", "workflows"},
	"reject":     {"deny"},
	"resume":     {"continue", "release", "retry", "unpause"},
	"run":        {"exec", "execute", "start", "submit", "trigger"},
	"runs":       {"delete", "executions", "export", "jobs", "label", "limits", "list", "note", "pause", "ps", "resolve", "steps"},
	"server":     {"backup", "health", "maintenance", "system"},
	"sessions":   {"memory"},
	"show":       {"describe", "get", "inspect"},
	"validate":   {"check", "lint"},
}
