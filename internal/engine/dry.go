package engine

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// A dry run walks a plan and touches nothing (UI 3.3.5, 3.3.8). What computes or
// only reads runs as ever. Whatever might change something, asks a model or waits
// is not done: it completes with an output of the form that it would have, and
// its row says what would have been called. Reruns, forks and children of a dry
// run are dry.

// stubs reports whether a dry run leaves the work of a node undone.
func (a *actor) stubs(r Registry, node *planner.ProgramNode, input any) bool {
	if !a.run.Dry() || builtin(node.Type) {
		return false
	}
	e := effectIn(r, a.prog, node, input)
	return e != planner.EffectPure && e != planner.EffectRead
}

// stub completes work that a dry run does not do.
func (a *actor) stub(w *work, node *planner.ProgramNode, input any) {
	raw, err := planner.EncodeValue(input)
	if err != nil {
		a.refuse(w, &planner.Failure{Code: planner.CodeInvalidInput, Node: node.ID, Message: err.Error()})
		return
	}
	out := stubOf(node, input, a.s.walk.Last(w.VisitKey))
	a.final(w, kairos.NodeCompleted, out, nil, func(e *kairos.Entry) {
		e.Attempt, e.Input = w.attempt+1, raw
		e.Log = logOf(fmt.Sprintf("dry run: %s was not called; the output is made up", stubbed(node)))
	})
	a.flush()
}

func stubbed(node *planner.ProgramNode) string {
	switch {
	case node.Tool != "":
		return node.Tool
	case node.Agent != "":
		return node.Agent
	}
	return node.TypeName
}

// stubOf is an output that what follows can work with: of the form that the node
// asks for, or the form that such nodes give.
func stubOf(node *planner.ProgramNode, input, last any) any {
	if node.OutputSchema != nil {
		return sample(node.OutputSchema, 0)
	}
	text := fmt.Sprintf("(dry run: %s was not called)", stubbed(node))
	switch node.Type {
	case planner.TypeWait:
		return last
	case planner.TypeApproval:
		values := any(map[string]any{})
		if in, err := readApproval(input); err == nil && in.form != nil {
			values = sample(in.form, 0)
		}
		return map[string]any{"approved": true, "by": "dry run", "comment": "", "values": values}
	case planner.TypeAgent, planner.TypeLLM:
		return text
	case planner.TypeRouter, planner.TypeTools, planner.TypeGenerator: // they hand on the state of their graph (ruling 36)
		state := map[string]any{}
		if m, ok := last.(map[string]any); ok {
			for k, v := range m {
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

// sampleDepth bounds a sample of a schema that contains itself.
const sampleDepth = 8

// sample is a value of the form that a JSON Schema describes: its default, its
// first choice, or the empty value of its type.
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

// draftPrefix begins the keys of plans that hold what was tried and not saved.
const draftPrefix = "draft-"

// draftKey is the key under which a document is tried that would be saved under
// another.
func draftKey(id string) string {
	const longest = 128
	return draftPrefix + id[:min(len(id), longest-len(draftPrefix))]
}

// withKey is a document under another id, as JSON.
func withKey(doc *planner.Document, key string) ([]byte, error) {
	v, err := planner.DecodeValue(doc.Canonical())
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the plan is not an object")
	}
	m["id"] = key
	return planner.EncodeValue(m)
}

// dryLabel marks runs of what was not saved.
var dryLabel = map[string]string{"draft": "yes"}
