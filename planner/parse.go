package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kairosd/kairosd/planner/internal/foreign"
	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/internal/variants"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// Format is the syntax of a document.
type Format string

const (
	FormatAuto Format = "" // by content: a document that begins with { or [ is JSON
	FormatYAML Format = "yaml"
	FormatJSON Format = "json"
)

// Document is a parsed plan document. Exactly one of Graph and Steps is set. Do not change it; it
// is then safe for concurrent use.
type Document struct {
	Graph *Graph
	Steps *StepPlan
	// ID is the document's ID, or "anon-" and the first 12 hex digits of its hash.
	ID          string
	Name        string
	Description string
	Format      Format
	Source      []byte
	// Hash is the version hash: the lowercase hex SHA-256 of Canonical.
	Hash string
	// Profiles are the names of the declared profiles, in the order of the document. Profile is the one whose
	// settings Graph has, or empty; see [WithProfile]. Source and Canonical are those of the whole document.
	Profiles []string
	Profile  string

	whole     *source.Tree // of a document with a profile: the tree with all profiles
	tree      *source.Tree
	text      []byte // Source without a byte order mark
	canonical []byte
	// conditions and schemas that parsing found to be valid; read-only after parsing.
	conditions map[string]*walk.Condition
	schemas    map[string]bool
	lenient    bool                       // by WithLenientRules
	semantics  int                        // by WithSemantics
	blocks     map[*source.Tree]*Document // by the value of do:
	outer      *Document                  // the document that contains this block
	depth      int                        // number of blocks around it
	count      *int                       // number of blocks in the outermost document
	declared   []variants.Profile
	variants   []*Document // with each profile, if Parse checked them
}

// Kind returns the kind of the document: graph or step plan.
func (d *Document) Kind() walk.Kind {
	if d.Steps != nil {
		return walk.KindSteps
	}
	return walk.KindGraph
}

// Canonical returns the canonical JSON form that the version hash covers: sorted keys, numbers in
// their shortest form, and no `x-` keys. It does not cover the order of nodes, which decides only
// which of several ready nodes starts first, and never a result.
func (d *Document) Canonical() []byte { return d.canonical }

// ParseOption changes how [Parse] reads a document.
type ParseOption func(*parsing)

// parsing holds the options of [Parse].
type parsing struct {
	format    Format
	catalog   *Catalog
	lenient   bool
	semantics int
	profile   string
	only      bool // other profiles are not checked
}

// WithFormat sets the format of the document. The default is [FormatAuto].
func WithFormat(f Format) ParseOption { return func(p *parsing) { p.format = f } }

// WithCatalog also checks the names of tools, agents, and skills, as [Document.Check] does.
// A nil catalog checks none, which is the default.
func WithCatalog(c *Catalog) ParseOption { return func(p *parsing) { p.catalog = c } }

// WithLenientRules accepts a document that an earlier version of this package accepted. Errors of
// rules that do not change the compiled program become warnings.
func WithLenientRules() ParseOption { return func(p *parsing) { p.lenient = true } }

// WithSemantics compiles a document by the rules of an earlier [walk.Semantics], with which it was stored.
func WithSemantics(n int) ParseOption { return func(p *parsing) { p.semantics = n } }

// strict decides what happens in a document that does not state it.
func (d *Document) strict(given *bool) bool {
	if given != nil {
		return *given
	}
	return d.semantics >= walk.SemanticsStrict
}

// Parse reads a plan document, at most [MaxDocument] bytes long, and reports all its problems
// with line and column. The document is nil if any problem is an error ([Problems.Err]); warnings
// come with a document. Parse never panics, and its time is linear in the size of the source.
func Parse(src []byte, options ...ParseOption) (*Document, Problems) {
	p := parsing{semantics: walk.Semantics}
	for _, o := range options {
		o(&p)
	}
	r := &reporter{lenient: p.lenient}
	d := parse(src, p, r)
	if d != nil {
		d.compile(p.catalog, true, r)
		checkSchedule(d, p.catalog, r)
		if !p.only {
			d.checkProfiles(p.catalog, r)
		}
	}
	problems := r.done()
	if r.errors > 0 {
		return nil, problems
	}
	return d, problems
}

// advisory are the codes of errors that prevent a document from being stored, but do not change its
// compiled program.
var advisory = map[string]bool{
	"secret.inline": true, "secret.not_granted": true, "schema.invalid": true, "plan.id": true, "plan.name": true,
	"node.id_invalid": true, "node.id_reserved": true, "node.plan_version": true, "plan.file": true, "field.unknown": true,
	"ref.node_unknown": true, "ref.not_ancestor": true, "callback.not_granted": true,
	"ref.on_cycle": true, "ref.item": true, "wait.input": true, "wait.until": true, "approval.input": true,
}

