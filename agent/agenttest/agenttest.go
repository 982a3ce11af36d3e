// Package agenttest helps to test agents and plans without a model: a provider
// that says what the test tells it to, and remembers what it was asked; a tool
// that does the same; and a memory that is a list.
package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/walk"
)

// T is what is needed of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Reply is one answer of a [Provider].
type Reply struct {
	// When, if set, must be part of the last message that is not the model's own,
	// whatever its case; a reply without it fits everything.
	When string
	Text string
	// JSON is an answer that is a value instead of text.
	JSON  any
	Calls []Call
	// Err is a failure instead of an answer.
	Err   error
	Usage llm.Usage
}

// Call is a tool call that a [Reply] asks for.
type Call struct {
	Tool string
	Args any // what encoding/json makes an object of; nil: {}
}

// Text is a reply to anything.
func Text(text string) Reply { return Reply{Text: text} }

// Calling is a reply to anything that asks for one tool call.
func Calling(tool string, args any) Reply { return Reply{Calls: []Call{{tool, args}}} }

// Provider answers with its replies. Each is given once, and the first that fits
// is given, so that conversations in parallel may be told apart by When. It is
// safe for concurrent use.
type Provider struct {
	mu       sync.Mutex
	replies  []Reply
	requests []llm.Request
	given    int
}

var _ llm.Provider = (*Provider)(nil)

// NewProvider makes a provider. At the end of the test it is an error when
// replies were not asked for.
func NewProvider(t T, replies ...Reply) *Provider {
	t.Helper()
	p := &Provider{replies: slices.Clone(replies)}
	t.Cleanup(func() {
		t.Helper()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range p.replies {
			t.Errorf("agenttest: nobody asked for the reply %s", r.describe())
		}
	})
	return p
}

func (r Reply) describe() string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("(error) %v", r.Err)
	case len(r.Calls) > 0:
		return "(call) " + r.Calls[0].Tool
	case r.JSON != nil:
		return fmt.Sprintf("(value) %v", r.JSON)
	}
	return fmt.Sprintf("%q", r.Text)
}

// Complete gives the first reply that fits. Without one it fails for good, and
// says what was asked.
func (p *Provider) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := context.Cause(ctx); err != nil {
		return llm.Response{}, err
	}
	r.Messages = slices.Clone(r.Messages) // the conversation goes on
	asked := ""
	for _, m := range r.Messages {
		if m.Role != llm.RoleAssistant {
			asked = m.Text
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	i := slices.IndexFunc(p.replies, func(reply Reply) bool {
		return strings.Contains(strings.ToLower(asked), strings.ToLower(reply.When))
	})
	if i < 0 {
		return llm.Response{}, (&walk.Failure{
			Code:      "no_reply",
			Permanent: true,
			NoEffect:  true,
		}).WithMessage("agenttest: no reply is left for %q", asked)
	}
	reply := p.replies[i]
	p.replies = slices.Delete(p.replies, i, i+1)
	if reply.Err != nil {
		return llm.Response{}, reply.Err
	}
	out := llm.Response{Text: reply.Text, Usage: reply.Usage, Model: r.Model}
	if reply.JSON != nil {
		b, err := json.Marshal(reply.JSON)
		if err != nil {
			return llm.Response{}, fmt.Errorf("agenttest: JSON of a reply: %w", err)
		}
		out.Text = string(b)
	}
	for _, c := range reply.Calls {
		args := []byte("{}")
		if c.Args != nil {
			var err error
			if args, err = json.Marshal(c.Args); err != nil {
				return llm.Response{}, fmt.Errorf("agenttest: arguments of %s: %w", c.Tool, err)
			}
		}
		p.given++
		out.Calls = append(out.Calls, llm.Call{ID: fmt.Sprintf("call-%d", p.given), Tool: c.Tool, Arguments: string(args)})
	}
	if r.Stream != nil && out.Text != "" {
		r.Stream(out.Text)
	}
	return out, nil
}

// Requests are what was asked so far, in order.
func (p *Provider) Requests() []llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Tool is a tool that a test gives to an agent. It remembers its calls and is
// safe for concurrent use.
type Tool struct {
	spec llm.ToolSpec
	do   func(args map[string]any) (any, error)

	mu    sync.Mutex
	calls []map[string]any
}

var _ llm.Tool = (*Tool)(nil)

// NewTool makes a tool that only reads and takes any arguments. do may be nil:
// then the tool answers null.
func NewTool(name string, do func(args map[string]any) (any, error)) *Tool {
	return &Tool{
		spec: llm.ToolSpec{Name: name, Description: "A tool of a test.", Effect: walk.EffectRead, Schema: map[string]any{"type": "object"}},
		do:   do,
	}
}

// WithSpec gives the tool another description; its name stays if s has none.
func (t *Tool) WithSpec(s llm.ToolSpec) *Tool {
	if s.Name == "" {
		s.Name = t.spec.Name
	}
	t.spec = s
	return t
}

// Spec describes the tool.
func (t *Tool) Spec() llm.ToolSpec { return t.spec }

// Call notes the arguments and answers.
func (t *Tool) Call(_ context.Context, c llm.ToolCall) (any, error) {
	args, _ := c.Args.(map[string]any)
	t.mu.Lock()
	t.calls = append(t.calls, args)
	t.mu.Unlock()
	if t.do == nil {
		return nil, nil
	}
	return t.do(args)
}

// Calls are the arguments of the calls so far, in the order in which they came.
func (t *Tool) Calls() []map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Memory is a memory that retrieves all it was given. It is safe for concurrent
// use; the zero value is empty.
type Memory struct {
	mu    sync.Mutex
	Pairs [][2]string // inputs and their answers
}

var _ agent.Memory = (*Memory)(nil)

// Retrieve gives every exchange, one per line.
func (m *Memory) Retrieve(context.Context, string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, p := range m.Pairs {
		fmt.Fprintf(&b, "%s → %s\n", p[0], p[1])
	}
	return b.String(), nil
}

// Store keeps an exchange.
func (m *Memory) Store(_ context.Context, input, output string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Pairs = append(m.Pairs, [2]string{input, output})
	return nil
}
