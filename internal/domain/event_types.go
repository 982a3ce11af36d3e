package domain

import "slices"

// EventField is a field of an event that is not part of the envelope.
type EventField struct {
	Name string
	// Type is string, integer, boolean, time, error, agent, or steps. Empty means any value.
	Type     string
	Optional bool
	Doc      string
	// Values lists all values of a string. Empty means that any text is possible.
	Values []string
}

// EventType describes a type of event. The OpenAPI description and the event reference are
// generated from it.
type EventType struct {
	Name      string
	Doc       string
	Ephemeral bool
	// Open types may have additional fields.
	Open   bool
	Fields []EventField
}

func field(name, typ, doc string) EventField { return EventField{Name: name, Type: typ, Doc: doc} }

func maybe(name, typ, doc string) EventField {
	return EventField{Name: name, Type: typ, Optional: true, Doc: doc}
}

// of returns the field with its possible values.
func (f EventField) of(values ...string) EventField {
	f.Values = values
	return f
}

// texts converts the values of an enumeration.
func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

var (
	planField = field("planId", "string", "Id of the stored plan, as in GET /plans/{id}.")
	stepField = field("stepId", "string", "The step's id in the plan.")
	stepIndex = field("stepIndex", "integer", "The step's position in the plan, from 0.")
	agentID   = field("agentId", "string", "The step's agent; empty when a tool runs the step.")
	agentName = field("agentName", "string", "The agent's display name as configured now.")
	taskField = field("task", "string", "The task of the step.")

	rowField = field("runSeq", "integer", "The journal row that the event is derived from.")
	// rowFields are the optional fields of events of journal rows.
	rowFields = []EventField{rowField,
		maybe("node", "string", "The step."), maybe("visit", "integer", "The step's iteration, from 1."),
		maybe("item", "integer", "The foreach item, from 0."), maybe("attempt", "integer", "The attempt, from 1."),
		maybe(
			"actor",
			"string",
			"The user, token, or part of kairosd that acted.",
		), maybe("error", "error", "The failure."), maybe("dueAt", "time", "When the step continues automatically."),
		maybe("ref", "string", "Id of the approval request or child run.")}
	reasonField = maybe("reason", "string", "The reason.")
	// recordFields are the fields of events of audit records without journal rows.
	recordFields = []EventField{
		maybe("actor", "string", "The user, token, or part of kairosd that acted."),
		maybe("object", "string", "The object of the action, such as plan:invoice."), reasonField,
		maybe("result", "string", "ok, denied, or failed; absent: ok.").of("ok", "denied", "failed"),
	}
	liveFields = []EventField{field("node", "string", "The step."), field("visit", "integer", "The step's iteration, from 1."),
		maybe("item", "integer", "The foreach item, from 0."), field("attempt", "integer", "The attempt, from 1.")}
)

func rowEvent(name, doc string, more ...EventField) EventType {
	return EventType{Name: name, Doc: doc, Fields: slices.Concat(rowFields, more)}
}

func settledEvent(name, doc string) EventType {
	return rowEvent(name, doc, maybe("final", "boolean", "False if another attempt follows, or the step waits for a replan or a person."),
		maybe("to", "string", "The step that follows."), maybe("endReason", "string", "Why no step follows."),
		maybe("handled", "string", "What handled the failure: edge, skip, continue, when, or race."),
		maybe("detail", "string", "Why a condition could not be evaluated."),
		maybe("visitStatus", "string", "The status of the step, with the last item of a foreach."),
		maybe("agent", "string", "The agent that ran the step."), reasonField)
}

