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

// RefRoot is the first word of a reference.
type RefRoot string

const (
	RefInput  RefRoot = "input"  // the input of the run
	RefLast   RefRoot = "last"   // the value with which the visit was started
	RefMemory RefRoot = "memory" // the text that the memory returned
	RefItem   RefRoot = "item"   // the item in a foreach
	RefIndex  RefRoot = "index"  // the index of the item, starting at 0
	RefRun    RefRoot = "run"    // facts about the run: run.id, run.slot, run.callback
	RefSecret RefRoot = "secret" // a secret, resolved only when the attempt starts
	RefOutput RefRoot = "output" // the latest output of a node
	RefStatus RefRoot = "status" // how the latest visit of a node settled
	RefValue  RefRoot = "value"  // a constant of the plan
)

// RefRoots lists all roots.
var RefRoots = []RefRoot{RefInput, RefLast, RefMemory, RefItem, RefIndex, RefRun, RefSecret, RefOutput, RefStatus, RefValue}

// Reference is a compiled reference such as ${output.fetch.body.0.id}. It is immutable and safe for
// concurrent use.
type Reference struct {
	// Text is the text between ${ and }.
	Text string
	Root RefRoot
	node string // if Root is RefOutput or RefStatus
	name string // if Root is RefSecret or RefRun
	path path
	// fallback is the value after ??. It replaces null and missing values.
	fallback    any
	hasFallback bool
}

// Node returns the ID of the node whose output or status the reference reads, or "".
func (r *Reference) Node() string { return r.node }

// Secret returns the name of the secret, or "".
func (r *Reference) Secret() string {
	if r.Root != RefSecret {
		return ""
	}
	return r.name
}

// CallbackName is the name with which the callback address of a run is resolved, like a secret. No secret
// has this name.
const CallbackName = "run.callback"

// IsCallback reports whether the reference is to the callback address of the run. It is resolved only
// when the attempt starts.
func (r *Reference) IsCallback() bool { return r.Root == RefRun && r.name == "callback" }

// HasDefault reports whether the reference has a value for missing values.
func (r *Reference) HasDefault() bool { return r.hasFallback }

// ParseReference compiles the text between ${ and }: a root, a path, and optionally ?? and a
// default. The default is a JSON value or a bare word.
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

// parseTarget parses the root and the path, and returns the rest of the text. The column of its
// error starts at 0.
func (r *Reference) parseTarget(body string) (rest string, _ *SyntaxError) {
	n := strings.IndexAny(body, ". \t=!")
	if n < 0 {
		n = len(body)
	}
	word := body[:n]
	if !slices.Contains(RefRoots, RefRoot(word)) {
		suggestion := message.New("references begin with %s", strings.Join(rootNames(), ", "))
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
	case RefStatus:
		if len(p) != 1 {
			return "", &SyntaxError{Message: message.New("status needs the name of a step"), Column: n,
				Suggestion: message.New("write status.<node>, for example ${status.fetch}")}
		}
		r.node = p[0]
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
		if len(p) != 1 || p[0] != "id" && p[0] != "slot" && p[0] != "callback" {
			return "", &SyntaxError{
				Message:    message.New("run has only run.id, run.slot, and run.callback"),
				Column:     n,
				Suggestion: message.New("write %s, %s, or %s", "${run.id}", "${run.slot}", "${run.callback}"),
			}
		}
		r.name = p[0]
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

// scope holds the values that references can read in one visit.
type scope struct {
	input  any
	last   any
	memory any // nil if there is none
	item   any
	index  int // -1 outside a foreach
	runID  string
	slot   string // empty if no schedule started the run
	output func(node string) (any, bool)
	// continued reports whether a node failed with on_error: continue.
	continued func(node string) bool
	secret    func(name string) (string, bool) // if nil, secrets are not resolved
	outputs   func() map[string]any            // all outputs, for expressions
	status    func(node string) Status         // [Skipped] for a node that has not run
	statuses  func() map[string]Status         // all statuses, for expressions
	values    map[string]any                   // constants of the plan
	failure   any                              // `error` in expressions
	meter     *meter                           // charged for conditions
}

// lookup returns the value of a reference. found is false if the value is missing.
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
		switch {
		case r.name == "slot":
			return s.slot, s.slot != ""
		case r.IsCallback() && s.secret == nil:
			return "${" + r.Text + "}", true
		case r.IsCallback():
			return s.secret(CallbackName)
		}
		return s.runID, true
	case RefStatus:
		return string(s.status(r.node)), true
	case RefValue:
		v, found = r.path.lookup(any(s.values))
		return v, found
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

// resolve is lookup with the default applied. A missing value is a permanent failure. A value from
// a node that failed with on_error: continue is null.
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
	case RefRun:
		f.Suggestion = "no schedule started this run; give a default: ${run.slot ?? \"\"}"
		if r.IsCallback() {
			f.Suggestion = "set hooks.url in the configuration to the address at which other systems reach kairosd"
		}
	case RefSecret:
		f.WithMessage("secret %s is not available to this step", r.name)
		f.Suggestion = "configure the secret, and name the tools that may use it"
	case RefOutput:
		why := "step " + r.node + " has no output here"
		if v, ran := s.output(r.node); ran {
			why = r.path.end("output."+r.node, v)
		}
		f.Suggestion = fmt.Sprintf("%s; add a default: ${%s ?? null}", why, r.Text)
	}
	return nil, f
}

// ValidID reports whether s is a valid node ID.
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

// missing describes which value the reference of a condition does not find, and which value is
// there instead.
func (r *Reference) missing(s *scope) (problem, saw string) {
	return fieldRead{root: string(r.Root), node: r.node, path: r.path}.problem(s, true)
}
