package planner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
	"go.yaml.in/yaml/v4"
)

// member is one key and value of an object whose keys have a fixed order.
type member struct {
	key   string
	value any
}

// ordered is an object whose keys keep their order; members with nil values are
// left out.
type ordered []member

// null stands for a null that is written, where nil would leave the key out.
var null = json.RawMessage("null")

// null is an explicit null. A nil value would leave the key out.
func (g *Graph) Encode(f Format) ([]byte, error) {
	o, err := graphObject(g)
	if err != nil {
		return nil, fmt.Errorf("encode graph: %w", err)
	}
	return o.encode(f)
}

// Encode writes the step plan as a document in a format, as [Graph.Encode] does.
func (s *StepPlan) Encode(f Format) ([]byte, error) {
	o, err := stepsObject(s)
	if err != nil {
		return nil, fmt.Errorf("encode step plan: %w", err)
	}
	return o.encode(f)
}

// Encode writes the document in a format, without comments and `x-` keys, which the version hash
// does not cover either. See [Graph.Encode].
func (d *Document) Encode(f Format) ([]byte, error) {
	if d.Graph != nil {
		return d.Graph.Encode(f)
	}
	return d.Steps.Encode(f)
}

// MarshalJSON writes the graph as a JSON document on one line.
func (g Graph) MarshalJSON() ([]byte, error) {
	o, err := graphObject(&g)
	if err != nil {
		return nil, fmt.Errorf("encode graph: %w", err)
	}
	return appendOrdered(nil, o)
}

// UnmarshalJSON reads and validates a JSON document. The error is an [*InvalidError].
func (g *Graph) UnmarshalJSON(src []byte) error {
	parsed, err := parseGraph(src, FormatJSON)
	if err != nil {
		return err
	}
	*g = *parsed
	return nil
}

// MarshalJSON writes the node as it appears in a document.
func (n Node) MarshalJSON() ([]byte, error) {
	o, err := nodeObject("", n)
	if err != nil {
		return nil, err
	}
	return appendOrdered(nil, o)
}

// MarshalJSON writes the step plan as a JSON document on one line.
func (s StepPlan) MarshalJSON() ([]byte, error) {
	o, err := stepsObject(&s)
	if err != nil {
		return nil, fmt.Errorf("encode step plan: %w", err)
	}
	return appendOrdered(nil, o)
}

// UnmarshalJSON reads and validates a JSON document. The error is an [*InvalidError].
func (s *StepPlan) UnmarshalJSON(src []byte) error {
	d, problems := Parse(src, WithFormat(FormatJSON))
	if err := problems.Err(); err != nil {
		return err
	}
	if d.Steps == nil {
		return &InvalidError{
			Problems{{Severity: SeverityError, Code: "plan.graph", Message: message.New("the document is a graph, not a step plan"),
				Suggestion: message.New("decode it into a Graph")}},
		}
	}
	*s = *d.Steps
	return nil
}

func (o ordered) encode(f Format) ([]byte, error) {
	if f != FormatJSON {
		return encodeYAML(o)
	}
	b, err := appendOrdered(nil, o)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func encodeYAML(o ordered) ([]byte, error) {
	node, err := yamlNode(o)
	if err != nil {
		return nil, err
	}
	inline(node)
	return yaml.Dump(node, yaml.WithIndent(2), yaml.WithLineWidth(-1))
}

// inline writes edges, and the short lists of nodes and steps, on one line each.
func inline(plan *yaml.Node) {
	at := func(n *yaml.Node, key string) *yaml.Node {
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i+1]
			}
		}
		return &yaml.Node{}
	}
	short := func(n *yaml.Node) {
		for _, list := range []*yaml.Node{at(n, "needs"), at(n, "race"), at(n, "plans"), at(n, "dependencies"),
			at(at(n, "retry"), "backoff"), at(at(n, "retry"), "backoffMs")} {
			if list.Kind == yaml.SequenceNode {
				list.Style = yaml.FlowStyle
			}
		}
	}
	for _, edge := range at(plan, "edges").Content {
		edge.Style = yaml.FlowStyle
	}
	for _, n := range slices.Concat(at(plan, "nodes").Content, at(plan, "finally").Content, at(plan, "steps").Content,
		[]*yaml.Node{at(plan, "defaults")}) {
		short(n)
		if block := at(n, "do"); block.Kind == yaml.MappingNode {
			inline(block)
		}
	}
}