// EventTypes lists the types with fixed fields. Every other stored event is an action of the audit
// log, named with "_" instead of ".".
var EventTypes = []EventType{
	{Name: "plan_generated", Doc: "A run of a step plan began, or follows a new version after a replan.", Fields: []EventField{planField,
		field(
			"query",
			"string",
			"The run's input as text.",
		), field("steps", "steps", "Each step with stepId, stepIndex, agentId, agentName, and task."),
		field("estimatedSteps", "integer", "The number of steps.")}},
	{
		Name:   "plan_step_started",
		Doc:    "An attempt of a step began.",
		Fields: []EventField{planField, stepField, stepIndex, agentID, agentName, taskField},
	},
	{
		Name: "plan_step_completed",
		Doc:  "A step ended. Each step has exactly one such event, and one more after each resume that runs it again.",
		Fields: []EventField{
			planField,
			stepField,
			stepIndex,
			field("status", "string", "completed, failed, or skipped. A cancelled step counts as failed.").
				of("completed", "failed", "skipped"),
			maybe(
				"result",
				"string",
				"The step's output as text.",
			),
			maybe("error", "string", "Why the step failed, also when the plan continued."),
		},
	},
	{
		Name: "plan_step_retrying",
		Doc:  "An attempt of a step failed and the next one is scheduled.",
		Fields: []EventField{planField, stepField, stepIndex,
			field(
				"attempt",
				"integer",
				"The attempt that failed, from 1.",
			), field("maxAttempts", "integer", "The maximum number of attempts."),
			field("nextAt", "time", "When the next attempt may start."), maybe("error", "string", "Why the attempt failed.")},
	},
	{
		Name: "plan_completed",
		Doc:  "A run of a step plan ended.",
		Fields: []EventField{planField,
			field("status", "string", "completed, failed, or cancelled.").of("completed", "failed", "cancelled"),
			maybe("summary", "string", "The purpose of the plan."),
			maybe("failureReason", "string", "Step N failed: and the step's error.")},
	},
	{
		Name: "agent_handoff",
		Doc:  "Work went from one agent to another.",
		Fields: []EventField{field("handoffId", "string", "As in GET /handoffs/{handoffId}."),
			field(
				"fromAgent",
				"agent",
				"The agent that passes on the work.",
			), field("toAgent", "agent", "The agent that receives the work."),
			field("reason", "string", "plan_step, or the reason that the agent gave."),
			maybe("explanation", "string", "The task.")},
	},
	{
		Name: "agent_changed",
		Doc:  "Another agent is active from now on.",
		Fields: []EventField{field("agentId", "string", "The agent."), agentName,
			maybe("agentIcon", "string", "Its icon."), maybe("agentColor", "string", "Its color.")},
	},

	rowEvent("node_started", "An attempt of a step began. For a step without side effects, the event is sent with the one of its end.",
		field("effect", "string", "The side-effect class: pure, read, idempotent, unsafe, or control.").
			of("pure", "read", "idempotent", "unsafe", "control")),
	rowEvent(
		"node_substep",
		"A model call, tool call, or handoff inside an attempt ended.",
		field("kind", "string", "For example model, tool:http, handoff:writer, or replan."),
	),
	settledEvent("node_completed", "A step or a foreach item completed."),
	settledEvent("node_failed", "An attempt of a step or a foreach item failed."),
	settledEvent("node_skipped", "A step was skipped: none of the steps that it needs ran, or it failed with on_error: skip."),
	settledEvent("node_cancelled", "A step was cancelled."),
	rowEvent("node_retrying", "The next attempt is scheduled.", reasonField),
	rowEvent("node_waiting", "A step waits for time, a signal, a child run, or a replan.", reasonField),
	rowEvent("node_interrupted", "kairosd stopped or crashed during an attempt; it runs again.", reasonField),
	rowEvent("node_in_doubt", "The outcome of an attempt is unknown; a person must resolve it.", reasonField),
	rowEvent(
		"node_resolved",
		"A person resolved a step in doubt, or a result was given in advance.",
		field("action", "string", "For example happened, retry, skip, or fail."),
		reasonField,
	),
	rowEvent("node_late_result", "An abandoned attempt returned. Its result is not used.",
		field("action", "string", "late").of("late"), reasonField),
	rowEvent("child_ended", "A child run ended.", field("action", "string", "child").of("child"), reasonField),
	rowEvent("approval_requested", "An approval request was opened.", reasonField),
	rowEvent(
		"approval_decided",
		"A person answered, or the request timed out.",
		field("action", "string", "approved, rejected, expired, or changes_requested.").
			of("approved", "rejected", "expired", "changes_requested"),
		maybe("answer", "string", "The id of the answer. Absent after a request for changes, or if on_timeout is fail."),
		reasonField,
	),

	rowEvent("run_resumed", "Failed or cancelled steps were opened again.", reasonField),
	rowEvent(
		"run_replanned",
		"The run follows another version of its plan.",
		field("version", "integer", "The new version."),
		field("hash", "string", "The hash of the new version."),
		field("from", "string", "The hash of the previous version."),
		field("failed", "string", "The step whose failure caused the replan."),
		field("kept", "integer", "The number of ended steps that the new version keeps."),
		reasonField,
	),
	rowEvent("run_paused", "The run was paused.", reasonField),
	rowEvent("run_unpaused", "The run was unpaused.", reasonField),
	rowEvent("run_cancelling", "The run is being cancelled.", reasonField),
	rowEvent("run_limits_changed", "The run's limits were changed.", reasonField),
	rowEvent("run_released", "The run was released from quarantine or hold.", reasonField),
	rowEvent("run_retried", "The next attempt of each step that waits for a retry starts now.", reasonField),
	rowEvent("run_quarantined", "The run was quarantined.", reasonField),
	rowEvent("run_recovered", "kairosd found the run unfinished after a crash.", reasonField),
	rowEvent("run_suspended", "kairosd stopped cleanly while the run was active.", reasonField),
	{Name: "run_created", Doc: "A run was created.", Fields: slices.Concat(recordFields, []EventField{
		field("version", "integer", "The version of the plan."), field("hash", "string", "The hash of the version."),
		field("origin", "string", "The origin of the run, such as api, ui, cli, rerun, fork, or child.")})},
	{Name: "run_status", Doc: "A run's status changed.", Fields: slices.Concat(recordFields, []EventField{
		field("status", "string", "The new status.").of(texts(RunStatuses)...),
		maybe("waitReason", "string", "The wait reason.").of(texts(WaitReasons)...),
		maybe("statusMessage", "string", "The status message."),
		maybe("failureReason", "string", "Step plans: Step N failed: and the step's error.")})},

	{
		Name:      "node_text",
		Doc:       "A model produced text.",
		Ephemeral: true,
		Fields:    slices.Concat(liveFields, []EventField{field("text", "string", "The text since the last such event.")}),
	},
	{Name: "node_log", Doc: "A step logged a line. It is stored with the attempt.", Ephemeral: true,
		Fields: slices.Concat(
			liveFields,
			[]EventField{field("level", "string", "debug, info, warn, or error.").of("debug", "info", "warn", "error"),
				field("message", "string", "The line.")},
		)},
	{Name: "node_progress", Doc: "A step reported progress.", Ephemeral: true,
		Fields: slices.Concat(
			liveFields,
			[]EventField{
				field("done", "integer", "The completed amount."),
				field("total", "integer", "The total amount; 0 if unknown."),
				field("message", "string", "The current activity."),
			},
		)},
	{Name: "worker_wait", Doc: "Steps of a run began or ceased to wait for a worker of Temporal. GET /runs/{id} has the waits.",
		Ephemeral: true, Fields: []EventField{field("waits", "integer", "The number of waits."),
			field("steps", "integer", "The number of steps that wait.")}},
	{Name: "workers_changed", Doc: "The problems of the workers of Temporal have changed. GET /system has them.", Ephemeral: true,
		Fields: []EventField{field("problems", "integer", "The number of problems.")}},
	{Name: "draft_progress", Doc: "The planning of a draft made progress.", Ephemeral: true, Fields: []EventField{
		field("draft", "string", "The id of the draft."), field("object", "string", "draft: and the id."),
		field("phase", "string", "The phase of planning.").of(texts(DraftPhases)...),
		field("attempt", "integer", "The number of the model's response; 0: no model responded.")}},
	{Name: "hook_delivery", Doc: "A delivery to a hook, or a file, started nothing. Others have an event of their run or signal.",
		Ephemeral: true, Fields: []EventField{field("object", "string", "hook: and the key."),
			field("delivery", "string", "The id of the delivery."),
			field("status", "string", "The outcome.").of(texts(DeliveryStates)...)}},
	{Name: "reset", Doc: "The position is unknown, or you read too slowly. Read the objects that you follow again."},
}

// AuditEventType describes every event without a type of its own: an action of the audit log.
var AuditEventType = EventType{
	Doc: "An action of the audit log: its name with _ for a dot or a dash. Details of the action are further fields.", Open: true,
	Fields: slices.Concat(recordFields, []EventField{maybe("before", "", "The value before a change."),
		maybe("after", "", "The value after a change.")}),
}
