// Package anthropic calls servers of Anthropic's messages protocol. It is the only package that
// imports the SDK, which compiles slowly.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/model"
)

// defaultMaxTokens limits an answer without a limit, because the protocol requires one.
const defaultMaxTokens = 4096

// Config configures the server.
type Config struct {
	Name    string // in the configuration; used in errors
	BaseURL string // empty: Anthropic's server
	Key     string
	Model   string // used if a request names none
}

// Provider calls a server of the messages protocol.
type Provider struct {
	c      Config
	client sdk.Client
}

// New returns a provider. It does not call the server, and reads no environment variables.
func New(c Config) *Provider {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(model.Client()),
		option.WithMaxRetries(0),
		option.WithAPIKey(c.Key),
		option.WithBaseURL(
			cmp.Or(strings.TrimRight(strings.TrimSuffix(strings.TrimRight(c.BaseURL, "/"), "/v1"), "/"), "https://api.anthropic.com") + "/",
		),
	}
	return &Provider{c, sdk.NewClient(options...)}
}

// Complete implements [llm.Provider]. The answer is streamed. A stream without its end mark is a
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
	params, err := p.params(r, names)
	if err != nil {
		return llm.Response{}, err
	}
	stream := p.client.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	var m sdk.Message
	finished := false
	for stream.Next() {
		event := stream.Current()
		if err := m.Accumulate(event); err != nil {
			return llm.Response{}, fmt.Errorf("read the answer: %w", err)
		}
		switch event.Type {
		case "message_stop":
			finished = true
		case "content_block_delta":
			if r.Stream != nil && event.Delta.Text != "" {
				r.Stream(event.Delta.Text)
			}
		}
	}
	if err := stream.Err(); err != nil {
		if e, ok := errors.AsType[*sdk.Error](err); ok {
			// An error within a stream has the HTTP status of the stream.
			return llm.Response{}, &model.StatusError{Status: max(e.StatusCode, 500), Body: e.RawJSON()}
		}
		return llm.Response{}, err
	}
	if !finished || m.StopReason == "" {
		return llm.Response{}, model.Truncated(p.c.Name)
	}
	if err := model.Stopped(p.c.Name, string(m.StopReason)); err != nil {
		return llm.Response{}, err
	}
	out := llm.Response{Model: string(m.Model), Finish: string(m.StopReason)}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			out.Text += b.Text
		case "tool_use":
			out.Calls = append(out.Calls, llm.Call{ID: b.ID, Tool: names.From(b.Name), Arguments: cmp.Or(string(b.Input), "{}")})
		}
	}
	out.Text = strings.ToValidUTF8(out.Text, "\uFFFD")
	u := m.Usage
	out.Usage = model.Count(r, out, u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens)
	return out, nil
}

func (p *Provider) params(r llm.Request, names model.Names) (sdk.MessageNewParams, error) {
	params := sdk.MessageNewParams{Model: sdk.Model(cmp.Or(r.Model, p.c.Model)), MaxTokens: int64(cmp.Or(r.MaxTokens, defaultMaxTokens))}
	if r.Temperature != nil {
		params.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.Schema != nil {
		params.OutputConfig = sdk.OutputConfigParam{Format: sdk.JSONOutputFormatParam{Schema: r.Schema}}
	}
	var results []sdk.ContentBlockParamUnion // the results of all calls are one message
	flush := func() {
		if len(results) > 0 {
			params.Messages = append(params.Messages, sdk.NewUserMessage(results...))
			results = nil
		}
	}
	for _, m := range r.Messages {
		if m.Role == llm.RoleTool {
			results = append(results, sdk.NewToolResultBlock(m.CallID, m.Text, strings.HasPrefix(m.Text, "Error: ")))
			continue
		}
		flush()
		switch m.Role {
		case llm.RoleSystem:
			params.System = append(params.System, sdk.TextBlockParam{Text: m.Text})
		case llm.RoleAssistant:
			var blocks []sdk.ContentBlockParamUnion
			if m.Text != "" {
				blocks = append(blocks, sdk.NewTextBlock(m.Text))
			}
			for _, c := range m.Calls {
				if !json.Valid([]byte(c.Arguments)) {
					c.Arguments = "{}" // the model's own mistake; the protocol accepts only JSON
				}
				blocks = append(blocks, sdk.NewToolUseBlock(c.ID, json.RawMessage(c.Arguments), names.To(c.Tool)))
			}
			params.Messages = append(params.Messages, sdk.NewAssistantMessage(blocks...))
		default:
			params.Messages = append(params.Messages, sdk.NewUserMessage(sdk.NewTextBlock(cmp.Or(m.Text, " "))))
		}
	}
	flush()
	for _, t := range r.Tools {
		schema := sdk.ToolInputSchemaParam{Properties: t.Schema["properties"], ExtraFields: map[string]any{}}
		for k, v := range t.Schema {
			if k != "type" && k != "properties" {
				schema.ExtraFields[k] = v
			}
		}
		params.Tools = append(
			params.Tools,
			sdk.ToolUnionParam{
				OfTool: &sdk.ToolParam{Name: names.To(t.Name), Description: param.NewOpt(t.Description), InputSchema: schema},
			},
		)
	}
	return params, nil
}
