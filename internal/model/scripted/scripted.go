// Package scripted is a provider with answers from a file, for tests, demonstrations, and plans
// that must run without a model.
package scripted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/model/offline"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"go.yaml.in/yaml/v4"
)

// Script is a file of answers. Each request gets the first matching answer, so that parallel nodes,
// retries, and restarts change nothing.
type Script struct {
	Answers []Answer `yaml:"answers"`
	// Otherwise is "offline" if requests without a matching answer are answered as by the offline
	// provider. If it is empty, they fail with CodeNoAnswer.
	Otherwise string `yaml:"otherwise"`
}

// Answer is an answer with conditions. It matches if all given conditions hold.
type Answer struct {
	// Contains must be part of the last user message, and System part of the system message. Case
	// is ignored.
	Contains string `yaml:"contains"`
	System   string `yaml:"system"`
	// Turn is the number of earlier answers in the conversation.
	Turn *int `yaml:"turn"`

	// Text may contain ${user}, the last user message, and ${last}, the last message of any role,
	// such as the result of a tool.
	Text  string `yaml:"text"`
	JSON  any    `yaml:"json"` // instead of Text
	Calls []Call `yaml:"calls"`
	Error *Error `yaml:"error"`

	InputTokens  int64 `yaml:"input_tokens"`
	OutputTokens int64 `yaml:"output_tokens"`
}

// Call is a tool call of an answer.
type Call struct {
	Tool      string         `yaml:"tool"`
	Arguments map[string]any `yaml:"arguments"`
}

// Error is a failure in place of an answer.
type Error struct {
	Code       string        `yaml:"code"`
	Message    string        `yaml:"message"`
	Permanent  bool          `yaml:"permanent"`
	RetryAfter time.Duration `yaml:"retry_after"`
}

// CodeNoAnswer is the failure code of a request without a matching answer.
const CodeNoAnswer = "scripted_no_answer"

// Provider answers from a script.
type Provider struct{ script Script }

// New returns a provider with a script.
func New(s Script) *Provider { return &Provider{s} }

// Load reads a script from a file. Unknown keys are errors.
func Load(path string) (*Provider, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open script: %w", err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	var s Script
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("script %s: %w", path, err)
	}
	if len(s.Answers) == 0 {
		return nil, fmt.Errorf("script %s has no answers", path)
	}
	if s.Otherwise != "" && s.Otherwise != "offline" {
		return nil, fmt.Errorf("script %s: otherwise is %q; it can only be offline", path, s.Otherwise)
	}
	return New(s), nil
}

// Complete implements [llm.Provider].
func (p *Provider) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if err := context.Cause(ctx); err != nil {
		return llm.Response{}, err
	}
	var system, user, last string
	turn, words := 0, 0
	for _, m := range r.Messages {
		words += len(strings.Fields(m.Text))
		last = m.Text
		switch m.Role {
		case llm.RoleSystem:
			system += m.Text + "\n"
		case llm.RoleUser:
			user = m.Text
		case llm.RoleAssistant:
			turn++
		}
	}
	for i, a := range p.script.Answers {
		if !holds(user, a.Contains) || !holds(system, a.System) || a.Turn != nil && *a.Turn != turn {
			continue
		}
		return a.response(i, turn, words, strings.NewReplacer("${user}", user, "${last}", last), r.Stream)
	}
	if p.script.Otherwise != "" {
		return offline.Provider{}.Complete(ctx, r)
	}
	return llm.Response{}, (&walk.Failure{Code: CodeNoAnswer, Permanent: true, NoEffect: true,
		Suggestion: "add one under answers"}).
		WithMessage("the script has no answer %d for %q", turn+1, user)
}

func holds(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

func (a Answer) response(index, turn, words int, fill *strings.Replacer, stream func(string)) (llm.Response, error) {
	if e := a.Error; e != nil {
		f := (&walk.Failure{
			Code:       cmp.Or(e.Code, walk.CodeFailed),
			Permanent:  e.Permanent,
			NoEffect:   true,
			RetryAfter: e.RetryAfter,
		}).WithMessage("the script ends the call with an error")
		if e.Message != "" {
			f.WithMessage("%s", e.Message)
		}
		return llm.Response{}, f
	}
	out := llm.Response{Text: fill.Replace(a.Text), Model: "scripted", Finish: "stop"}
	if a.JSON != nil {
		v, err := jsonvalue.Normalize(a.JSON)
		if err != nil {
			return out, fmt.Errorf("answer %d of the script: %w", index+1, err)
		}
		b, err := jsonvalue.Encode(v)
		if err != nil {
			return out, fmt.Errorf("answer %d of the script: %w", index+1, err)
		}
		out.Text = string(b)
	}
	if len(a.Calls) > 0 {
		out.Finish = "tool_calls"
	}
	for n, c := range a.Calls {
		args, err := jsonvalue.Normalize(c.Arguments)
		if err != nil {
			return out, errors.Join(fmt.Errorf("answer %d of the script", index+1), err)
		}
		if c.Arguments == nil {
			args = map[string]any{}
		}
		b, err := jsonvalue.Encode(args)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, llm.Call{ID: fmt.Sprintf("call_%d_%d", turn, n), Tool: c.Tool, Arguments: string(b)})
	}
	if stream != nil && out.Text != "" {
		stream(out.Text)
	}
	out.Usage = llm.Usage{
		InputTokens:  cmp.Or(a.InputTokens, int64(words)),
		OutputTokens: cmp.Or(a.OutputTokens, int64(len(strings.Fields(out.Text)))),
	}
	return out, nil
}
