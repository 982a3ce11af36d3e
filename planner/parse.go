package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kairosd/kairosd/planner/walk"
)

// Format of a document.
type Format string

const (
	FormatAuto Format = ""
	FormatYAML Format = "yaml"
	FormatJSON Format = "json"
)

// Document is a parsed plan document; exactly one of Graph and Steps is set. It
// is to be read only, and then safe for concurrent use.
type Document struct {
	Graph *Graph
	Steps *StepPlan
	// ID is the document's id, or "anon-" and 12 hex digits of its hash.
	ID          string
	Name        string
	Description string
	Format      Format
	Source      []byte
	// Hash is the version hash: lower-case hex SHA-256 of Canonical.
	Hash string

	tree      *tree
	text      []byte // Source without a byte order mark
	canonical []byte
	// conditions and schemas that parsing found in order; read-only afterwards.
	conditions map[string]*walk.Condition
	schemas    map[string]bool
	reopened   bool // by Reopen
}

// Kind tells the document's shape.
func (d *Document) Kind() walk.Kind {
	if d.Steps != nil {
		return walk.KindSteps
	}
	return walk.KindGraph
}

// Canonical returns the canonical JSON form that the version hash covers: keys
// sorted, numbers in their shortest form, `x-` keys left out. The order of
// nodes is not part of it: it decides only which of several ready nodes starts
// first, never an outcome.
func (d *Document) Canonical() []byte { return d.canonical }

// Parse reads a document and reports everything that is wrong with it, as far
// as that can be said without knowing an installation ([Document.Check] knows).
// The document is nil when any problem is an error. Parse never panics and its
// time is linear in the source.
func Parse(src []byte, f Format) (*Document, Problems) { return ParseFor(src, f, nil) }

// ParseFor is Parse for an installation: what [Document.Check] would say is
// reported together with everything else.
func ParseFor(src []byte, f Format, c *Catalog) (*Document, Problems) {
	return parseInto(&reporter{}, src, f, c)
}

// Reopen reads a document that was accepted when it was stored. Runs stay with
// their version for life, so a rule that has become stricter since is a warning
// here, as long as the document still compiles to the same program.
func Reopen(src []byte, f Format) (*Document, Problems) {
	return parseInto(&reporter{reopened: true}, src, f, nil)
}

// advisory are the codes of errors that keep a document from being stored, but
// do not change what it compiles to.
var advisory = map[string]bool{
	"secret.inline": true, "secret.not_granted": true, "schema.invalid": true, "plan.id": true, "plan.name": true,
	"node.id_invalid": true, "node.id_reserved": true, "node.plan_version": true, "field.unknown": true, "ref.node_unknown": true, "ref.not_ancestor": true,
	"ref.on_cycle": true, "ref.item": true, "wait.input": true, "wait.until": true, "approval.input": true,
}

func parseInto(r *reporter, src []byte, f Format, c *Catalog) (*Document, Problems) {
	d := parse(src, f, r)
	if d != nil {
		d.compile(c, true, r)
	}
	problems := r.done()
	if r.errors > 0 {
		return nil, problems
	}
	return d, problems
}

func parse(src []byte, f Format, r *reporter) *Document {
	text, ok := checkText(src, r)
	if !ok {
		return nil
	}
	if f == FormatAuto {
		f = FormatOf("", text)
	}
	var t *tree
	if f == FormatJSON {
		t = parseJSON(text, r)
	} else {
		t = parseYAML(text, r)
	}
	if t == nil || r.errors > 0 {
		return nil
	}
	if t.kind != treeMap {
		what := t.kind.String()
		if t.kind == treeNull {
			what = "empty"
		}
		r.error(t, "", "plan.not_object", "write nodes and edges, or steps", "the document is %s, not a plan", what)
		return nil
	}
	d := &Document{Format: f, Source: bytes.Clone(src), text: text, tree: t, conditions: map[string]*walk.Condition{}, schemas: map[string]bool{}, reopened: r.reopened}
	decodeDocument(d, r)
	if d.Graph == nil && d.Steps == nil {
		return nil
	}
	d.seal()
	return d
}

// Check validates a document against an installation's catalog.
func (d *Document) Check(c *Catalog) Problems {
	r := &reporter{}
	d.compile(c, false, r)
	return r.done()
}

// Program compiles a document. With a catalog, node types that are tool names
// become tool nodes; anything that Check calls an error is returned as an
// [*InvalidError].
func (d *Document) Program(c *Catalog) (*walk.Program, error) {
	r := &reporter{reopened: d.reopened}
	p := d.compile(c, false, r)
	if err := r.done().Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// ParseYAML parses and validates a YAML graph. The error is an [*InvalidError].
func ParseYAML(src []byte) (*Graph, error) { return parseGraph(src, FormatYAML) }

// ParseJSON parses and validates a JSON graph. The error is an [*InvalidError].
func ParseJSON(src []byte) (*Graph, error) { return parseGraph(src, FormatJSON) }

// LoadGraph reads a graph from a file, YAML or JSON by its name or content.
func LoadGraph(path string) (*Graph, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	g, err := parseGraph(src, FormatOf(path, src))
	if err != nil {
		return nil, fmt.Errorf("load plan %s: %w", path, err)
	}
	return g, nil
}

func parseGraph(src []byte, f Format) (*Graph, error) {
	d, problems := Parse(src, f)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if d.Graph == nil {
		return nil, &InvalidError{Problems{{Severity: SeverityError, Code: "plan.steps", Message: "the document is a step plan, not a graph",
			Suggestion: "read it with Parse"}}}
	}
	return d.Graph, nil
}

// Validate reports everything that is wrong with a graph built in Go, as an
// [*InvalidError].
func (g *Graph) Validate() error {
	_, err := g.Compile(nil)
	return err
}

// Compile compiles a graph built in Go; see [Document.Program].
func (g *Graph) Compile(c *Catalog) (*walk.Program, error) {
	src, err := MarshalJSON(g, false)
	if err != nil {
		return nil, fmt.Errorf("compile graph: %w", err)
	}
	d, problems := ParseFor(src, FormatJSON, c)
	if err := withoutLines(problems).Err(); err != nil {
		return nil, err
	}
	return d.Program(c)
}

// withoutLines drops positions, which mean nothing to the author of a Graph.
func withoutLines(ps Problems) Problems {
	for i := range ps {
		ps[i].Line, ps[i].Column = 0, 0
	}
	return ps
}

// MarshalJSON writes the problem list as it is; it exists so that a nil list
// becomes [] and not null.
func (ps Problems) MarshalJSON() ([]byte, error) {
	if ps == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Problem(ps))
}

// Is lets errors.Is find [ErrNoStart] and [ErrMultipleStarts].
func (e *InvalidError) Is(target error) bool {
	for _, p := range e.Problems {
		if target == ErrNoStart && p.Code == "graph.no_start" || target == ErrMultipleStarts && p.Code == "graph.multiple_starts" {
			return true
		}
	}
	return false
}

// isExtension reports whether a key is the author's own and ignored.
func isExtension(key string) bool { return strings.HasPrefix(key, "x-") }
