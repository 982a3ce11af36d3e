package walk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// Reads returns the positions of the nodes whose outputs or statuses a node may read through references
// in its input, foreach, `when`, and outgoing conditions. It does not include `last`. Each node occurs
// once, in file order.
func (p *Program) Reads(node int) []int {
	n := &p.Nodes[node]
	var out []int
	add := func(name string) {
		if j, ok := p.Index[name]; ok && !slices.Contains(out, j) {
			out = append(out, j)
		}
	}
	expression := func(names []string, all bool) {
		for _, name := range names {
			add(name)
		}
		if all {
			for j := range p.Nodes {
				if !slices.Contains(out, j) {
					out = append(out, j)
				}
			}
		}
	}
	condition := func(c *Condition) {
		names, all := c.Nodes()
		expression(slices.Concat(names, c.Statuses()), all)
	}
	if n.Input != nil {
		for _, ref := range n.Input.References() {
			add(ref.Node())
		}
	}
	for _, ref := range n.Foreach.References() {
		add(ref.Node())
	}
	if n.Computed != nil {
		for _, ref := range n.Computed.References() {
			add(ref.Node())
		}
	}
	names, all := n.Foreach.Nodes()
	expression(slices.Concat(names, n.Foreach.Statuses()), all)
	condition(n.WhenCond)
	for _, e := range n.Out {
		condition(e.Cond)
	}
	slices.Sort(out)
	return out
}

// Fingerprint returns a hash of a node's compiled definition, including its edges and needs. If it
// is equal in two versions of a plan, a recorded visit of the node may be kept.
func (p *Program) Fingerprint(node int) string {
	n := &p.Nodes[node]
	var input any
	if n.Input != nil {
		input = n.Input.Source
	}
	names := func(ids []int) []any {
		out := make([]any, len(ids))
		for i, j := range ids {
			out[i] = p.Nodes[j].ID
		}
		return out
	}
	edges := make([]any, len(n.Out))
	for i, e := range n.Out {
		edges[i] = []any{p.Target(e), e.Text}
	}
	when := string(n.When)
	if n.WhenCond != nil {
		when += ":" + n.WhenCond.Text
		if n.WhenUnknown == UnknownSkip {
			when += ":" + UnknownSkip
		}
	}
	foreach := ""
	if n.Foreach != nil {
		foreach = n.Foreach.Text
	}
	metadata := make(map[string]any, len(n.Metadata))
	for k, v := range n.Metadata {
		metadata[k] = v
	}
	fields := []any{n.ID, n.Type, n.Tool, n.Agent, n.Plan, input, n.Output.Schema, edges,
		names(n.Needs), when, foreach, metadata,
		n.MaxVisits, n.MaxAttempts, fmt.Sprint(n.Backoff), n.Timeout.String(), string(n.OnError), string(n.OnReject),
		string(n.Effect), n.Task}
	for _, r := range n.Rules {
		fields = append(fields, fmt.Sprint(r.Codes, r.MaxAttempts, r.Backoff, r.Edge, r.OnError))
	}
	if n.Computed != nil {
		fields = append(fields, fmt.Sprint(n.Plans))
	}
	if n.Block != nil {
		fields = append(fields, n.Block.Program.Hash)
	}
	if n.EndsOK {
		fields = append(fields, "ends")
	}
	if p.readsValues(n) { // a changed constant changes what the visit would do
		fields = append(fields, p.Values)
	}
	b, err := jsonvalue.Encode(fields)
	if err != nil { // a compiled node contains only JSON values
		panic("walk: fingerprint: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// ReadsInput reports whether a run of the program may read its input. A program without a schema of its
// input takes any input, but may ignore it.
func (p *Program) ReadsInput() bool {
	if p.InputSchema != nil {
		return true
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		first := slices.Contains(p.Roots, i) // last is the input there
		if n.reads(RefInput) || first && (n.Input == nil || n.reads(RefLast)) {
			return true
		}
	}
	return false
}

// readsValues reports whether a node may read constants of the plan.
func (p *Program) readsValues(n *ProgramNode) bool {
	return len(p.Values) > 0 && n.reads(RefValue)
}

// reads reports whether a node may read a value through its input, foreach, `when`, or outgoing conditions.
func (n *ProgramNode) reads(root RefRoot) bool {
	reads := func(c *Condition) bool { return c != nil && strings.Contains(c.Text, string(root)) }
	template := func(t *Template) bool {
		return t != nil && slices.ContainsFunc(t.References(), func(r TemplateRef) bool { return r.Root == root })
	}
	return template(n.Input) || template(n.Computed) ||
		n.Foreach != nil && strings.Contains(n.Foreach.Text, string(root)) || reads(n.WhenCond) ||
		slices.ContainsFunc(n.Out, func(e ProgramEdge) bool { return reads(e.Cond) })
}
