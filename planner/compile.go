package planner

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Defaults of the language (SPEC 4.5, 4.6; ruling 28).
const (
	defaultMaxParallel = 8
	defaultStepTimeout = 60 * time.Second
	// MaxItems bounds the list of a foreach (ruling 7).
	MaxItems = 10_000
)

var defaultStepRetry = Retry{MaxAttempts: 3, Backoff: Backoff{List: []time.Duration{time.Second, 2 * time.Second}}}

// reserved ids would shadow the roots of references (SPEC 2.5).
var reserved = []string{"input", "memory", "last", "item", "index", "run", "secret"}

// spec is a node of either document shape before it is compiled.
type spec struct {
	Node
	key  string
	tree *tree
	// names maps field names of the graph language to those of the document.
	names map[string]string

	task, expected string
	order          int
	step           bool
	custom         string // expression of a custom step condition
}

// field is where a field of the node stands in the document.
func (s *spec) field(name string) *tree {
	if v := s.tree.get(cmp.Or(s.names[name], name)); v != nil {
		return v
	}
	return s.tree
}

// compiler turns a document into a program and reports what is wrong with it.
type compiler struct {
	d     *Document
	c     *Catalog
	r     *reporter
	p     *Program
	specs []spec
	names map[string]int // node id or map key → position; -1: ambiguous
}

// compile never fails: whatever cannot be compiled is reported. The program is
// meaningful only when no error was.
func (d *Document) compile(c *Catalog, r *reporter) *Program {
	k := &compiler{d: d, c: c, r: r, names: map[string]int{}}
	k.p = &Program{ID: d.ID, Name: d.Name, Description: d.Description, Kind: d.Kind(), Hash: d.Hash, Index: map[string]int{}}
	var defaults Defaults
	if g := d.Graph; g != nil {
		k.p.InputSchema, k.p.Limits, k.p.Strict, k.p.ContinueBranches = g.InputSchema, g.Limits, g.Strict, g.OnFailure == "continue_branches"
		defaults = g.Defaults
		k.graphSpecs(g)
	} else {
		s := d.Steps
		k.p.InputSchema, k.p.Limits, k.p.Strict, k.p.ContinueBranches = s.InputSchema, s.Limits, s.Strict, s.OnFailure == "continue_branches"
		defaults = s.Defaults
		k.stepSpecs(s)
	}
	k.schema(k.p.InputSchema, d.tree.get("input"), "")
	k.nodes(defaults)
	k.needs()
	if d.Graph != nil {
		k.edges(d.Graph)
		k.roots(d.Graph)
	} else {
		k.roots(&Graph{})
	}
	k.analyse()
	k.secrets(d.tree, "")
	return k.p
}

func (k *compiler) graphSpecs(g *Graph) {
	nodes := k.d.tree.get("nodes")
	for _, key := range g.order {
		k.specs = append(k.specs, spec{Node: g.Nodes[key], key: key, tree: nodes.get(key)})
	}
}

var stepNames = map[string]string{"needs": "dependencies", "when": "condition", "input": "params", "agent": "agentId", "type": "tool"}

func (k *compiler) stepSpecs(s *StepPlan) {
	list := k.d.tree.get("steps")
	order := make([]int, len(s.Steps))
	k.p.Sequential = true
	for i, st := range s.Steps {
		order[i] = i
		if len(st.Dependencies) > 0 {
			k.p.Sequential = false
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.Steps[a].Order - s.Steps[b].Order })
	for n, i := range order {
		st := s.Steps[i]
		sp := spec{Node: Node{ID: st.ID, Needs: st.Dependencies, Timeout: st.Timeout, OnError: st.OnError}, key: st.ID,
			tree: list.items[i], names: stepNames, task: st.Task, expected: st.ExpectedOutput, order: st.Order, step: true}
		if k.p.Sequential && n > 0 {
			sp.Needs = []string{s.Steps[order[n-1]].ID}
		}
		k.stepAction(&sp, st)
		if st.Params != nil {
			sp.Input = st.Params
		}
		if sp.Type == TypeAgent && st.Task != "" {
			if len(st.Params) == 0 {
				sp.Input = st.Task
			} else {
				sp.Input = map[string]any{"task": st.Task, "params": st.Params}
			}
		}
		if st.Retry != nil {
			sp.Retry = &Retry{MaxAttempts: st.Retry.MaxAttempts}
			for _, ms := range st.Retry.BackoffMs {
				sp.Retry.Backoff.List = append(sp.Retry.Backoff.List, time.Duration(ms)*time.Millisecond)
			}
		}
		if c := st.Condition; c != nil && c.Type != "" {
			sp.When = c.Type
			if c.Type == "custom" {
				sp.When, sp.custom = string(WhenCondition), c.Expr
			}
		}
		k.specs = append(k.specs, sp)
	}
}

