package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaNames are the names of schemas that differ from those of their types.
var schemaNames = map[string]string{
	"AgentInfo": "Agent", "ProviderInfo": "Provider", "ToolInfo": "Tool", "SecretInfo": "Secret", "ChannelInfo": "Channel",
	"KeyInfo": "ProviderKey", "FailureAck": "FailureAcknowledgement", "Bulk": "BulkOperation", "BulkItem": "BulkOperationItem",
	"BulkPreview": "BulkOperationPreview", "HandoffSummary": "Handoff", "Handoff": "RunHandoff", "MemorySession": "Session",
	"Memory": "Exchange", "DaemonLog": "LogLine", "HealthMetrics": "MetricsHistory", "Sample": "MetricsSample",
	"RetentionRow": "RetentionRule",
	"Entry":        "JournalRow", "AskCreate": "PlannerRequest",
	"LimitsView": "LimitsUpdate", "Override": "StepOverride", "Comparison": "RunComparison",
	"Side": "ComparedRun", "Seen": "ComparedStep", "Value": "ComparedValue", "Change": "ValueChange", "Check": "IntegrityCheck",
	"Job": "PeriodicJob", "EventView": "Event", "ListEventView": "EventPage",
	"ExecutionStepRetryStruct": "ExecutionStepRetry", "RepeatItem": "PreviewRepeatItem", "Activity": "CallActivity",
}

// schemaName returns the name of the schema of a type. A page of a list is RunList, and a problem
// of a plan is PlanProblem.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	switch {
	case strings.HasSuffix(t.PkgPath(), "/planner") && t.Name() != "":
		return "Plan" + name
	case strings.HasSuffix(t.PkgPath(), "/rundiff") && t.Name() == "Step":
		return "StepComparison"
	case strings.HasPrefix(t.Name(), "List["):
		item := strings.TrimPrefix(name, "List")
		if renamed, ok := schemaNames[item]; ok {
			item = renamed
		}
		return item + "List"
	}
	if renamed, ok := schemaNames[name]; ok {
		return renamed
	}
	return name
}
