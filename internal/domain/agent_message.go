package domain

import (
	"time"

	"github.com/kairosd/kairosd/planner"
)

// MessageType states what a message is for.
type MessageType string

const (
	MessageRequest      MessageType = "request"
	MessageResponse     MessageType = "response"
	MessageNotification MessageType = "notification"
	MessageError        MessageType = "error"
	MessageAck          MessageType = "ack"
)

// AgentMessage is a message from one agent to another: the ACP envelope of [001]. Every
// invocation of an agent and every handoff is a request; what resulted is a
// response or an error that names the request.
type AgentMessage struct {
	ID            string          `json:"id"`
	CorrelationID string          `json:"correlationId,omitempty" doc:"The request that this answers."`
	From          string          `json:"from"`
	To            string          `json:"to"`
	Type          MessageType     `json:"type" enum:"request,response,notification,error,ack"`
	Payload       RawJSON         `json:"payload"`
	Metadata      MessageMetadata `json:"metadata"`

	// Where in the run it was said.
	Seq   int64  `json:"seq" doc:"The journal row it was recorded with."`
	Node  string `json:"node"`
	Visit int    `json:"visit"`
	Item  int    `json:"item"` // -1: none
}

// MessageMetadata is about a message rather than in it.
type MessageMetadata struct {
	Timestamp time.Time `json:"timestamp"`
	Priority  string    `json:"priority" enum:"low,medium,high,critical"`
	// TTL is how many milliseconds an answer may take; 0: as long as it likes.
	// What comes later is an error.
	TTL         int64 `json:"ttl,omitempty"`
	RetryCount  int   `json:"retryCount,omitempty"`
	RequiresAck bool  `json:"requiresAck,omitempty"`
	// IsPlanContext marks the request that gives a step of a step plan its context; StepID
	// is that step.
	IsPlanContext bool   `json:"isPlanContext,omitempty"`
	StepID        string `json:"stepId,omitempty"`
	Acknowledged  bool   `json:"acknowledged,omitempty" doc:"Set on a request that an ack answers."`
}

// Acknowledge marks requests that an ack in the list answers.
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

// MessagePriority is the priority of a run's messages: that of the word which the run
// was started with, and between words the higher one.
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
