// Package prompt puts together what a step asked of models: the conversation in order, from the journal
// rows of its calls. A row holds what was new in its prompt; the answers before it and what the tools
// returned are rows of their own.
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
	// parallelCalls is how many calls of one answer are carried out.
	parallelCalls = 8
	handoffTool   = "handoff"
)

// Conversation is what a step asked of models, as it is downloaded.
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

	Calls int `json:"-"` // of models
	// Guessed reports that nothing was recorded: the step's input stands for it.
	Guessed bool `json:"-"`
}

// OfferedTool is a tool that the model may call, and how often it did.
type OfferedTool struct {
	Name   string `json:"name"`
	Called int    `json:"called,omitempty"`
}

// Message is one message of a conversation.
type Message struct {
	Role   string          `json:"role"` // system, user, assistant, tool, handoff
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

// ToolCall is what a model asked for.
type ToolCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// asked is what a row keeps of its prompt.
type asked struct {
	Agent, Model string
	MaxTokens    int64
	Temperature  *float64
	Structured   bool
	Tools        []string
	Messages     []struct{ Role, Text string }
}

// answered is what a row keeps of a model's answer.
type answered struct {
	Text, Model, Finish string
	Calls               []ToolCall
}

// conversation is one agent's part: that of the node, or one that a handoff began.
type conversation struct {
	handoff *domain.Entry
	rows    []*domain.Entry
	answer  *domain.Entry
}

// Of puts the conversation of an attempt together from the rows of its calls, by number. Without calls,
// the input of the attempt stands for what it asked.
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
	for f.next < len(parts) { // whose call is not there
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
	next  int // handoff that comes next
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
		var q asked
		if len(e.Input) > 0 && json.Unmarshal(e.Input, &q) != nil {
			q = asked{} // of another shape: nothing is known of it
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

// answer is what the model said, and what came of the calls that it asked for.
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
	var said answered
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

// handoff is the part of another agent.
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

// Number is the place of a tool among those that were offered; 0: it was not.
func (p *Conversation) Number(tool string) int {
	return slices.IndexFunc(p.Tools, func(t OfferedTool) bool { return t.Name == tool }) + 1
}

// started is when a call began.
func started(e *domain.Entry) time.Time {
	if e.StartedAt.IsZero() {
		return e.At
	}
	return e.StartedAt
}
