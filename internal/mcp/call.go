package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Failure codes of MCP tools.
const (
	CodeExit        = "mcp.exit"        // the server ended during the call
	CodeUnavailable = "mcp.unavailable" // the server is not running
	CodeTool        = "mcp.tool"        // the tool reported a failure
	CodeServer      = "mcp.server"      // the server returned an error
	CodeTooLarge    = "too_large"
)

// abandonAfter is the time to wait for a response after the timeout of a call. After it, the server
// is ended.
const abandonAfter = time.Second

// remote is a tool of a server.
type remote struct {
	s    *server
	spec llm.ToolSpec
	tool string
}

func (r *remote) Spec() llm.ToolSpec { return r.spec }

// MaxDuration returns the timeout of a call.
func (r *remote) MaxDuration() time.Duration { return r.s.config.Timeout }

func (r *remote) Call(ctx context.Context, call llm.ToolCall) (any, error) {
	s := r.s
	s.mu.Lock()
	session, p := s.session, s.process
	state, reason := s.state(r.tool)
	s.mu.Unlock()
	switch state {
	case StateUnavailable:
		return nil, (&walk.Failure{
			Code:       CodeUnavailable,
			NoEffect:   true,
			Suggestion: "kairosd restarts it automatically; see its state with kairos tools",
		}).WithMessage("MCP server %s is not running: %s", s.name, reason)
	case StateGone:
		return nil, (&walk.Failure{
			Code:      walk.CodeUnknownTool,
			NoEffect:  true,
			Permanent: true,
		}).WithMessage("%s: %s", r.spec.Name, reason)
	case StateChanged:
		return nil, (&walk.Failure{
			Code:       walk.CodePolicy,
			NoEffect:   true,
			Permanent:  true,
			Suggestion: fmt.Sprintf("review its new definition, then run kairos tools accept %s", r.spec.Name),
		}).WithMessage("call of %s refused: %s", r.spec.Name, reason)
	}
	timed, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	type answer struct {
		result *sdk.CallToolResult
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		params := &sdk.CallToolParams{Name: r.tool, Arguments: call.Args}
		if call.IdempotencyKey != "" {
			params.Meta = sdk.Meta{"kairosd/idempotencyKey": call.IdempotencyKey}
		}
		result, err := session.CallTool(timed, params)
		done <- answer{result, err}
	}()
	var a answer
	select {
	case a = <-done:
	case <-timed.Done():
		select {
		case a = <-done:
		case <-time.After(abandonAfter):
			if p != nil {
				p.kill() // the server does not even read requests
			}
			a.err = timed.Err()
		}
	}
	switch {
	case a.err == nil:
		return r.result(a.result)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil:
		s.refreshTools() // if the server does not list its tools either, it hangs
		return nil, (&walk.Failure{
			Code: walk.CodeTimeout,
		}).WithMessage("%s did not respond within %s", r.spec.Name, s.config.Timeout)
	}
	return nil, r.failure(a.err, session, p)
}

// failure returns the failure of a call without a result.
func (r *remote) failure(err error, session *sdk.ClientSession, p *process) error {
	if reported, ok := errors.AsType[*jsonrpc.Error](err); ok {
		f := (&walk.Failure{Code: CodeServer}).WithMessage("%s: %s", r.spec.Name, clip(reported.Message, 2000))
		switch reported.Code {
		case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError:
			f.Permanent, f.NoEffect = true, true // the server did not understand the request
		}
		return f
	}
	f := (&walk.Failure{Code: CodeExit}).WithMessage("MCP server %s ended during the call: %s", r.s.name, clip(err.Error(), 500))
	if p != nil {
		f.Detail = p.stderr.tail(2048)
	}
	r.s.markLost(session)
	return f.WithCause(err)
}

// markLost marks the server as lost, so that later calls wait for its restart instead of failing too.
func (s *server) markLost(session *sdk.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session, s.why, s.phase, s.since = nil, message.New("it ended during a call"), StateUnavailable, time.Now()
	}
}

// result converts a response to a value: structured content unchanged, a single text as text, and
// otherwise the list of parts.
func (r *remote) result(res *sdk.CallToolResult) (any, error) {
	if res.NeedsInput() {
		return nil, (&walk.Failure{
			Code:      walk.CodePolicy,
			Permanent: true,
		}).WithMessage("%s requested more input, which kairosd does not provide", r.spec.Name)
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return nil, (&walk.Failure{
			Code:      CodeServer,
			Permanent: true,
		}).WithMessage("cannot read the response of %s: %s", r.spec.Name, err)
	}
	if len(raw) > r.s.config.MaxBytes {
		return nil, (&walk.Failure{
			Code:      CodeTooLarge,
			Permanent: true,
		}).WithMessage("the response of %s has %d bytes; the limit is %d", r.spec.Name, len(raw), r.s.config.MaxBytes)
	}
	v, err := jsonvalue.Decode(raw)
	if err != nil {
		return nil, (&walk.Failure{
			Code:      CodeServer,
			Permanent: true,
		}).WithMessage("cannot read the response of %s: %s", r.spec.Name, err)
	}
	answer, _ := v.(map[string]any)
	parts, _ := answer["content"].([]any)
	if res.IsError {
		// The tool reported that it did not do what was requested.
		return nil, (&walk.Failure{Code: CodeTool, NoEffect: true}).WithMessage("%s: %s", r.spec.Name, clip(words(parts), 4000))
	}
	if structured, ok := answer["structuredContent"]; ok && structured != nil {
		return structured, nil
	}
	if len(parts) == 1 {
		if part, ok := parts[0].(map[string]any); ok && part["type"] == "text" {
			return part["text"], nil
		}
	}
	return parts, nil
}

// words concatenates the texts of a response.
func words(parts []any) string {
	var list []string
	for _, p := range parts {
		if part, ok := p.(map[string]any); ok && part["type"] == "text" {
			list = append(list, jsonvalue.Text(part["text"]))
		}
	}
	if len(list) == 0 {
		return "it failed without a message"
	}
	return strings.Join(list, "\n")
}
