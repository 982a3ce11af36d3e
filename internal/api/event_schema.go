package api

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/kairosd/kairosd/internal/domain"
)

// EventView is an event on the wire, for the description of the API.
type EventView struct{ domain.Event }

// Fields lists the fields of all types, for filters.
func (EventView) Fields() []string {
	out := []string{"type", "eventId", "timestamp", "sessionId", "runId"}
	for _, t := range domain.EventTypes {
		for _, f := range t.Fields {
			out = append(out, f.Name)
		}
	}
	return out
}

// Schema describes every type of event with a fixed shape by name, and all others by the envelope.
func (EventView) Schema(r huma.Registry) *huma.Schema {
	const ref = "#/components/schemas/"
	if r.Map()["Event"] == nil {
		names := make([]any, len(domain.EventTypes))
		any := &huma.Schema{Description: "One of the event types. The field type has its name."}
		r.Map()["Event"] = any
		for i, t := range domain.EventTypes {
			names[i] = t.Name
			r.Map()[eventSchemaName(t.Name)] = eventSchema(t)
			any.OneOf = append(any.OneOf, &huma.Schema{Ref: ref + eventSchemaName(t.Name)})
		}
		other := eventSchema(domain.AuditEventType)
		other.Properties["type"] = &huma.Schema{Type: huma.TypeString, Description: "The type of the event.",
			Not: &huma.Schema{Enum: names}}
		r.Map()["AuditActionEvent"] = other
		any.OneOf = append(any.OneOf, &huma.Schema{Ref: ref + "AuditActionEvent"})
	}
	return &huma.Schema{Ref: ref + "Event"}
}

// eventSchemaName is PlanStepStartedEvent for plan_step_started.
func eventSchemaName(typ string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(typ, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String() + "Event"
}

func eventSchema(t domain.EventType) *huma.Schema {
	text := func(doc string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: doc} }
	s := &huma.Schema{
		Type:                 huma.TypeObject,
		Description:          t.Doc,
		AdditionalProperties: t.Open,
		Required:             []string{"type", "eventId", "timestamp"},
		Properties: map[string]*huma.Schema{
			"type":      {Type: huma.TypeString, Description: "The type of the event."},
			"eventId":   text("Unique. A replay repeats it, unless the event is ephemeral."),
			"timestamp": {Type: huma.TypeString, Format: "date-time", Description: "When it happened."},
			"sessionId": text("The run's session."),
			"runId":     text("The run; absent when the event is about no run."),
		},
	}
	if t.Name != "" {
		s.Properties["type"].Enum = []any{t.Name}
	}
	if t.Ephemeral || t.Name == "reset" {
		s.Properties["ephemeral"] = &huma.Schema{Type: huma.TypeBoolean, Description: "True: the event is sent once and not stored."}
	}
	if t.Ephemeral {
		s.Required = append(s.Required, "ephemeral")
	}
	for _, f := range t.Fields {
		p := fieldSchema(f.Type)
		p.Description, p.Enum = f.Doc, anys(f.Values)
		if len(f.Values) == 0 {
			p.Enum = nil
		}
		s.Properties[f.Name] = p
		if !f.Optional {
			s.Required = append(s.Required, f.Name)
		}
	}
	return s
}

// partTexts describe the properties of objects in events.
var partTexts = map[string]string{"code": "The code, for programs.", "message": "The message, for people.", "agentId": "The agent.",
	"agentName": "The agent's display name as configured now.", "stepId": "The step's id in the plan.", "task": "What the step does."}

func fieldSchema(typ string) *huma.Schema {
	object := func(fields ...string) *huma.Schema {
		s := &huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Properties: map[string]*huma.Schema{}, Required: fields}
		for _, f := range fields {
			s.Properties[f] = &huma.Schema{Type: huma.TypeString, Description: partTexts[f]}
		}
		return s
	}
	switch typ {
	case "time":
		return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
	case "error":
		return object("code", "message")
	case "agent":
		return object("agentId", "agentName")
	case "steps":
		step := object("stepId", "agentId", "agentName", "task")
		step.Properties["stepIndex"] = &huma.Schema{Type: huma.TypeInteger, Description: "The step's position in the plan, from 0."}
		step.Required = append(step.Required, "stepIndex")
		return &huma.Schema{Type: huma.TypeArray, Items: step}
	}
	return &huma.Schema{Type: typ}
}
