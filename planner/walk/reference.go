package walk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
)

// RefRoot is the first word of a reference: what it speaks of.
type RefRoot string

const (
	RefInput  RefRoot = "input"  // the run's input
	RefLast   RefRoot = "last"   // the value this visit was started with
	RefMemory RefRoot = "memory" // what memory returned
	RefItem   RefRoot = "item"   // the item of a foreach
	RefIndex  RefRoot = "index"  // its index, from 0
	RefRun    RefRoot = "run"    // facts of the run: run.id
	RefSecret RefRoot = "secret" // a secret, resolved only at dispatch
	RefOutput RefRoot = "output" // a node's latest output
)

// RefRoots lists every root; node ids may not take these names, apart from
// "output" and "error", which the language leaves free.
var RefRoots = []RefRoot{RefInput, RefLast, RefMemory, RefItem, RefIndex, RefRun, RefSecret, RefOutput}

// Reference is a compiled reference such as ${output.fetch.body.0.id}.
type Reference struct {
	// Text is what stands between ${ and }, as written.
	Text string
	Root RefRoot
	node string // of RefOutput
	name string // of RefSecret
	path path
	// fallback is the value after ??, used in place of null and of nothing.
	fallback    any
	hasFallback bool
}

// Node is the node whose output is referred to, or "".
func (r *Reference) Node() string { return r.node }

// Secret is the name of the secret referred to, or "".
func (r *Reference) Secret() string { return r.name }

// HasDefault reports whether the reference gives a value for "nothing there".
func (r *Reference) HasDefault() bool { return r.hasFallback }

// ParseReference compiles what stands between ${ and }: a root, a path, and
// optionally ?? and a default, which is a JSON value or a bare word.
func ParseReference(text string) (*Reference, error) {
	r := &Reference{Text: text}
	body := text
	if i := strings.Index(text, "??"); i >= 0 {
		body = text[:i]
		fallback := strings.TrimSpace(text[i+2:])
		if fallback == "" {
			return nil, &SyntaxError{Message: message.New("the default after ?? is missing"), Column: i + 3,
				Suggestion: message.New("write a default, for example ${input.name ?? \"unknown\"}")}
		}
		v, err := jsonvalue.Decode([]byte(fallback))
		if err != nil {
			return nil, &SyntaxError{Message: message.New("the default %s is not a JSON value", jsonvalue.Quote(fallback)), Column: i + 3,
				Suggestion: message.New("put text in double quotes")}
		}
		r.fallback, r.hasFallback = v, true
	}
	body = strings.TrimSpace(body)
	offset := strings.Index(text, body) + 1
	rest, err := r.parseTarget(body)
	if err != nil {
		err.Column += offset
		return nil, err
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		return nil, &SyntaxError{Message: message.New("unexpected %s in reference %s", jsonvalue.Quote(rest), jsonvalue.Quote(text)),
			Column: offset + len(body) - len(rest), Suggestion: message.New("quote keys with other characters: .\"some key\"")}
	}
	return r, nil
}

// parseTarget reads root and path and returns what follows; the column of its
// error counts from 0.
func (r *Reference) parseTarget(body string) (rest string, _ *SyntaxError) {
	n := strings.IndexAny(body, ". \t=!")
	if n < 0 {
		n = len(body)
	}
	word := body[:n]
	if !slices.Contains(RefRoots, RefRoot(word)) {
		suggestion := message.New("references begin with input, last, memory, item, index, run, secret, or output")
		if near := suggest.Nearest(word, rootNames()); near != "" {
			suggestion = message.New("did you mean %s?", near)
		} else if ValidID(word) {
			suggestion = message.New("write output.%s for the output of a step", word)
		}
		return "", &SyntaxError{Message: message.New("unknown reference %s", jsonvalue.Quote(word)), Suggestion: suggestion}
	}
	r.Root = RefRoot(word)
	p, rest, err := parsePath(body[n:])
	if err != nil {
		return "", &SyntaxError{Message: message.New("%s in %s", err, jsonvalue.Quote(body)), Column: n}
	}
	switch r.Root {
	case RefOutput:
		if len(p) == 0 {
			return "", &SyntaxError{
				Message:    message.New("output needs the name of a step"),
				Column:     n,
				Suggestion: message.New("write output.<node>, for example ${output.fetch}"),
			}
		}
		r.node, r.path = p[0], p[1:]
	case RefSecret:
		if len(p) != 1 {
			return "", &SyntaxError{
				Message:    message.New("a reference to a secret has no path"),
				Column:     n,
				Suggestion: message.New("write %s", "${secret.NAME}"),
			}
		}
		r.name = p[0]
	case RefRun:
		if len(p) != 1 || p[0] != "id" {
			return "", &SyntaxError{
				Message:    message.New("run has only run.id"),
				Column:     n,
				Suggestion: message.New("write %s", "${run.id}"),
			}
		}
	default:
		r.path = p
	}
	return rest, nil
}

