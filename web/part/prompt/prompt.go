// Package prompt assembles the conversation of a step with its models from the journal rows of its
// calls. The row of a call contains only what its prompt added. Earlier responses and tool results
// are in rows of their own.
package prompt

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	part "github.com/kairosd/kairosd/web/part/run"
)

const (
	// parallelCalls is the maximum number of tool calls of one response that are executed.
	parallelCalls = 8
	handoffTool   = "handoff"
)

// Conversation is the conversation of a step with its models. It is also the format of the
// download.
type Conversation struct {
	Agent       string        `json:"agent,omitempty"`
	Model       string        `json:"model,omitempty"`
	MaxTokens   int64         `json:"maxTokens,omitempty"`
	Temperature *float64      `json:"temperature,omitempty"`
	Structured  bool          `json:"structured,omitempty"`
	Tools       []OfferedTool `json:"tools,omitempty"`
	Messages    []Message     `json:"messages"`
	Usage       domain.Usage  `json:"usage"`
	Finish      string        `json:"finish,omitempty"`

	Calls int `json:"-"` // number of model calls
	// Guessed reports that no call was recorded, so that the message is the input of the step.
	Guessed bool `json:"-"`
}

// OfferedTool is a tool that was offered to the model, with the number of its calls.
type OfferedTool struct {
	Name   string `json:"name"`
	Called int    `json:"called,omitempty"`
}

