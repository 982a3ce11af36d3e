package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

var (
	//go:embed properties.txt
	propertiesText string
	//go:embed examples.json
	examplesText []byte
)

// propertyEnums are the values of properties whose types do not list them. The names are as in
// properties.txt.
var propertyEnums = map[string][]any{
	"BulkOperation.source": sources, "Draft.source": sources,
	"BulkOperation.action": bulkActions, "BulkOperationPreview.action": bulkActions,
	"Preview.action": {domain.ActionResume, domain.ActionRerun, domain.ActionFork, domain.ActionCancel, domain.ActionPause,
		domain.ActionUnpause, domain.ActionRetryNow, domain.ActionRelease, domain.ActionStartNow, domain.ActionDelete, domain.ActionLimits,
		domain.ActionLabel, domain.ActionUndo},
	"DamagedRow.kind":           entryKinds,
	"Fault.severity":            {"error", "warning"},
	"LogLine.level":             {"DEBUG", "INFO", "WARN", "ERROR"},
	"RetentionPlan.reason":      {"age", "count", "size"},
	"StepComparison.difference": {"", "missing", "status", "error", "edge", "output"},
	"*.effect":                  {"pure", "read", "idempotent", "unsafe", "control"},
	"Answer.kind":               {domain.AnswerApprove, domain.AnswerReject, domain.AnswerChoice, domain.AnswerRequestChanges},
	"BulkOperationItem.status":  {"pending", "acted", "refused"},
	"Handoff.status":            {"open", "returned", "failed"},
	"HandoffDetail.status":      {"open", "returned", "failed"},
	"JournalRow.kind":           entryKinds,
	"DraftNote.phase":           anys(domain.DraftPhases),
	"PlanState.status":          {"executing", "completed", "failed", "cancelled"},
	"PlanStepState.status":      {"pending", "in_progress", "completed", "failed", "skipped", "cancelled"},
	"Notification.kind":         append(anys(domain.NotificationKinds), domain.NotificationTest),
	"Delivery.kind":             append(anys(domain.NotificationKinds), domain.NotificationTest),
	"Tool.status":               {"ready", "unavailable", "changed", "gone"},
	"Tool.permission":           {"allow", "ask", "deny"},
	"PlanProblem.severity":      {"error", "warning"},
	"Problem.code":              problemCodes(),
}

var (
	sources     = []any{"ui", "api", "cli", "mcp", "a2a", "engine"}
	bulkActions = []any{domain.ActionResume, domain.ActionRerun, domain.ActionCancel, domain.ActionPause, domain.ActionUnpause,
		domain.ActionDelete, domain.ActionAcknowledge, domain.ActionLabel}
	entryKinds = []any{domain.EntryIntent, domain.EntryResult, domain.EntryWait, domain.EntryResolve, domain.EntrySubstep,
		domain.EntryReset, domain.EntryReplan, domain.EntryAction}
)

// problemCodes are the codes of all refusals.
func problemCodes() []any {
	codes := []string{string(codeMethodNotAllowed), string(codeUpgradeRequired), "NO_VALID_PLAN", "INSUFFICIENT_RESOURCES"}
	for code := range statuses {
		codes = append(codes, string(code))
	}
	slices.Sort(codes)
	return anys(codes)
}

// describeRequests gives each body an example, by the name of its schema.
func describeRequests(op *huma.Operation) error {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	examples := map[string]any{}
	if err := json.Unmarshal(examplesText, &examples); err != nil {
		return fmt.Errorf("examples.json: %w", err)
	}
	media := op.RequestBody.Content["application/json"]
	if media.Schema != nil && media.Schema.Ref != "" {
		media.Example = examples[media.Schema.Ref[strings.LastIndex(media.Schema.Ref, "/")+1:]]
	}
	return nil
}

// properties holds the descriptions of properties without a tag, by schema and name, or for all
// schemas by a star and the name.
func properties() (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(propertiesText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, text, ok := strings.Cut(line, ": ")
		if _, twice := out[name]; !ok || twice || !strings.Contains(name, ".") {
			return nil, fmt.Errorf("properties.txt: %q is not a new SCHEMA.PROPERTY: text", line)
		}
		out[name] = text
	}
	return out, nil
}

// describeProperties adds descriptions and values to properties without a tag.
func describeProperties(schemas map[string]*huma.Schema) error {
	texts, err := properties()
	if err != nil {
		return err
	}
	for schema, s := range schemas {
		for name, p := range s.Properties {
			for _, key := range []string{schema + "." + name, "*." + name} {
				if values, ok := propertyEnums[key]; ok && p.Type == huma.TypeString && len(p.Enum) == 0 {
					p.Enum = values
				}
			}
			if p.Description != "" {
				continue
			}
			for _, key := range []string{schema + "." + name, "*." + name} {
				if text, ok := texts[key]; ok {
					p.Description = text
					break
				}
			}
		}
	}
	return nil
}