// stepAction resolves what a step does: exactly one of skill, agent and tool.
func (k *compiler) stepAction(sp *spec, st Step) {
	given := 0
	for _, s := range []string{st.SkillID, st.AgentID, st.Tool} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		k.r.error(sp.tree, st.ID, "step.action", "name exactly one of skillId, agentId and tool", "step %s names %d of skillId, agentId and tool", clip(st.ID), given)
	}
	switch {
	case st.AgentID != "":
		sp.Type, sp.Agent = TypeAgent, st.AgentID
	case st.Tool != "" && BuiltinType(st.Tool):
		sp.Type = st.Tool
	case st.Tool != "":
		sp.Type, sp.Tool = TypeTool, st.Tool
	case st.SkillID != "":
		sp.Type, sp.Tool = TypeTool, st.SkillID
		if k.c == nil {
			return
		}
		if skill, ok := k.c.Skills[st.SkillID]; ok {
			switch {
			case skill.Agent != "":
				sp.Type, sp.Tool, sp.Agent = TypeAgent, "", skill.Agent
			case BuiltinType(skill.Tool):
				sp.Type, sp.Tool = skill.Tool, ""
			default:
				sp.Tool = skill.Tool
			}
		} else if _, ok := k.c.Tools[st.SkillID]; !ok {
			k.r.error(sp.tree.get("skillId"), st.ID, "step.skill_unknown", suggest(st.SkillID, slices.Collect(maps.Keys(k.c.Skills)), "configure the skill"),
				"unknown skill %s", clip(st.SkillID))
		}
	}
}

func suggest(word string, names []string, otherwise string) string {
	slices.Sort(names)
	if near := nearest(word, names); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return otherwise
}

// nodes compiles each node by itself.
func (k *compiler) nodes(defaults Defaults) {
	k.p.Nodes = make([]ProgramNode, len(k.specs))
	for i := range k.specs {
		s := &k.specs[i]
		k.name(i, s)
		k.p.Nodes[i] = ProgramNode{ID: s.ID, Index: i, Type: resolveType(s.Type), TypeName: s.Type, Tool: s.Tool, Agent: s.Agent, Plan: s.Plan,
			Metadata: s.Metadata, OutputSchema: s.OutputSchema, MaxParallel: cmp.Or(s.MaxParallel, defaultMaxParallel), MaxVisits: cmp.Or(s.MaxVisits, 1),
			Effect: s.Effect, Task: s.task, ExpectedOutput: s.expected, Order: s.order}
		n := &k.p.Nodes[i]
		k.action(n, s)
		k.template(n, s)
		k.schema(s.OutputSchema, s.field("output_schema"), s.ID)
		retry := cmp.Or(s.Retry, defaults.Retry)
		timeout := cmp.Or(time.Duration(s.Timeout), time.Duration(defaults.Timeout))
		if s.step && retry == nil {
			retry = &defaultStepRetry
		}
		if s.step && timeout == 0 && (n.Type == TypeTool || n.Type == TypeAgent) {
			timeout = defaultStepTimeout
		}
		n.MaxAttempts, n.Timeout = 1, timeout
		if retry != nil {
			n.MaxAttempts, n.Backoff = retry.MaxAttempts, retry.Backoff
		}
		n.OnError = OnError(cmp.Or(s.OnError, defaults.OnError, string(OnErrorFail)))
		k.when(n, s)
		if s.Foreach != "" {
			k.foreach(n, s)
		} else if s.MaxParallel > 0 {
			k.r.warn(s.field("max_parallel"), s.ID, "node.max_parallel", "", "max_parallel has no effect without foreach")
		}
	}
}