func rootNames() []string {
	names := make([]string, len(RefRoots))
	for i, r := range RefRoots {
		names[i] = string(r)
	}
	return names
}

// scope is where references are looked up during one visit.
type scope struct {
	input  any
	last   any
	memory any // nil: absent
	item   any
	index  int // -1: no foreach
	runID  string
	output func(node string) (any, bool)
	// continued reports whether a node failed under on_error: continue.
	continued func(node string) bool
	secret    func(name string) (string, bool) // nil: secrets stay as written
	outputs   func() map[string]any            // every output, for expressions
	failure   any                              // `error` in expressions
	meter     *meter                           // pays for conditions
}

// lookup finds the value a reference names; found is false for "nothing there".
func (r *Reference) lookup(s *scope) (v any, found bool) {
	switch r.Root {
	case RefInput:
		v, found = r.path.lookup(s.input)
		return v, found || len(r.path) == 0
	case RefLast:
		v, found = r.path.lookup(s.last)
		return v, found || len(r.path) == 0
	case RefMemory:
		if s.memory == nil {
			return nil, false
		}
		return lookupFrom(s.memory, r.path)
	case RefItem:
		if s.index < 0 {
			return nil, false
		}
		return lookupFrom(s.item, r.path)
	case RefIndex:
		if s.index < 0 {
			return nil, false
		}
		return json.Number(strconv.Itoa(s.index)), true
	case RefRun:
		return s.runID, true
	case RefSecret:
		if s.secret == nil {
			return "${" + r.Text + "}", true
		}
		return s.secret(r.name)
	case RefOutput:
		v, ok := s.output(r.node)
		if !ok {
			return nil, false
		}
		return lookupFrom(v, r.path)
	}
	return nil, false
}

func lookupFrom(v any, p path) (any, bool) {
	if len(p) == 0 {
		return v, true
	}
	return p.lookup(v)
}

// resolve is lookup with the default applied. A reference to nothing is a
// permanent failure, without retry. One into the output of a node that failed under
// on_error: continue gives null.
func (r *Reference) resolve(s *scope) (any, *Failure) {
	if v, ok := r.lookup(s); ok && (v != nil || !r.hasFallback) {
		return v, nil
	}
	if r.hasFallback {
		return r.fallback, nil
	}
	if r.Root == RefOutput && s.continued != nil && s.continued(r.node) {
		return nil, nil
	}
	f := (&Failure{
		Code:      CodeUnresolvedReference,
		Permanent: true,
		NoEffect:  true,
	}).WithMessage("unresolved reference ${%s}", r.Text)
	switch r.Root {
	case RefSecret:
		f.WithMessage("secret %s is not available to this node", r.name)
		f.Suggestion = "configure the secret, and name the tools that may use it"
	case RefOutput:
		if _, ran := s.output(r.node); !ran {
			f.Suggestion = fmt.Sprintf("node %s has no output here; give a default: ${%s ?? null}", r.node, r.Text)
		} else {
			f.Suggestion = fmt.Sprintf("the output of %s has no such path; give a default: ${%s ?? null}", r.node, r.Text)
		}
	}
	return nil, f
}

// ValidID reports whether s is a legal node id.
func ValidID(s string) bool {
	if s == "" || len(s) > 128 || s[0] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// missing returns in words what a reference of a condition does not find, and what is
// there instead.
func (r *Reference) missing(s *scope) (problem, saw string) {
	return fieldRead{root: string(r.Root), node: r.node, path: r.path}.problem(s, true)
}