func parse(src []byte, p parsing, r *reporter) *Document {
	f := p.format
	text, ok := source.CheckText(src, r)
	if !ok {
		return nil
	}
	if f == FormatAuto {
		f = FormatOf("", text)
	}
	var t *source.Tree
	if f == FormatJSON {
		t = source.ParseJSON(text, r)
	} else {
		t = source.ParseYAML(text, r)
	}
	broken := t == nil || r.errors > 0
	if (broken || t.Kind != source.Map) && f == FormatYAML && foreign.Markdown(text, broken) {
		*r = reporter{lenient: r.lenient}
		r.Error(&source.Tree{Line: 1, Column: 1}, "", "plan.foreign", message.New("write the plan into a YAML file of its own"),
			"this is %s, not a plan", message.New("a page of Markdown"))
		return nil
	}
	if broken {
		return nil
	}
	if t.Kind != source.Map {
		what := t.Kind.String()
		if t.Kind == source.Null {
			what = "empty"
		}
		r.Error(t, "", "plan.not_object", message.New("write nodes and edges, or steps"), "the document is %s, not a plan", what)
		return nil
	}
	d := &Document{
		Format:     f,
		Source:     bytes.Clone(src),
		text:       text,
		tree:       t,
		conditions: map[string]*walk.Condition{},
		schemas:    map[string]bool{},
		lenient:    r.lenient,
		semantics:  p.semantics,
	}
	if !d.prepare(r) {
		return nil
	}
	for _, profile := range d.declared {
		if profile.Name == p.profile {
			return d.variant(profile, r)
		}
	}
	return d.decode(r)
}

// decode sets Graph or Steps, the hash, and the id. It returns nil if neither can be decoded.
func (d *Document) decode(r *reporter) *Document {
	d.blocks, d.count = map[*source.Tree]*Document{}, new(int)
	decodeDocument(d, r)
	if d.Graph == nil && d.Steps == nil {
		return nil
	}
	d.seal()
	sealBlocks(d)
	return d
}

// Check reports the problems that the document has with a catalog: unknown tools, agents, and
// skills, and inputs that do not match a tool's schema.
func (d *Document) Check(c *Catalog) Problems {
	r := &reporter{}
	d.compile(c, false, r)
	checkSchedule(d, c, r)
	d.recheckProfiles(c, r)
	return r.done()
}

// Program compiles a document. With a catalog, nodes whose type is the name of a tool become tool
// nodes. If Check reports an error, Program returns it as an [*InvalidError].
func (d *Document) Program(c *Catalog) (*walk.Program, error) {
	r := &reporter{lenient: d.lenient}
	p := d.compile(c, false, r)
	if err := r.done().Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// ParseYAML is [Parse] for a graph in YAML, for use with an [Executor]. The error is an
// [*InvalidError]. A step plan is an error.
func ParseYAML(src []byte) (*Graph, error) { return parseGraph(src, FormatYAML) }

func parseGraph(src []byte, f Format) (*Graph, error) {
	d, problems := Parse(src, WithFormat(f))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if d.Graph == nil {
		return nil, &InvalidError{
			Problems{{Severity: SeverityError, Code: "plan.steps", Message: message.New("the document is a step plan, not a graph"),
				Suggestion: message.New("read it with Parse")}},
		}
	}
	return d.Graph, nil
}

// Validate returns all problems of a graph built in Go, as an [*InvalidError].
func (g *Graph) Validate() error {
	_, err := g.Compile(nil)
	return err
}

// Compile compiles a graph built in Go; see [Document.Program]. If the graph does not set Strict, a branch
// ends where no edge matches.
func (g *Graph) Compile(c *Catalog) (*walk.Program, error) {
	if g == nil {
		return nil, errors.New("compile graph: no graph")
	}
	src, err := g.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("compile graph: %w", err)
	}
	d, problems := Parse(src, WithFormat(FormatJSON), WithCatalog(c))
	if err := withoutLines(problems).Err(); err != nil {
		return nil, err
	}
	p, err := d.Program(c)
	if err == nil && g.Strict == nil {
		p.Strict = false
		walk.EachNode(p, func(_ string, n *walk.ProgramNode) {
			if n.Block != nil {
				n.Block.Program.Strict = false
			}
		})
	}
	return p, err
}

// withoutLines drops positions, which have no meaning for a Graph built in Go.
func withoutLines(ps Problems) Problems {
	for i := range ps {
		ps[i].Line, ps[i].Column = 0, 0
	}
	return ps
}

// MarshalJSON writes the problems as a list. A nil list becomes [] and not null.
func (ps Problems) MarshalJSON() ([]byte, error) {
	if ps == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Problem(ps))
}

// Is makes errors.Is find [ErrNoStart] and [ErrMultipleStarts].
func (e *InvalidError) Is(target error) bool {
	for _, p := range e.Problems {
		if target == ErrNoStart && p.Code == "graph.no_start" || target == ErrMultipleStarts && p.Code == "graph.multiple_starts" {
			return true
		}
	}
	return false
}

// isExtension reports whether a key is an extension of the author, which is ignored.
func isExtension(key string) bool { return strings.HasPrefix(key, "x-") }
