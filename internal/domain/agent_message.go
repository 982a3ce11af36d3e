package domain

import (
	"time"

	"github.com/kairosd/kairosd/planner"
)

// MessageType is the type of a message.
type MessageType string

const (
	MessageRequest      MessageType = "request"
	MessageResponse     MessageType = "response"
	MessageNotification MessageType = "notification"
	MessageError        MessageType = "error"
	MessageAck          MessageType = "ack"
)

// AgentMessage is a message from one agent to another, as an ACP envelope. Every invocation of an
// agent and every handoff is a request. The response or error refers to the request.
type AgentMessage struct {
	ID            string          `json:"id"`
	CorrelationID string          `json:"correlationId,omitempty" doc:"The request that this answers."`
	From          string          `json:"from"`
	To            string          `json:"to"`
	Type          MessageType     `json:"type" enum:"request,response,notification,error,ack"`
	Payload       RawJSON         `json:"payload"`
	Metadata      MessageMetadata `json:"metadata"`

	// The position in the run.
	Seq   int64  `json:"seq" doc:"The journal row it was recorded with."`
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"` // -1 outside a foreach
}

// MessageMetadata is the metadata of a message.
type MessageMetadata struct {
	Timestamp time.Time `json:"timestamp"`
	Priority  string    `json:"priority" enum:"low,medium,high,critical"`
	// TTL is the maximum time for a response in milliseconds. 0 means no limit. A later response is
	// an error.
	TTL         int64 `json:"ttl,omitempty"`
	RetryCount  int   `json:"retryCount,omitempty"`
	RequiresAck bool  `json:"requiresAck,omitempty"`
	// IsPlanContext marks the request that passes its context to a step of a step plan. StepID is
	// the ID of that step.
	IsPlanContext bool   `json:"isPlanContext,omitempty"`
	StepID        string `json:"stepId,omitempty"`
	Acknowledged  bool   `json:"acknowledged,omitempty" doc:"Set on a request that requires an acknowledgment."`
}

// Acknowledge marks the requests that have a response in the list.
func Acknowledge(list []AgentMessage) {
	acked := map[string]bool{}
	for _, m := range list {
		if m.Type == MessageAck {
			acked[m.CorrelationID] = true
		}
	}
	for i := range list {
		list[i].Metadata.Acknowledged = list[i].Type == MessageRequest && acked[list[i].ID]
	}
}

// MessagePriority returns the priority of a run's messages as a word. It rounds up to the next
// defined priority.
func MessagePriority(run int) string {
	switch {
	case run < 0:
		return "low"
	case run == 0:
		return "medium"
	case run <= planner.RunPriority("high"):
		return "high"
	}
	return "critical"
}