// name enters the node's id and key; two meanings of one name make it ambiguous.
func (k *compiler) name(i int, s *spec) {
	at := s.tree
	if v := s.tree.get("id"); v != nil {
		at = v
	}
	if !idPattern(s.ID) && (s.ID != "" || !s.step) {
		suggestion := "ids are letters, digits, underscore and dash, at most 128, and do not begin with a dash"
		if strings.Contains(s.ID, ".") {
			suggestion += "; the dot separates paths"
		}
		k.r.error(at, s.ID, "node.id_invalid", suggestion, "%s is not a node id", clip(s.ID))
	}
	if slices.Contains(reserved, s.ID) {
		k.r.error(at, s.ID, "node.id_reserved", "choose another id", "the id %s is reserved", s.ID)
	}
	if _, twice := k.p.Index[s.ID]; twice && s.ID != "" {
		k.r.error(at, s.ID, "node.id_duplicate", "", "two nodes have the id %s", clip(s.ID))
	} else {
		k.p.Index[s.ID] = i
	}
	for _, name := range []string{s.ID, s.key} {
		if j, ok := k.names[name]; ok && j != i {
			k.names[name] = -1
		} else {
			k.names[name] = i
		}
	}
}

// action checks what the node does.
func (k *compiler) action(n *ProgramNode, s *spec) {
	if s.Type == "" {
		return // reported when it was read
	}
	if n.Metadata["tool"] != "" && n.Tool == "" {
		n.Tool = n.Metadata["tool"]
	}
	if n.Agent == "" {
		n.Agent = n.Metadata["agent_id"]
	}
	if _, builtin := builtins[n.Type]; !builtin && k.c != nil {
		_, isTool := k.c.Tools[n.Type]
		_, isType := k.c.Types[n.Type]
		switch {
		case isTool:
			n.Tool, n.Type = n.Type, TypeTool
		case !isType:
			k.r.error(s.field("type"), s.ID, "node.type_unknown", suggest(s.Type, typeNames(k.c), "see the list of node types, or configure a tool of that name"),
				"unknown node type %s", clip(s.Type))
		}
	}
	switch n.Type {
	case TypeTool:
		if n.Tool == "" {
			k.r.error(s.tree, s.ID, "node.tool_missing", "add tool:", "node %s names no tool", clip(s.ID))
		} else if k.c != nil {
			if _, ok := k.c.Tools[n.Tool]; !ok {
				k.r.error(s.field("tool"), s.ID, "node.tool_unknown", suggest(n.Tool, slices.Collect(maps.Keys(k.c.Tools)), "configure the tool"), "unknown tool %s", clip(n.Tool))
			}
		}
	case TypeAgent, TypeLLM:
		if k.c != nil && n.Agent != "" {
			if _, ok := k.c.Agents[n.Agent]; !ok {
				k.r.error(s.field("agent"), s.ID, "node.agent_unknown", suggest(n.Agent, slices.Collect(maps.Keys(k.c.Agents)), "configure the agent"), "unknown agent %s", clip(n.Agent))
			}
		}
	case TypePlan:
		if key, _, _ := strings.Cut(n.Plan, "@"); key == "" {
			k.r.error(s.tree, s.ID, "node.plan_missing", "add plan: with a plan's key, or key@version", "node %s names no plan", clip(s.ID))
		}
	}
	if n.Type != TypePlan && s.Plan != "" {
		k.r.error(s.field("plan"), s.ID, "node.plan", "write type: plan", "plan: belongs to a node of type plan")
	}
	if n.Type == TypeNoop && s.Input != nil {
		k.r.warn(s.field("input"), s.ID, "node.input_unused", "use type: set to output a value", "a %s ignores its input", s.Type)
	}
	k.control(n, s)
}