// Message is one message of a conversation.
type Message struct {
	Role   string          `json:"role"` // system, user, assistant, tool, or handoff
	Agent  string          `json:"agent,omitempty"`
	Text   string          `json:"text,omitempty"`
	Calls  []ToolCall      `json:"calls,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Args   string          `json:"arguments,omitempty"`
	Result domain.RawJSON  `json:"result,omitempty"`
	Failed *domain.Failure `json:"failure,omitempty"`
	Model  string          `json:"model,omitempty"`
	Finish string          `json:"finish,omitempty"`
	TookMs int64           `json:"tookMs,omitempty"`
	Usage  *domain.Usage   `json:"usage,omitempty"`

	Row *domain.Entry `json:"-"`
}

// ToolCall is a tool call that a model requested.
type ToolCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// request is the request that a row records.
type request struct {
	Agent, Model string
	MaxTokens    int64
	Temperature  *float64
	Structured   bool
	Tools        []string
	Messages     []struct{ Role, Text string }
}

// response is the response that a row records.
type response struct {
	Text, Model, Finish string
	Calls               []ToolCall
}

// conversation is the part of one agent: the agent of the step, or one that took over in a handoff.
type conversation struct {
	handoff *domain.Entry
	rows    []*domain.Entry
	answer  *domain.Entry
}

// Of assembles the conversation of an attempt from the rows of its calls, which are numbered.
// Without calls, it contains the input of the attempt.
func Of(rows map[int]*domain.Entry, input domain.RawJSON) Conversation {
	parts := []*conversation{{}}
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		e := rows[n]
		at := parts[len(parts)-1]
		switch what, _ := part.Call(e); {
		case strings.HasPrefix(what, "handoff:"):
			parts = append(parts, &conversation{handoff: e})
		case strings.HasPrefix(what, "answer:"):
			at.answer = e
		case what == "model", strings.HasPrefix(what, "tool:"):
			at.rows = append(at.rows, e)
		}
	}
	f := folding{p: &Conversation{Messages: []Message{}}, rows: rows, parts: parts, next: 1}
	f.part(parts[0], true)
	for f.next < len(parts) { // handoffs whose tool call is missing
		f.handoff()
	}
	if p := f.p; p.Calls == 0 && len(p.Messages) == 0 {
		p.Guessed = true
		if v, err := jsonvalue.Decode(input); err == nil && input != nil {
			p.Messages = append(p.Messages, Message{Role: "user", Text: jsonvalue.Text(v)})
		}
	}
	return *f.p
}

// folding is a conversation under construction.
type folding struct {
	p     *Conversation
	rows  map[int]*domain.Entry
	parts []*conversation
	next  int // index of the next handoff
}

func (f *folding) part(c *conversation, first bool) {
	shown := map[*domain.Entry]bool{}
	for _, e := range c.rows {
		if what, _ := part.Call(e); what != "model" {
			if !shown[e] {
				f.tool(e, strings.TrimPrefix(what, "tool:"), "")
			}
			continue
		}
		var q request
		if len(e.Input) > 0 && json.Unmarshal(e.Input, &q) != nil {
			q = request{} // unknown format
		}
		if first {
			f.p.Agent, f.p.Model, f.p.MaxTokens, f.p.Temperature, f.p.Structured = q.Agent, q.Model, q.MaxTokens, q.Temperature,
				q.Structured
			first = false
		}
		for _, t := range q.Tools {
			if !slices.ContainsFunc(f.p.Tools, func(o OfferedTool) bool { return o.Name == t }) {
				f.p.Tools = append(f.p.Tools, OfferedTool{Name: t})
			}
		}
		for _, m := range q.Messages {
			f.p.Messages = append(f.p.Messages, Message{Role: m.Role, Text: m.Text})
		}
		f.answer(e, q.Agent, shown)
	}
}

// answer adds a model response, and the results of its tool calls.
func (f *folding) answer(e *domain.Entry, agent string, shown map[*domain.Entry]bool) {
	f.p.Calls++
	m := Message{
		Role:   "assistant",
		Agent:  cmp.Or(e.Agent, agent),
		TookMs: e.At.Sub(started(e)).Milliseconds(),
		Failed: e.Failure,
		Row:    e,
	}
	if !e.Usage.Zero() {
		m.Usage = &e.Usage
		f.p.Usage = f.p.Usage.Add(e.Usage)
	}
	var said response
	if len(e.Output) > 0 && json.Unmarshal(e.Output, &said) != nil {
		said.Text = string(e.Output)
	}
	m.Text, m.Model, m.Finish, m.Calls = said.Text, said.Model, said.Finish, said.Calls
	f.p.Model, f.p.Finish = cmp.Or(said.Model, f.p.Model), cmp.Or(said.Finish, f.p.Finish)
	f.p.Messages = append(f.p.Messages, m)
	n := e.Substep
	for i, call := range said.Calls {
		for j := range f.p.Tools {
			if f.p.Tools[j].Name == call.Tool {
				f.p.Tools[j].Called++
			}
		}
		if i >= parallelCalls {
			continue
		}
		if call.Tool == handoffTool && f.next < len(f.parts) {
			f.handoff()
			continue
		}
		n++
		if row := f.rows[n]; row != nil {
			if what, _ := part.Call(row); what == "tool:"+call.Tool {
				shown[row] = true
				f.tool(row, call.Tool, call.Arguments)
			}
		}
	}
}

func (f *folding) tool(e *domain.Entry, tool, args string) {
	f.p.Messages = append(
		f.p.Messages,
		Message{
			Role:   "tool",
			Tool:   tool,
			Args:   args,
			Result: e.Output,
			Failed: e.Failure,
			TookMs: e.At.Sub(started(e)).Milliseconds(),
			Row:    e,
		},
	)
}

// handoff adds the part of another agent.
func (f *folding) handoff() {
	c := f.parts[f.next]
	f.next++
	var h struct{ From, To, Reason, Explanation string }
	if len(c.handoff.Input) > 0 && json.Unmarshal(c.handoff.Input, &h) != nil {
		h.To = c.handoff.Agent
	}
	f.p.Messages = append(f.p.Messages, Message{Role: "handoff", Agent: h.To, Text: h.Explanation,
		Failed: c.handoff.Failure, Row: c.handoff})
	f.part(c, false)
}

// Number returns the position of an offered tool, starting at 1, or 0 if the tool was not offered.
func (p *Conversation) Number(tool string) int {
	return slices.IndexFunc(p.Tools, func(t OfferedTool) bool { return t.Name == tool }) + 1
}

// started returns the start of a call.
func started(e *domain.Entry) time.Time {
	if e.StartedAt.IsZero() {
		return e.At
	}
	return e.StartedAt
}
