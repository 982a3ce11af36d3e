// Package agenttest supports tests of agents and plans without a model. It has a provider with
// scripted replies that records its requests, a tool that records its calls, and a memory that is a
// list.
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

// T is the part of *testing.T that this package uses.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Reply is one scripted answer of a [Provider].
type Reply struct {
	// When, if set, must occur in the last message that is not the model's own; case is ignored. A
	// reply without When matches every request.
	When string
	Text string
	// JSON is an answer that is a value. It is used if Text is empty.
	JSON  any
	Calls []Call
	// Err is a failure that Complete returns.
	Err   error
	Usage llm.Usage
}

// Call is a tool call that a [Reply] requests.
type Call struct {
	Tool string
	Args any // encoding/json must encode it as an object; nil means {}
}

// Text returns a reply that matches every request and answers with a text.
func Text(text string) Reply { return Reply{Text: text} }

// Calling returns a reply that matches every request and requests one tool call.
func Calling(tool string, args any) Reply { return Reply{Calls: []Call{{tool, args}}} }

// Provider answers with its replies. Each reply is used once, and the first matching reply is used.
// Set When to distinguish conversations that run in parallel. A Provider is safe for concurrent
// use.
type Provider struct {
	mu       sync.Mutex
	replies  []Reply
	requests []llm.Request
	given    int
}

var _ llm.Provider = (*Provider)(nil)

// NewProvider returns a provider. At the end of the test, it reports an error for each unused
// reply.
func NewProvider(t T, replies ...Reply) *Provider {
	t.Helper()
	p := &Provider{replies: slices.Clone(replies)}
	t.Cleanup(func() {
		t.Helper()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range p.replies {
			t.Errorf("agenttest: the reply %s was not used", r.describe())
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

// Complete returns the first reply that matches. If no reply matches, it returns a permanent
// failure that shows the last message of the request.
func (p *Provider) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := context.Cause(ctx); err != nil {
		return llm.Response{}, err
	}
	r.Messages = slices.Clone(r.Messages) // the conversation appends to its messages
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

// Requests returns a copy of the requests so far, in order.
func (p *Provider) Requests() []llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Tool is a tool that records its calls. It is safe for concurrent use.
type Tool struct {
	spec llm.ToolSpec
	do   func(args map[string]any) (any, error)

	mu    sync.Mutex
	calls []map[string]any
}

var _ llm.Tool = (*Tool)(nil)

// NewTool returns a tool with effect read that accepts any arguments. If do is nil, the tool
// returns null.
func NewTool(name string, do func(args map[string]any) (any, error)) *Tool {
	return &Tool{
		spec: llm.ToolSpec{Name: name, Description: "A tool of a test.", Effect: walk.EffectRead, Schema: map[string]any{"type": "object"}},
		do:   do,
	}
}

// WithSpec replaces the description of the tool. The name stays if s has none.
func (t *Tool) WithSpec(s llm.ToolSpec) *Tool {
	if s.Name == "" {
		s.Name = t.spec.Name
	}
	t.spec = s
	return t
}

// Spec describes the tool.
func (t *Tool) Spec() llm.ToolSpec { return t.spec }

// Call records the arguments and calls the function of the tool.
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

// Calls returns the arguments of the calls so far, in order.
func (t *Tool) Calls() []map[string]any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Memory is a memory that retrieves everything it stored. It is safe for concurrent use, and its
// zero value is empty.
type Memory struct {
	mu    sync.Mutex
	Pairs [][2]string // inputs and their answers
}

var _ agent.Memory = (*Memory)(nil)

// Retrieve returns all stored exchanges, one per line.
func (m *Memory) Retrieve(context.Context, string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, p := range m.Pairs {
		fmt.Fprintf(&b, "%s → %s\n", p[0], p[1])
	}
	return b.String(), nil
}

// Store adds an exchange.
func (m *Memory) Store(_ context.Context, input, output string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Pairs = append(m.Pairs, [2]string{input, output})
	return nil
}
