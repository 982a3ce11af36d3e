package runstate

import (
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// completeDry completes work that a dry run skips.
func completeDry(m *Machine, w *Step, node *walk.ProgramNode, input any) {
	raw, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes)
	if err != nil {
		m.refuse(w, InputFailure(node.ID, err))
		return
	}
	out := stubOf(node, input, m.State.Walk.Last(w.VisitKey))
	m.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) {
		m.fillWhole(w)(e)
		e.Input = raw
		e.Log = logLine(m, fmt.Sprintf("dry run: %s was not called, and the output is a placeholder", stubbed(node)))
	})
	m.complete()
}

func stubbed(node *walk.ProgramNode) string {
	switch {
	case node.Tool != "":
		return node.Tool
	case node.Agent != "":
		return node.Agent
	}
	return node.TypeName
}

// stubOf returns an output that later steps can use: it matches the schema of the node, or the
// usual output of such nodes.
func stubOf(node *walk.ProgramNode, input, last any) any {
	if node.Output.Schema != nil {
		return sample(node.Output.Schema, 0)
	}
	text := fmt.Sprintf("(dry run: %s was not called)", stubbed(node))
	switch node.Type {
	case walk.TypeWait:
		if in, ok := input.(map[string]any); ok && waitsForSignal(input) {
			return map[string]any{"event": in["event"], "key": in["key"], "data": map[string]any{}, "timedOut": false}
		}
		return last
	case walk.TypeApproval:
		values, answer := any(map[string]any{}), "approve"
		if in, err := ReadApproval(input); err == nil {
			if in.Form != nil {
				values = sample(in.Form, 0)
			}
			if i := slices.IndexFunc(in.Answers, func(a domain.Answer) bool { return !a.Rejects() }); i >= 0 {
				answer = in.Answers[i].ID
			}
		}
		return map[string]any{"answer": answer, "approved": true, "by": "dry run", "comment": "", "values": values}
	case walk.TypeAgent, walk.TypeLLM:
		return text
	case walk.TypeRouter, walk.TypeTools, walk.TypeGenerator: // they pass on the state of their graph
		state := map[string]any{}
		if from, ok := last.(map[string]any); ok {
			for k, v := range from {
				state[k] = v
			}
		}
		if state["response"] == nil {
			state["response"] = text
		}
		return state
	}
	if node.Tool == "http" {
		return map[string]any{"status": 200, "headers": map[string]any{}, "body": nil, "dryRun": true}
	}
	return map[string]any{"dryRun": true, "tool": stubbed(node), "arguments": input}
}

// sampleDepth limits the sample of a recursive schema.
const sampleDepth = 8

// sample returns a value that matches a JSON Schema: its default, its first choice, or the empty
// value of its type.
func sample(schema any, depth int) any {
	m, ok := schema.(map[string]any)
	if !ok || depth > sampleDepth {
		return nil
	}
	if v, ok := m["default"]; ok {
		return v
	}
	if v, ok := m["const"]; ok {
		return v
	}
	if list, ok := m["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	typ, _ := m["type"].(string)
	if list, ok := m["type"].([]any); ok && len(list) > 0 {
		typ, _ = list[0].(string)
	}
	props, _ := m["properties"].(map[string]any)
	switch {
	case typ == "object" || typ == "" && props != nil:
		out := map[string]any{}
		for k, p := range props {
			out[k] = sample(p, depth+1)
		}
		return out
	case typ == "array":
		return []any{}
	case typ == "string":
		return ""
	case typ == "integer", typ == "number":
		if v, ok := m["minimum"]; ok {
			return v
		}
		return 0
	case typ == "boolean":
		return false
	}
	return nil
}
