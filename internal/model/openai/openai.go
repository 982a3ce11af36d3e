// Package openai calls OpenAI and servers with its chat protocol (Ollama, vLLM, llama.cpp, and
// others).
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/sashabaranov/go-openai"
)

// Config configures the server.
type Config struct {
	Name    string // in the configuration; used in errors
	BaseURL string // empty: OpenAI's server
	Key     string // empty: no key is sent
	Model   string // used if a request names none
}

// Provider calls a server of the chat protocol.
type Provider struct {
	c      Config
	client *openai.Client
	own    bool // OpenAI's own server, which has renamed a field
}

// New returns a provider. It does not call the server.
func New(c Config) *Provider {
	cfg := openai.DefaultConfig(c.Key)
	if c.BaseURL != "" {
		cfg.BaseURL = strings.TrimRight(c.BaseURL, "/")
	}
	cfg.HTTPClient = model.Client()
	return &Provider{c, openai.NewClientWithConfig(cfg), c.BaseURL == "" || strings.Contains(c.BaseURL, "api.openai.com")}
}

// Complete implements [llm.Provider]. The answer is streamed. A stream without a finish reason is a
// failure.
func (p *Provider) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	out, err := p.complete(ctx, r)
	if err != nil {
		return llm.Response{}, model.Failure(ctx, p.c.Name, err)
	}
	return out, nil
}

func (p *Provider) complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	names := model.NewNames(r.Tools)
	req, err := p.request(r, names)
	if err != nil {
		return llm.Response{}, err
	}
	stream, err := p.client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return llm.Response{}, plain(err)
	}
	defer stream.Close()
	a := answer{names: names, stream: r.Stream}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return llm.Response{}, plain(err)
		}
		a.add(chunk)
	}
	if a.finish == "" {
		return llm.Response{}, model.Truncated(p.c.Name)
	}
	if err := model.Stopped(p.c.Name, a.finish); err != nil {
		return llm.Response{}, err
	}
	return a.response(r), nil
}

// plain converts an error in a stream to the form of an error status.
func plain(err error) error {
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return &model.StatusError{Status: cmp.Or(e.HTTPStatusCode, 500), Body: e.Message}
	}
	return err
}

func (p *Provider) request(r llm.Request, names model.Names) (openai.ChatCompletionRequest, error) {
	req := openai.ChatCompletionRequest{
		Model:         cmp.Or(r.Model, p.c.Model),
		Stream:        true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	if p.own {
		req.MaxCompletionTokens = r.MaxTokens
	} else {
		//lint:ignore SA1019 servers other than OpenAI's know only the older name
		req.MaxTokens = r.MaxTokens
	}
	if t := r.Temperature; t != nil {
		if req.Temperature = float32(*t); *t == 0 {
			req.Temperature = math.SmallestNonzeroFloat32 // the client would omit zero
		}
	}
	for _, m := range r.Messages {
		c := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.CallID}
		for _, call := range m.Calls {
			c.ToolCalls = append(c.ToolCalls, openai.ToolCall{ID: call.ID, Type: openai.ToolTypeFunction,
				Function: openai.FunctionCall{Name: names.To(call.Tool), Arguments: call.Arguments}})
		}
		req.Messages = append(req.Messages, c)
	}
	for _, t := range r.Tools {
		parameters := any(t.Schema)
		if t.Schema == nil {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		req.Tools = append(req.Tools, openai.Tool{Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: names.To(t.Name), Description: t.Description, Parameters: parameters}})
	}
	if r.Schema != nil {
		b, err := jsonvalue.Encode(r.Schema)
		if err != nil {
			return req, fmt.Errorf("schema of the answer: %w", err)
		}
		req.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "answer", Schema: json.RawMessage(b)}}
	}
	return req, nil
}

// answer is assembled from the parts of a stream.
type answer struct {
	names  model.Names
	stream func(string)
	text   strings.Builder
	calls  []openai.ToolCall
	finish string
	model  string
	usage  *openai.Usage
}

func (a *answer) add(chunk openai.ChatCompletionStreamResponse) {
	a.model = cmp.Or(chunk.Model, a.model)
	if chunk.Usage != nil {
		a.usage = chunk.Usage
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := chunk.Choices[0]
	a.finish = cmp.Or(string(choice.FinishReason), a.finish)
	if t := choice.Delta.Content; t != "" {
		a.text.WriteString(t)
		if a.stream != nil {
			a.stream(t)
		}
	}
	for _, d := range choice.Delta.ToolCalls {
		// Some servers number the parts of a call, and others send each call as a whole.
		i := len(a.calls)
		if d.Index != nil {
			i = min(max(*d.Index, 0), len(a.calls))
		} else if d.ID == "" && i > 0 {
			i--
		}
		if i == len(a.calls) {
			a.calls = append(a.calls, openai.ToolCall{})
		}
		c := &a.calls[i]
		c.ID = cmp.Or(d.ID, c.ID)
		c.Function.Name += d.Function.Name
		c.Function.Arguments += d.Function.Arguments
	}
}

func (a *answer) response(r llm.Request) llm.Response {
	out := llm.Response{Text: strings.ToValidUTF8(a.text.String(), "\uFFFD"), Model: a.model, Finish: a.finish}
	for i, c := range a.calls {
		out.Calls = append(
			out.Calls,
			llm.Call{
				ID:        cmp.Or(c.ID, fmt.Sprintf("call_%d", i)),
				Tool:      a.names.From(c.Function.Name),
				Arguments: cmp.Or(c.Function.Arguments, "{}"),
			},
		)
	}
	in, spoken := 0, 0
	if u := a.usage; u != nil {
		in, spoken = u.PromptTokens, u.CompletionTokens
	}
	out.Usage = model.Count(r, out, int64(in), int64(spoken))
	return out
}