// control checks the literal inputs of wait and approval nodes.
func (k *compiler) control(n *ProgramNode, s *spec) {
	if n.Type != TypeWait && n.Type != TypeApproval {
		return
	}
	m, ok := s.Input.(map[string]any)
	if text, isText := s.Input.(string); isText && strings.Contains(text, "${") {
		return
	}
	if !ok {
		want := "input: {for: 10m} or {until: 2030-01-31T08:00:00Z}"
		if n.Type == TypeApproval {
			want = "input: {message: …}"
		}
		k.r.error(s.field("input"), s.ID, n.Type+".input", "write "+want, "a node of type %s needs an object as input", n.Type)
		return
	}
	known := []string{"for", "until"}
	if n.Type == TypeApproval {
		known = []string{"message", "form", "timeout", "on_timeout"}
		if m["message"] == nil {
			k.r.error(s.field("input"), s.ID, "approval.input", "add message:", "an approval without a message")
		}
		switch v := m["on_timeout"]; v {
		case nil, "approve", "reject", "fail":
		default:
			k.r.error(s.field("input"), s.ID, "approval.input", "write approve, reject or fail", "unknown on_timeout %s", clip(Text(v)))
		}
		if m["form"] != nil {
			k.schema(m["form"], s.field("input").get("form"), s.ID)
		}
	} else if (m["for"] == nil) == (m["until"] == nil) {
		k.r.error(s.field("input"), s.ID, "wait.input", "", "a wait needs exactly one of for and until")
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, key) {
			k.r.error(s.field("input").get(key), s.ID, "field.unknown", suggest(key, known, "known keys: "+strings.Join(known, ", ")), "unknown key %s in the input of a %s", clip(key), n.Type)
		}
	}
	for _, key := range []string{"for", "timeout"} {
		if text, ok := m[key].(string); ok && !strings.Contains(text, "${") {
			if d, err := time.ParseDuration(text); err != nil || d < 0 {
				k.r.error(s.field("input").get(key), s.ID, "duration.invalid", "write it like 250ms, 30s or 1h30m", "%s %s is not a duration", key, clip(text))
			}
		}
	}
	if text, ok := m["until"].(string); ok && !strings.Contains(text, "${") {
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			k.r.error(s.field("input").get("until"), s.ID, "wait.until", "write it like 2030-01-31T08:00:00Z", "until %s is not a time", clip(text))
		}
	}
}

func (k *compiler) template(n *ProgramNode, s *spec) {
	if s.Input == nil {
		return
	}
	var stepIDs func(string) bool
	if s.step {
		stepIDs = func(id string) bool {
			return slices.ContainsFunc(k.specs, func(o spec) bool { return o.ID == id })
		}
		if len(k.specs) > 64 {
			known := make(map[string]bool, len(k.specs))
			for _, o := range k.specs {
				known[o.ID] = true
			}
			stepIDs = func(id string) bool { return known[id] }
		}
	}
	t, err := ParseTemplate(s.Input, stepIDs)
	if err != nil {
		e := err.(*TemplateError)
		k.r.error(k.inside(s, e.At), s.ID, "ref.malformed", e.Suggestion, "%s", e.Message)
		return
	}
	n.Input = t
}

// inside is where a part of the node's input stands.
func (k *compiler) inside(s *spec, at []string) *tree {
	return s.field("input").at(at)
}

func (k *compiler) schema(v any, at *tree, node string) {
	if v == nil {
		return
	}
	if _, err := CompileSchema(v); err != nil {
		k.r.error(at, node, "schema.invalid", "", "not a valid JSON Schema: %s", err)
	}
}