func stepsObject(s *StepPlan) (ordered, error) {
	if s == nil {
		return nil, errors.New("no step plan")
	}
	var finally any
	if len(s.Finally) > 0 {
		finally = stepList(s.Finally)
	}
	meta := ordered{{"createdBy", text(s.Plan.CreatedBy)}, {"createdAt", text(s.Plan.CreatedAt)}, {"confidence", float(s.Plan.Confidence)}}
	if len(s.Plan.Alternatives) > 0 {
		meta = append(meta, member{"alternatives", s.Plan.Alternatives})
	}
	for _, k := range slices.Sorted(maps.Keys(s.Plan.Extra)) {
		var v any = null
		if s.Plan.Extra[k] != nil {
			v = s.Plan.Extra[k]
		}
		meta = append(meta, member{k, v})
	}
	head := ordered{
		{"id", givenID(s.ID, s.anonymous)},
		{"name", text(s.Name)},
		{"description", text(s.Description)},
		{"input", s.InputSchema},
		{
			"defaults",
			defaultsObject(s.Defaults),
		},
		{"limits", limitsObject(s.Limits)},
		{"on_failure", text(s.OnFailure)},
		{"strict", given(s.Strict)},
	}
	return slices.Concat(head, s.members(), ordered{
		{"continueOnFailure", flag(s.ContinueOnFailure)},
		{"steps", stepList(s.Steps)},
		{"finally", finally},
		{"estimatedDuration", number(s.EstimatedDurationMs)},
		{"estimatedCost", float(s.EstimatedCost)},
		{"metadata", orNil(meta)},
	}), nil
}

// givenID leaves out an ID that was derived from the content.
func givenID(id, anonymous string) any {
	if id == anonymous {
		return nil
	}
	return text(id)
}

func graphObject(g *Graph) (ordered, error) {
	if g == nil {
		return nil, errors.New("no graph")
	}
	body, err := bodyObject(g)
	if err != nil {
		return nil, err
	}
	var metadata any
	if len(g.Metadata) > 0 {
		metadata = g.Metadata
	}
	o := ordered{
		{"id", givenID(g.ID, g.anonymous)},
		{"name", text(g.Name)},
		{"description", text(g.Description)},
		{"start", text(g.Start)},
		{"input", g.InputSchema},
		{
			"defaults",
			defaultsObject(g.Defaults),
		},
		{"limits", limitsObject(g.Limits)},
		{"on_failure", text(g.OnFailure)},
		{"strict", given(g.Strict)},
		{"each", flag(g.Each)},
	}
	return slices.Concat(o, g.members(), ordered{{"metadata", metadata}, {"values", mapOrNil(g.Values)}}, body,
		ordered{{"profiles", mapOrNil(g.Profiles)}}), nil
}

// bodyObject is the part of a graph that a block has, too: its nodes, edges, and result.
func bodyObject(g *Graph) (ordered, error) {
	nodes, err := nodesObject(g.order, g.Nodes)
	if err != nil {
		return nil, err
	}
	edges := make([]any, len(g.Edges))
	for i, e := range g.Edges {
		edges[i] = ordered{{"from", e.From}, {"to", e.To}, {"condition", text(e.Condition)}}
	}
	result, err := jsonvalue.Normalize(g.Result)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	o := ordered{{"nodes", nodes}}
	if len(edges) > 0 {
		o = append(o, member{"edges", edges})
	}
	if len(g.Finally) > 0 {
		finally, err := nodesObject(g.finallyOrder, g.Finally)
		if err != nil {
			return nil, err
		}
		o = append(o, member{"finally", finally})
	}
	return append(o, member{"result", result}), nil
}

// nodesObject is a map of nodes in file order.
func nodesObject(order []string, nodes map[string]Node) (ordered, error) {
	list := ordered{}
	for _, key := range nodeOrder(order, nodes) {
		o, err := nodeObject(key, nodes[key])
		if err != nil {
			return nil, err
		}
		list = append(list, member{key, o})
	}
	return list, nil
}

