package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// member is one key and value of an object that is written in a given order.
type member struct {
	key   string
	value any
}

// ordered is an object whose keys keep their order; members with nil values are
// left out.
type ordered []member

// MarshalYAML writes a graph as YAML, keys in the order of the documentation
// and nodes in file order.
func MarshalYAML(g *Graph) ([]byte, error) {
	tree, err := graphObject(g)
	if err != nil {
		return nil, err
	}
	node, err := yamlNode(tree)
	if err != nil {
		return nil, err
	}
	return yaml.Dump(node)
}

// MarshalJSON writes a graph as JSON, indented if pretty.
func MarshalJSON(g *Graph, pretty bool) ([]byte, error) {
	tree, err := graphObject(g)
	if err != nil {
		return nil, err
	}
	b, err := appendOrdered(nil, tree)
	if err != nil || !pretty {
		return b, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// MarshalStepsJSON writes a step plan as JSON in the form of [001].
func MarshalStepsJSON(s *StepPlan, pretty bool) ([]byte, error) {
	steps := make([]any, len(s.Steps))
	for i, st := range s.Steps {
		o := ordered{{"id", text(st.ID)}, {"order", number(int64(st.Order))}, {"skillId", text(st.SkillID)}, {"agentId", text(st.AgentID)},
			{"tool", text(st.Tool)}, {"task", text(st.Task)}, {"params", mapOrNil(st.Params)}, {"dependencies", list(st.Dependencies)},
			{"expectedOutput", text(st.ExpectedOutput)}, {"timeout", duration(st.Timeout)}, {"on_error", text(st.OnError)}}
		if c := st.Condition; c != nil {
			o = append(o, member{"condition", ordered{{"type", text(c.Type)}, {"expr", text(c.Expr)}}})
		}
		if r := st.Retry; r != nil {
			waits := make([]any, len(r.BackoffMs))
			for i, ms := range r.BackoffMs {
				waits[i] = ms
			}
			o = append(o, member{"retry", ordered{{"maxAttempts", number(int64(r.MaxAttempts))}, {"backoffMs", waits}}})
		}
		steps[i] = o
	}
	meta := ordered{{"createdBy", text(s.Plan.CreatedBy)}, {"createdAt", text(s.Plan.CreatedAt)}}
	if s.Plan.Confidence != 0 {
		meta = append(meta, member{"confidence", s.Plan.Confidence})
	}
	if len(s.Plan.Alternatives) > 0 {
		meta = append(meta, member{"alternatives", s.Plan.Alternatives})
	}
	for _, k := range slices.Sorted(maps.Keys(s.Plan.Extra)) {
		meta = append(meta, member{k, s.Plan.Extra[k]})
	}
	o := ordered{{"id", text(s.ID)}, {"name", text(s.Name)}, {"description", text(s.Description)}, {"input", s.InputSchema},
		{"defaults", defaultsObject(s.Defaults)}, {"limits", limitsObject(s.Limits)}, {"on_failure", text(s.OnFailure)}, {"strict", flag(s.Strict)},
		{"steps", steps}, {"estimatedDuration", number(s.EstimatedDurationMs)}}
	if s.EstimatedCost != 0 {
		o = append(o, member{"estimatedCost", s.EstimatedCost})
	}
	if len(meta) > 0 {
		o = append(o, member{"metadata", meta})
	}
	b, err := appendOrdered(nil, o)
	if err != nil || !pretty {
		return b, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func graphObject(g *Graph) (ordered, error) {
	if g == nil {
		return nil, errors.New("no graph")
	}
	nodes := ordered{}
	for _, key := range g.nodeOrder() {
		n := g.Nodes[key]
		o := ordered{}
		if n.ID != "" && n.ID != key {
			o = append(o, member{"id", n.ID})
		}
		input, err := Normalize(n.Input)
		if err != nil {
			return nil, fmt.Errorf("input of node %s: %w", key, err)
		}
		meta := ordered{}
		for _, k := range slices.Sorted(maps.Keys(n.Metadata)) {
			meta = append(meta, member{k, n.Metadata[k]})
		}
		o = append(o, ordered{{"type", text(n.Type)}, {"tool", text(n.Tool)}, {"agent", text(n.Agent)}, {"plan", text(n.Plan)}, {"input", input},
			{"metadata", orNil(meta)}, {"retry", retryObject(n.Retry)}, {"timeout", duration(n.Timeout)}, {"on_error", text(n.OnError)},
			{"effect", text(string(n.Effect))}, {"needs", list(n.Needs)}, {"when", text(n.When)}, {"foreach", text(n.Foreach)},
			{"max_parallel", number(int64(n.MaxParallel))}, {"max_visits", number(int64(n.MaxVisits))}, {"output_schema", n.OutputSchema}}...)
		nodes = append(nodes, member{key, o})
	}
	edges := make([]any, len(g.Edges))
	for i, e := range g.Edges {
		edges[i] = ordered{{"from", e.From}, {"to", e.To}, {"condition", text(e.Condition)}}
	}
	var metadata any
	if len(g.Metadata) > 0 {
		metadata = g.Metadata
	}
	id := g.ID
	if strings.HasPrefix(id, "anon-") {
		id = "" // the id follows from the content
	}
	o := ordered{{"id", text(id)}, {"name", text(g.Name)}, {"description", text(g.Description)}, {"start", text(g.Start)}, {"input", g.InputSchema},
		{"defaults", defaultsObject(g.Defaults)}, {"limits", limitsObject(g.Limits)}, {"on_failure", text(g.OnFailure)}, {"strict", flag(g.Strict)},
		{"metadata", metadata}, {"nodes", nodes}}
	if len(edges) > 0 {
		o = append(o, member{"edges", edges})
	}
	return o, nil
}

// nodeOrder is the file order, then what the file does not know, by name.
func (g *Graph) nodeOrder() []string {
	seen := make(map[string]bool, len(g.Nodes))
	var out []string
	for _, key := range g.order {
		if _, ok := g.Nodes[key]; ok && !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.Nodes)) {
		if !seen[key] {
			out = append(out, key)
		}
	}
	return out
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func flag(b bool) any {
	if !b {
		return nil
	}
	return true
}

func duration(d Duration) any {
	if d == 0 {
		return nil
	}
	return d.String()
}

func list(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

func mapOrNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func orNil(o ordered) any {
	if slices.ContainsFunc(o, func(m member) bool { return m.value != nil }) {
		return o
	}
	return nil
}

func retryObject(r *Retry) any {
	if r == nil {
		return nil
	}
	var backoff any
	switch b := r.Backoff; {
	case len(b.List) > 0:
		waits := make([]any, len(b.List))
		for i, d := range b.List {
			waits[i] = d.String()
		}
		backoff = waits
	case b.Initial > 0:
		o := ordered{{"initial", b.Initial.String()}}
		if b.Factor != 0 {
			o = append(o, member{"factor", b.Factor})
		}
		o = append(o, member{"max", duration(Duration(b.Max))})
		if b.Jitter != 0 {
			o = append(o, member{"jitter", b.Jitter})
		}
		backoff = o
	}
	return ordered{{"max_attempts", int64(max(1, r.MaxAttempts))}, {"backoff", backoff}}
}

func defaultsObject(d Defaults) any {
	return orNil(ordered{{"retry", retryObject(d.Retry)}, {"timeout", duration(d.Timeout)}, {"on_error", text(d.OnError)}})
}

func limitsObject(l Limits) any {
	o := ordered{{"max_steps", number(int64(l.MaxSteps))}, {"max_duration", duration(l.MaxDuration)}, {"max_tokens", number(l.MaxTokens)}}
	if l.MaxCost != 0 {
		o = append(o, member{"max_cost", l.MaxCost})
	}
	return orNil(o)
}

func appendOrdered(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case ordered:
		b = append(b, '{')
		first := true
		for _, m := range v {
			if m.value == nil {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendString(b, m.key), ':')
			if b, err = appendOrdered(b, m.value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendOrdered(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	n, err := Normalize(v)
	if err != nil {
		return nil, err
	}
	return appendValue(b, n, 0)
}

// yamlNode builds the YAML tree; text that would read as anything else is
// quoted.
func yamlNode(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case ordered:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, m := range v {
			if m.value == nil {
				continue
			}
			value, err := yamlNode(m.value)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, scalar(m.key), value)
		}
		return n, nil
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, e := range v {
			value, err := yamlNode(e)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, value)
		}
		return n, nil
	case map[string]any:
		o := ordered{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			value := v[k]
			if value == nil {
				value = json.RawMessage("null")
			}
			o = append(o, member{k, value})
		}
		return yamlNode(o)
	case string:
		return scalar(v), nil
	}
	n, err := Normalize(v)
	if err != nil {
		return nil, err
	}
	switch n := n.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case bool, json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(n)}, nil
	case string:
		return scalar(n), nil
	default:
		return yamlNode(n)
	}
}

// scalar writes text; it is quoted where a plain scalar would mean something
// else, here or to older YAML readers.
func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	probe := &tree{}
	plainScalar(probe, s, &reporter{})
	if probe.kind != treeString || plainSpecial.MatchString(s) || s == "<<" {
		n.Style = yaml.DoubleQuotedStyle
	} else if strings.Contains(s, "\n") {
		n.Style = yaml.LiteralStyle
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.ContainsAny(s, "\r\t\u0085\u2028\u2029") {
			n.Style = yaml.DoubleQuotedStyle
		}
	} else if _, err := time.Parse("2006-01-02", s); err == nil {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
