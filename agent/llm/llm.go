// Package llm holds the interfaces between an agent, a model, and tools: a [Provider] completes
// conversations, and a [Tool] is a function that the model may ask for.
package llm

import "context"

// Provider is the model behind an agent.
type Provider interface {
	// Complete answers a conversation: with text, or with tool calls that it
	// wants the results of. A [*walk.Failure] in the error says whether a
	// retry can help.
	Complete(ctx context.Context, r Request) (Response, error)
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
	// Model names the provider's model; empty: the provider's default.
	Model    string
	Messages []Message
	Tools    []ToolSpec
	// Schema, if set, is the JSON Schema that the answer must fit. The provider
	// asks for it in its own way; whether the answer fits is checked by the loop.
	Schema map[string]any
	// MaxTokens bounds the answer; 0: the provider's default.
	MaxTokens int
	// Temperature is the provider's default if nil.
	Temperature *float64
	// Stream, if set, is called with the answer's text as it arrives.
	Stream func(text string)
}

// Response is an answer: text, or calls. A provider returns one only when the
// model has finished: an answer cut half-way is an error.
type Response struct {
	Text  string
	Calls []Call
	Usage Usage
	// Model is the one that answered, if the provider says so.
	Model string
	// Finish is why the model ended, in the provider's word; empty: it does not say.
	Finish string
}

// Usage counts what a call consumed. Cost is in the currency of the
// installation's price list.
type Usage struct {
	InputTokens, OutputTokens int64
	Cost                      float64
	// Estimated says that the provider did not report the tokens.
	Estimated bool
}