// nodeObject is a node as it appears under its key.
func nodeObject(key string, n Node) (ordered, error) {
	input, err := jsonvalue.Normalize(n.Input)
	if err != nil {
		return nil, fmt.Errorf("input of node %s: %w", cmp.Or(key, n.ID), err)
	}
	meta := ordered{}
	for _, k := range slices.Sorted(maps.Keys(n.Metadata)) {
		meta = append(meta, member{k, n.Metadata[k]})
	}
	id := n.ID
	if id == key {
		id = ""
	}
	foreach, err := jsonvalue.Normalize(n.Foreach)
	if err != nil {
		return nil, fmt.Errorf("foreach of node %s: %w", cmp.Or(key, n.ID), err)
	}
	if foreach == "" {
		foreach = nil
	}
	var undo any
	if n.Undo != nil {
		if undo, err = nodeObject(key, *n.Undo); err != nil {
			return nil, fmt.Errorf("undo: %w", err)
		}
	}
	do, err := blockObject(n.Do)
	if err != nil {
		return nil, fmt.Errorf("block of node %s: %w", cmp.Or(key, n.ID), err)
	}
	return ordered{
		{"id", text(id)},
		{"type", text(n.Type)},
		{"tool", text(n.Tool)},
		{"agent", text(n.Agent)},
		{"plan", text(n.Plan)},
		{"plans", list(n.Plans)},
		{"input", input},
		{"metadata", orNil(meta)},
		{"retry", retryObject(n.Retry)},
		{"timeout", duration(n.Timeout)},
		{"on_error", rulesValue(n.OnError, n.ErrorRules, retryObject)},
		{
			"on_reject",
			text(n.OnReject),
		},
		{"effect", text(string(n.Effect))},
		{"needs", list(n.Needs)},
		{"race", list(n.Race)},
		{"when", whenValue(n)},
		{"ends", text(n.Ends)},
		{"foreach", foreach},
		{"max_parallel", number(int64(n.MaxParallel))},
		{"max_visits", number(int64(n.MaxVisits))},
		{"queue", text(n.Queue)},
		{"output_schema", n.OutputSchema},
		{"do", do},
		{"undo", undo},
	}, nil
}

// whenValue is a rule or a condition, or both as {after, if}.
func whenValue(n Node) any {
	if n.After == "" {
		return text(n.When)
	}
	return ordered{{"after", text(string(n.After))}, {"if", text(n.When)}}
}

// nodeOrder lists nodes in file order, then nodes that are not in the file, by name.
func nodeOrder(order []string, nodes map[string]Node) []string {
	seen := make(map[string]bool, len(nodes))
	var out []string
	for _, key := range order {
		if _, ok := nodes[key]; ok && !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(nodes)) {
		if !seen[key] {
			out = append(out, key)
		}
	}
	return out
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
			waits[i] = shortDuration(d)
		}
		backoff = waits
	case b.Initial > 0:
		o := ordered{{"initial", shortDuration(b.Initial)}}
		backoff = append(o, ordered{{"factor", float(b.Factor)}, {"max", duration(walk.Duration(b.Max))}, {"jitter", float(b.Jitter)}}...)
	}
	return ordered{{"max_attempts", int64(max(1, r.MaxAttempts))}, {"backoff", backoff}}
}

func defaultsObject(d Defaults) any {
	return orNil(ordered{{"retry", retryObject(d.Retry)}, {"timeout", duration(d.Timeout)},
		{"on_error", rulesValue(d.OnError, d.ErrorRules, retryObject)}})
}

func limitsObject(l walk.Limits) any {
	return orNil(
		ordered{{"max_steps", number(int64(l.MaxSteps))}, {"max_duration", duration(l.MaxDuration)}, {"max_tokens", number(l.MaxTokens)},
			{"max_cost", float(l.MaxCost)}},
	)
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
			b = append(jsonvalue.AppendString(b, m.key), ':')
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
	n, err := jsonvalue.Normalize(v)
	if err != nil {
		return nil, err
	}
	text, err := jsonvalue.Encode(n)
	return append(b, text...), err
}
