package conversation

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
)

// Maximum sizes of a recorded prompt, in bytes.
const (
	maxPromptText = 32 << 10  // of one message
	maxPrompt     = 256 << 10 // of all new messages of one call
)

// Prompter is a [Journal] that also records prompts for people. It is called before the model call.
// A resumed conversation builds its prompts again.
type Prompter interface {
	Asked(n int, p Prompt)
}

// Prompt is the new part of a request to a model. The answers of the model and the results of its
// calls are steps of their own.
type Prompt struct {
	Agent, Model string // as configured; empty: the provider's default
	MaxTokens    int
	Temperature  *float64
	// Tools names the offered tools, in the order in which the model receives them. It is nil after
	// the first call, because the tools do not change.
	Tools []string
	// Structured reports that the answer must match a schema.
	Structured bool
	Messages   []llm.Message
}

// Value returns the prompt in the form of the journal. Long texts are shortened and marked.
func (p Prompt) Value() map[string]any {
	v := map[string]any{}
	for key, text := range map[string]string{"agent": p.Agent, "model": p.Model} {
		if text != "" {
			v[key] = text
		}
	}
	if p.MaxTokens > 0 {
		v["maxTokens"] = p.MaxTokens
	}
	if p.Temperature != nil {
		v["temperature"] = *p.Temperature
	}
	if p.Structured {
		v["structured"] = true
	}
	if len(p.Tools) > 0 {
		tools := make([]any, len(p.Tools))
		for i, t := range p.Tools {
			tools[i] = t
		}
		v["tools"] = tools
	}
	messages, left := []any{}, maxPrompt
	for _, m := range p.Messages {
		text := clipped(m.Text, min(maxPromptText, left))
		left = max(0, left-len(text))
		messages = append(messages, map[string]any{"role": string(m.Role), "text": text})
	}
	v["messages"] = messages
	return v
}

func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\uFFFD") + fmt.Sprintf("… (%d more bytes are not kept)", len(s)-n)
}

// prompt returns the part of the next call that no earlier call contained.
func (c *conversation) prompt() Prompt {
	p := Prompt{Agent: c.Name, Model: c.Model, MaxTokens: c.MaxTokens, Temperature: c.Temperature, Structured: c.Schema != nil}
	for _, m := range c.messages[c.prompted:] {
		if c.prompted == 0 || m.Role == llm.RoleUser || m.Role == llm.RoleSystem {
			p.Messages = append(p.Messages, m)
		}
	}
	if c.prompted == 0 {
		for _, s := range c.specs {
			p.Tools = append(p.Tools, s.Name)
		}
	}
	c.prompted = len(c.messages)
	return p
}