func (k *compiler) when(n *ProgramNode, s *spec) {
	n.When = WhenSuccess
	if s.When == "" {
		return
	}
	if len(s.Needs) == 0 && !k.p.Sequential {
		k.r.error(s.field("when"), s.ID, "when.without_needs", "add needs:, or put the condition on an edge", "when: without needs")
	}
	switch w := When(s.When); w {
	case WhenSuccess, WhenFailure, WhenAlways:
		n.When = w
		return
	}
	var err error
	n.When = WhenCondition
	if s.custom != "" {
		n.WhenCond, err = ParseExpression(s.custom)
	} else {
		n.WhenCond, err = ParseCondition(s.When)
	}
	if err != nil {
		k.syntax(err, s.field("when"), s.ID, "when")
		n.WhenCond = nil
	} else if n.WhenCond.Fallback() || n.WhenCond.OnFailure() {
		k.r.error(s.field("when"), s.ID, "when.condition", "write success, failure, always, or a comparison", "%s is not a condition of when", clip(s.When))
	}
}

func (k *compiler) syntax(err error, at *tree, node, what string) {
	e := err.(*SyntaxError)
	k.r.error(shifted(at, e.Column), node, "condition.malformed", e.Suggestion, "%s: %s", what, e.Message)
}

// shifted moves a position to a column inside a text that stands on one line;
// texts in quotes begin one further on.
func shifted(t *tree, column int) *tree {
	if t == nil || t.kind != treeString || column <= 1 {
		return t
	}
	return &tree{line: t.line, column: t.column + column - 1}
}

func (k *compiler) foreach(n *ProgramNode, s *spec) {
	text := strings.TrimSpace(s.Foreach)
	if inner, ok := strings.CutPrefix(text, "${"); ok {
		text = strings.TrimSuffix(inner, "}")
	}
	ref, err := ParseReference(text)
	if err != nil {
		k.syntax(err, s.field("foreach"), s.ID, "foreach")
		return
	}
	switch ref.Root {
	case RefItem, RefIndex, RefRun, RefSecret:
		k.r.error(s.field("foreach"), s.ID, "foreach.reference", "refer to input, last or output.<node>", "%s is not a list", clip(s.Foreach))
		return
	}
	n.Foreach = ref
}

// needs resolves the names in needs: and links dependents.
func (k *compiler) needs() {
	for i := range k.specs {
		s, n := &k.specs[i], &k.p.Nodes[i]
		for _, name := range s.Needs {
			j, ok := k.resolve(name, s.field("needs"), s.ID, "needs")
			if !ok {
				continue
			}
			if slices.Contains(n.Needs, j) {
				k.r.error(s.field("needs"), s.ID, "needs.duplicate", "", "needs names %s twice", clip(name))
				continue
			}
			if j == i {
				k.r.error(s.field("needs"), s.ID, "needs.cycle", "", "node %s needs itself", clip(s.ID))
				continue
			}
			n.Needs = append(n.Needs, j)
			k.p.Nodes[j].Dependents = append(k.p.Nodes[j].Dependents, i)
		}
		if len(s.Needs) > 0 {
			k.p.UsesNeeds = true
		}
	}
}

// resolve finds a node by id or map key.
func (k *compiler) resolve(name string, at *tree, node, what string) (int, bool) {
	j, ok := k.names[name]
	switch {
	case !ok:
		k.r.error(at, node, what+"_unknown", suggest(name, slices.Collect(maps.Keys(k.names)), "add the node, or correct the name"), "%s names %s, which is no node", what, clip(name))
		return 0, false
	case j < 0:
		k.r.error(at, node, "node.ambiguous", "give the nodes different ids and keys", "%s names %s, which is one node's id and another's key", what, clip(name))
		return 0, false
	}
	return j, true
}

