package conversation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// Invoke checks the arguments against the tool's schema and calls it. A panic of the tool is a
// failure of the call.
func Invoke(ctx context.Context, t llm.Tool, spec llm.ToolSpec, call llm.ToolCall) (out any, err error) {
	if spec.Schema != nil {
		s, err := jsonschema.Parse(spec.Schema)
		if err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", spec.Name, err)
		}
		if problems := s.ValidateContext(ctx, call.Args); len(problems) > 0 {
			return nil, (&walk.Failure{
				Code:      walk.CodeInvalidInput,
				Permanent: true,
				NoEffect:  true,
			}).WithMessage("arguments of %s: %s", spec.Name, problems[0])
		}
	}
	defer func() {
		if p := recover(); p != nil {
			err = (&walk.Failure{Code: walk.CodePanic, Permanent: true}).WithMessage("tool %s panicked: %v", spec.Name, p)
		}
	}()
	result, err := t.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Normalize(result)
}

// Opening returns the first messages of a conversation: the role, the memory, the request that the
// input belongs to, and the input.
func Opening(system, memory, request, input string) []llm.Message {
	var out []llm.Message
	if system != "" {
		out = append(out, llm.Message{Role: llm.RoleSystem, Text: system})
	}
	if memory != "" {
		out = append(out, llm.Message{Role: llm.RoleSystem, Text: memory})
	}
	if request != "" {
		out = append(out, llm.Message{Role: llm.RoleUser, Text: request})
	}
	return append(out, llm.Message{Role: llm.RoleUser, Text: input})
}

// digestOf returns the digest that identifies the request of a recorded step.
func digestOf(parts ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%+v", parts)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// JSONAnswer parses an answer that consists of one JSON object or array, with or without a code
// fence.
func JSONAnswer(text string) (any, bool) {
	t := unfenced(text)
	if !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") {
		return nil, false
	}
	v, err := jsonvalue.Decode([]byte(t))
	return v, err == nil
}

// unfenced removes one code fence.
func unfenced(text string) string {
	t := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(t, "```"); ok {
		if inner, ok = strings.CutSuffix(inner, "```"); ok && !strings.Contains(inner, "```") {
			if _, body, ok := strings.Cut(inner, "\n"); ok {
				t = strings.TrimSpace(body)
			}
		}
	}
	return t
}
