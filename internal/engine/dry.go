package engine

import (
	"fmt"
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// A dry run walks a plan and changes nothing. Steps that compute or only read run
// as usual, so an HTTP GET is sent; offline, steps that read are left undone as
// well, and nothing is sent. A step that might change something, calls a model, or
// waits completes with an output of the form that it would have, and its row names
// the call. Reruns, forks, and children of a dry run are dry in the same way.

// stubs reports whether a dry run leaves the work of a node undone.
func (a *runner) stubs(r Registry, node *walk.ProgramNode, input any) bool {
	if !a.run.Dry() || runstate.Builtin(node.Type) {
		return false
	}
	e := effectIn(r, a.prog, node, input)
	return e != walk.EffectPure && (e != walk.EffectRead || a.run.Limits.Offline)
}

// stub completes work that a dry run does not do.
func (a *runner) stub(w *runstate.Step, node *walk.ProgramNode, input any) {
	raw, err := jsonvalue.EncodeWithin(input, jsonvalue.MaxBytes)
	if err != nil {
		a.refuse(w, inputFailure(node.ID, err))
		return
	}
	out := stubOf(node, input, a.s.Walk.Last(w.VisitKey))
	a.final(w, domain.NodeCompleted, out, nil, func(e *domain.Entry) {
		atOnce(w, a.e.now())(e)
		e.Input = raw
		e.Log = logOf(fmt.Sprintf("dry run: %s was not called; the output is made up", stubbed(node)))
	})
	a.flush()
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

// stubOf is an output that what follows can work with: of the form that the node
// asks for, or the form that such nodes give.
func stubOf(node *walk.ProgramNode, input, last any) any {
	if node.OutputSchema != nil {
		return sample(node.OutputSchema, 0)
	}
	text := fmt.Sprintf("(dry run: %s was not called)", stubbed(node))
	switch node.Type {
	case walk.TypeWait:
		return last
	case walk.TypeApproval:
		values, answer := any(map[string]any{}), "approve"
		if in, err := runstate.ReadApproval(input); err == nil {
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
	case walk.TypeRouter, walk.TypeTools, walk.TypeGenerator: // they hand on the state of their graph
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
	v, err := jsonvalue.Decode(doc.Canonical())
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the plan is not an object")
	}
	m["id"] = key
	return jsonvalue.Encode(m)
}

// dryLabel marks runs of what was not saved.
var dryLabel = map[string]string{"draft": "yes"}