func (k *compiler) edges(g *Graph) {
	list := k.d.tree.get("edges")
	for i, e := range g.Edges {
		t := list.items[i]
		if strings.TrimSpace(e.From) == "" || strings.TrimSpace(e.To) == "" {
			continue // reported when it was read
		}
		from, ok := k.edgeEnd(e.From, "from", t)
		to, ok2 := k.edgeEnd(e.To, "to", t)
		cond, err := ParseCondition(e.Condition)
		if err != nil {
			k.syntax(err, t.get("condition"), e.From, "condition")
			continue
		}
		if cond.Plain() && (strings.Contains(cond.Value(), "&&") || strings.Contains(cond.Value(), "||") || strings.ContainsAny(cond.Value(), "<>") || strings.Contains(cond.Value(), "==")) {
			k.r.warn(t.get("condition"), e.From, "condition.plain", "did you mean expr: …?", "the value %s is compared as text", clip(cond.Value()))
		}
		if !ok || !ok2 {
			continue
		}
		n := &k.p.Nodes[from]
		for _, other := range n.Out {
			if other.Text == e.Condition && cond.Fallback() || other.Cond.Fallback() && cond.Fallback() {
				k.r.warn(t, e.From, "edge.never_taken", "give it a condition, or remove it", "an earlier edge out of %s is always taken first", clip(e.From))
				break
			}
		}
		n.Out = append(n.Out, ProgramEdge{To: to, Position: i, Text: e.Condition, Cond: cond})
		k.p.Nodes[to].Incoming++
	}
	for i := range k.specs {
		s, n := &k.specs[i], &k.p.Nodes[i]
		if len(s.Needs) > 0 && n.Incoming > 0 {
			k.r.error(s.field("needs"), s.ID, "needs.with_edges", "keep the edges, or needs", "node %s has incoming edges and needs", clip(s.ID))
		}
	}
}

func (k *compiler) edgeEnd(name, end string, t *tree) (int, bool) {
	if name == "START" || name == "END" {
		if _, ok := k.names[name]; !ok {
			suggestion := "name the first node with start:, and drop the edge"
			if name == "END" {
				suggestion = "a run ends where a node has no matching edge: drop the edge, or add a noop node"
			}
			k.r.error(t.get(end), "", "edge."+end+"_unknown", suggestion, "%s is not a node here", name)
			return 0, false
		}
	}
	return k.resolve(name, t.get(end), "", "edge."+end)
}

// roots finds where tokens start.
func (k *compiler) roots(g *Graph) {
	var candidates []int
	for i := range k.p.Nodes {
		if n := &k.p.Nodes[i]; n.Incoming == 0 && len(k.specs[i].Needs) == 0 {
			candidates = append(candidates, i)
		}
	}
	if g.Start != "" {
		if j, ok := k.resolve(g.Start, k.d.tree.get("start"), "", "start"); ok {
			if len(k.specs[j].Needs) > 0 {
				k.r.error(k.d.tree.get("start"), g.Start, "start.with_needs", "", "the start %s has needs", clip(g.Start))
			}
			k.p.Roots = []int{j}
		}
		return
	}
	if len(k.p.Nodes) == 0 || k.r.errors > 0 && len(candidates) != 1 {
		k.p.Roots = candidates
		return
	}
	names := func(ids []int) string {
		var out []string
		for _, i := range ids[:min(len(ids), 10)] {
			out = append(out, k.p.Nodes[i].ID)
		}
		return strings.Join(out, ", ")
	}
	switch {
	case len(candidates) == 0:
		all := make([]int, len(k.p.Nodes))
		for i := range all {
			all[i] = i
		}
		k.r.error(k.d.tree, "", "graph.no_start", "say which it is with start:", "no start node found: every node has an incoming edge or needs (%s)", names(all))
	case len(candidates) > 1 && !k.p.UsesNeeds && k.p.Kind == KindGraph:
		k.r.error(k.d.tree, "", "graph.multiple_starts", "say which it is with start:, or connect the others", "multiple start nodes found: %s", names(candidates))
	}
	k.p.Roots = candidates
}

var inlineSecret = regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{30,}|xox[abp]-[A-Za-z0-9-]{20,})|-----BEGIN [A-Z ]*PRIVATE KEY-----`)

// secrets refuses credentials that are written into the document (P39).
func (k *compiler) secrets(t *tree, node string) {
	if t.kind == treeString && len(t.text) >= 16 && inlineSecret.MatchString(t.text) {
		k.r.error(t, node, "secret.inline", "configure a secret and write ${secret.NAME}", "this looks like a credential")
	}
	for _, e := range t.items {
		k.secrets(e, node)
	}
}
