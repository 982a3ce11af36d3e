package planner

import (
	"cmp"
	"errors"
	"time"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonschema"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Defaults of the language.
const (
	defaultMaxParallel = 8
	defaultStepTimeout = 60 * time.Second
	endsOK             = "ok" // the only value of ends
)

var defaultStepRetry = Retry{MaxAttempts: 3, Backoff: walk.Backoff{List: []time.Duration{time.Second, 2 * time.Second}}}

// spec is a node or step of a document before it is compiled.
type spec struct {
	Node
	key  string
	tree *source.Tree
	// keyTree is the position of the key; nil for a step of a step plan.
	keyTree *source.Tree
	// names maps field names of the graph language to the field names of the document.
	names map[string]string

	skill, task, expected string
	order                 int
	step                  bool
	finally               bool
	undo                  *spec  // the call that undoes the step, or nil
	custom                string // expression of a custom step condition
	unknown               string // of that condition
	gateSchema            bool   // OutputSchema is derived from a quality gate
	product               string // the only member of OutputSchema, a text
}

// field is the position of a field of the node, or of the node if it does not have the field.
func (s *spec) field(name string) *source.Tree {
	if v := s.tree.Get(cmp.Or(s.names[name], name)); v != nil {
		return v
	}
	if name == "input" && s.tree.Get("wait") != nil {
		return s.tree.Get("wait")
	}
	return s.tree
}

// compiler compiles a document to a program and reports its problems.
type compiler struct {
	d     *Document
	c     *Catalog
	r     *reporter
	p     *walk.Program
	specs []spec
	names map[string]int // node id or map key → position; -1: ambiguous
	// blocks holds the compiled blocks of steps, by their position.
	blocks map[int]*compiler
	// toolSchemas holds the compiled schemas of tools; nil for an invalid one.
	toolSchemas map[string]*jsonschema.Schema
	// first is set while the document is parsed. Checks whose result does not depend on the catalog
	// run only then.
	first bool
	// broken reports that the graph has errors. Checks of the whole graph would then only report
	// consequences of those errors.
	broken bool
}

// compile reports everything that cannot be compiled. The program is meaningful only if no error
// was reported.
func (d *Document) compile(c *Catalog, first bool, r *reporter) *walk.Program {
	return compileDocument(d, c, first, r).p
}

// compileDocument is compile, and also returns the positions of the steps.
func compileDocument(d *Document, c *Catalog, first bool, r *reporter) *compiler {
	k := &compiler{d: d, c: c, r: r, names: map[string]int{}, blocks: map[int]*compiler{},
		toolSchemas: map[string]*jsonschema.Schema{}, first: first, broken: r.broken}
	k.p = &walk.Program{ID: d.ID, Name: d.Name, Description: d.Description, Kind: d.Kind(), Hash: d.Hash, Profile: d.Profile,
		Index: map[string]int{}}
	var defaults Defaults
	start := ""
	if g := d.Graph; g != nil {
		k.p.InputSchema, k.p.Limits, k.p.Strict, k.p.ContinueBranches = g.InputSchema, g.Limits, d.strict(g.Strict),
			g.OnFailure == "continue_branches"
		defaults, start = g.Defaults, g.Start
		k.p.Values, k.p.Each = g.Values, g.Each
		compileResult(k, g.Result)
		compileRunSettings(k, g.RunSettings)
		k.graphSpecs(g)
	} else {
		s := d.Steps
		k.p.InputSchema, k.p.Limits, k.p.Strict, k.p.ContinueBranches = s.InputSchema, s.Limits, d.strict(s.Strict),
			s.OnFailure == "continue_branches"
		defaults = s.Defaults
		if s.ContinueOnFailure {
			defaults.OnError = string(walk.OnErrorContinue)
		}
		k.p.Metadata = s.Plan.Extra
		word, _ := s.Plan.Extra[MetadataPriority].(string)
		k.p.Priority = RunPriority(word)
		compileRunSettings(k, s.RunSettings)
		k.stepSpecs(s)
	}
	k.schema(k.p.InputSchema, d.tree.Get("input"), "")
	k.enter()
	k.nodes(defaults)
	k.needs()
	if d.Graph != nil {
		k.edges(d.Graph)
	}
	compileErrorRules(k, defaults)
	checkEntered(k)
	checkFinally(k)
	checkRaces(k)
	a := analyzer{k}
	a.rejections()
	k.roots(start)
	a.analyse()
	if first && d.outer == nil {
		checkDocumentSecrets(d.tree, r)
	}
	return k
}

func (k *compiler) graphSpecs(g *Graph) {
	nodes := k.d.tree.Get("nodes")
	k.specs = make([]spec, len(g.order))
	for i, key := range g.order {
		k.specs[i] = spec{Node: g.Nodes[key], key: key, tree: nodes.Items[i], keyTree: nodes.Keys[i]}
		enterNode(k, &k.specs[i])
	}
	for i, key := range g.finallyOrder {
		t := k.d.tree.Get("finally")
		k.specs = append(k.specs, spec{Node: g.Finally[key], key: key, tree: t.Items[i], keyTree: t.Keys[i], finally: true})
		enterNode(k, &k.specs[len(k.specs)-1])
	}
}

// enterNode completes the spec of a step of a graph.
func enterNode(k *compiler, s *spec) {
	if s.Do != nil {
		s.Type = blockType
	}
	enterRace(k, s)
	enterUndo(s)
}

// nodes compiles each node separately.
func (k *compiler) nodes(defaults Defaults) {
	k.p.Nodes = make([]walk.ProgramNode, len(k.specs))
	for i := range k.specs {
		s, n := &k.specs[i], &k.p.Nodes[i]
		*n = walk.ProgramNode{ID: s.ID, Index: i, Type: resolveType(s.Type), TypeName: s.Type, Tool: s.Tool, Agent: s.Agent,
			SubPlan:  walk.SubPlan{Plan: s.Plan},
			Metadata: s.Metadata, MaxParallel: cmp.Or(s.MaxParallel, defaultMaxParallel), MaxVisits: cmp.Or(s.MaxVisits, 1),
			Effect: s.Effect, Finally: s.finally, EndsOK: s.Ends == endsOK,
			Output:    walk.NodeOutput{Schema: s.OutputSchema, ForGate: s.gateSchema, Product: s.product},
			StepFacts: walk.StepFacts{Skill: s.skill, Task: s.task, ExpectedOutput: s.expected, Order: s.order}}
		k.template(n, s)
		k.action(n, s)
		compileBlock(k, n, s)
		k.schema(s.OutputSchema, s.field("output_schema"), s.ID)
		k.attempts(n, s, defaults)
		k.when(n, s)
		k.foreach(n, s)
		compileUndo(k, n, s, defaults)
	}
}

// attempts merges the retries, timeouts, and error handling of the node, the plan, and the
// language.
func (k *compiler) attempts(n *walk.ProgramNode, s *spec, defaults Defaults) {
	asks := n.Type == walk.TypeApproval
	if s.Do != nil { // they apply to the steps of the block
		defaults = Defaults{}
	}
	if s.finally { // its failure never changes the outcome of the run
		defaults.OnError, defaults.ErrorRules = string(walk.OnErrorContinue), nil
	}
	if asks && !s.finally { // a rejection is never retried, and only the node itself handles it
		defaults.Retry, defaults.OnError, defaults.ErrorRules = nil, "", nil
	}
	retry := cmp.Or(s.Retry, defaults.Retry)
	if s.step && retry == nil && !asks {
		retry = &defaultStepRetry
	}
	n.Queue, n.MaxAttempts = s.Queue, 1
	if retry != nil {
		n.MaxAttempts, n.Backoff = retry.MaxAttempts, retry.Backoff
	}
	n.Timeout = time.Duration(cmp.Or(s.Timeout, defaults.Timeout))
	if s.step && n.Timeout == 0 && (n.Type == walk.TypeTool || n.Type == walk.TypeAgent) {
		n.Timeout = defaultStepTimeout
	}
	n.OnError = walk.OnError(cmp.Or(s.OnError, defaults.OnError, string(walk.OnErrorFail)))
	if len(s.ErrorRules) > 0 {
		n.OnError = walk.OnErrorFail // for failures without a rule
		if s.finally {
			n.OnError = walk.OnErrorContinue
		}
	}
	if asks {
		n.OnReject = walk.OnReject(cmp.Or(s.OnReject, string(walk.OnRejectFail)))
	}
}

func (k *compiler) template(n *walk.ProgramNode, s *spec) {
	if s.Input == nil {
		return
	}
	var stepIDs func(string) bool
	if s.step {
		stepIDs = func(id string) bool { _, ok := k.p.Index[id]; return ok }
	}
	t, err := walk.ParseTemplate(s.Input, stepIDs)
	if err != nil {
		at, text, suggestion := s.field("input"), message.Verbatim(err.Error()), message.Message{}
		if e, ok := errors.AsType[*walk.TemplateError](err); ok {
			at, text, suggestion = k.column(at.At(e.At), e.Column), e.Localize(), e.Suggestion
		}
		k.r.Error(at, s.ID, "ref.malformed", suggestion, "%s", text)
		return
	}
	n.Input = t
}

// condition compiles each condition of a document once, because compiling is expensive and plans
// are compiled again for every catalog.
func (k *compiler) condition(text string, parse func(string) (*walk.Condition, error)) (*walk.Condition, error) {
	if c, ok := k.d.conditions[text]; ok {
		return c, nil
	}
	c, err := parse(text)
	if err == nil && k.first {
		k.d.conditions[text] = c
	}
	return c, err
}

// schema checks a JSON Schema of the document.
func (k *compiler) schema(v any, at *source.Tree, node string) {
	if v == nil || !k.first {
		return
	}
	key, err := jsonvalue.Encode(v)
	if err == nil {
		if k.d.schemas[string(key)] {
			return
		}
		_, err = jsonschema.Parse(v)
	}
	e, ok := errors.AsType[*jsonschema.Error](err)
	switch {
	case err == nil:
		k.d.schemas[string(key)] = true
	case !ok:
		k.r.Error(at, node, "schema.invalid", message.Message{}, "invalid JSON Schema: %s", err)
	default:
		for _, p := range e.Problems {
			k.r.Error(at.At(p.Path), node, "schema.invalid", message.Message{}, "invalid JSON Schema: %s", p)
		}
	}
}

func (k *compiler) syntax(err error, at *source.Tree, node, what string) {
	e, ok := errors.AsType[*walk.SyntaxError](err)
	if !ok {
		k.r.Error(at, node, "condition.malformed", message.Message{}, "%s: %s", what, err)
		return
	}
	k.r.Error(k.column(at, e.Column), node, "condition.malformed", e.Suggestion, "%s: %s", what, e.Message)
}

// name is a node's id for a message.
func (k *compiler) name(i int) string { return k.p.Nodes[i].ID }

// nodeNames lists all ids, for suggestions.
func (k *compiler) nodeNames() []string {
	names := make([]string, len(k.p.Nodes))
	for i := range k.p.Nodes {
		names[i] = k.p.Nodes[i].ID
	}
	return names
}
