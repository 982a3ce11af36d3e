// Package llm defines the interfaces between an agent, a model, and tools. A [Provider] completes
// conversations, and a [Tool] is a function that a model may call.
package llm

import "context"

// Provider is the model behind an agent.
type Provider interface {
	// Complete answers a conversation with a text or with tool calls. If the error wraps a
	// [*walk.Failure], that failure states whether a retry can help.
	Complete(ctx context.Context, r Request) (Response, error)
}

// Role is the author of a message.
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
	// Calls are the tool calls of a message of the assistant.
	Calls []Call
	// CallID is the ID of the call that a message with role tool answers.
	CallID string
}

// Call is a tool call that a model requests. Arguments is a JSON object.
type Call struct {
	ID        string
	Tool      string
	Arguments string
}

// Request is a conversation to complete.
type Request struct {
	// Model is the model to use. Empty means the provider's default.
	Model    string
	Messages []Message
	Tools    []ToolSpec
	// Schema, if set, is the JSON Schema that the answer must match. The provider passes it to the
	// model in its own way. The loop validates the answer.
	Schema map[string]any
	// MaxTokens limits the answer, in tokens. 0 means the provider's default.
	MaxTokens int
	// Temperature is the sampling temperature. Nil means the provider's default.
	Temperature *float64
	// Stream, if set, is called with each part of the answer's text as it arrives.
	Stream func(text string)
}

// Response is an answer: a text, or tool calls. A provider returns one only if the model has
// finished. A truncated answer is an error.
type Response struct {
	Text  string
	Calls []Call
	Usage Usage
	// Model is the model that answered, or empty if the provider does not report it.
	Model string
	// Finish is the reason why the model stopped, in the provider's own term. It is empty if the
	// provider does not report one.
	Finish string
}

// Usage counts the tokens of a call. Cost is in the currency of the price list in the server's
// configuration.
type Usage struct {
	InputTokens, OutputTokens int64
	Cost                      float64
	// Estimated reports that the provider did not return token counts, so they are estimates.
	Estimated bool
}
