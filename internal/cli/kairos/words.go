package kairos

import (
	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/cli/incoming"
	"github.com/kairosd/kairosd/internal/domain"
)

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

// flagWords are the fixed words that complete a flag, by the command and its name.
var flagWords = map[string][]string{
	"kairos runs status": texts(domain.RunStatuses), "kairos runs list status": texts(domain.RunStatuses),
	"kairos approvals status": approvalStates, "kairos approvals list status": approvalStates,
	"kairos server logs level": {"DEBUG", "INFO", "WARN", "ERROR"}, "kairos runs steps sort": {"took"},
	"kairos spend by": apitypes.SpendBy, "kairos spend period": apitypes.SpendPeriods,
	"kairos schedules status": incoming.ScheduleStates, "kairos schedules list status": incoming.ScheduleStates,
	"kairos budgets create period": domain.BudgetPeriods, "kairos budgets create unit": domain.BudgetUnits,
	"kairos plans graph format": {"mermaid", "dot", "svg"}, "kairos plans convert to": {"yaml", "json"},
	"kairos operations show status": {"pending", "acted", "refused"},
	"kairos ask priority":           {"low", "medium", "high"}, "kairos run on-conflict": {"queue", "skip", "cancel_oldest"},
	"kairos hooks create scheme": texts(domain.HookSchemes), "kairos hooks update scheme": texts(domain.HookSchemes),
	"kairos hooks deliveries status": texts(domain.DeliveryStates), "kairos hooks replay status": {"accepted", "filtered", "refused"},
}

func texts[T ~string](words []T) (out []string) {
	for _, w := range words {
		out = append(out, string(w))
	}
	return out
}
