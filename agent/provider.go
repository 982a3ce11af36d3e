package agent

import (
	"context"
)

// Provider is the model behind an agent.
type Provider interface {
	// Complete answers a conversation: with text, or with tool calls that it
	// wants the results of. A [*planner.Failure] in the error says whether a
	// retry can help.
	Complete(ctx context.Context, r Request) (Response, error)
}

// Memory keeps what was said.
type Memory interface {
	// Retrieve returns what is worth knowing for an input, or "".
	Retrieve(ctx context.Context, input string) (string, error)
	// Store keeps an input and its answer.
	Store(ctx context.Context, input, output string) error
}

// Role says who speaks in a conversation.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role Role
	Text string
	// Calls are what an assistant asked for.
	Calls []Call
	// CallID names the call that a tool's message answers.
	CallID string
}

// Call is a tool call that a model asks for. Arguments is a JSON object.
type Call struct {
	ID        string
	Tool      string
	Arguments string
}

// Request is a conversation to be answered.
type Request struct {
	Model    string
	Messages []Message
	Tools    []ToolSpec
}

// Response is an answer: text, or calls.
type Response struct {
	Text  string
	Calls []Call
	Usage Usage
}

// Usage counts what a call consumed.
type Usage struct{ InputTokens, OutputTokens int64 }
