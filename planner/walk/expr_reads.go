package walk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// fieldRead is a value that an expression reads, and the JSON type that the expression requires. An
// empty type means any.
type fieldRead struct {
	root string // output, last, input, or, in gates, result
	node string // if root is output
	path []string
	kind string
}

// Types of a fieldRead.
const (
	kindBoolean = "boolean"
	kindNumber  = "number"
	kindString  = "string"
)

// roots are the names whose members a fieldRead can refer to.
var roots = []string{"output", "last", "input", "result"}

// fieldReads returns what an expression reads, in the order of its text.
func fieldReads(e celast.Expr) []fieldRead {
	var out []fieldRead
	add := func(r fieldRead) {
		for i := range out {
			if out[i].root == r.root && out[i].node == r.node && slices.Equal(out[i].path, r.path) {
				if out[i].kind == "" {
					out[i].kind = r.kind
				}
				return
			}
		}
		out = append(out, r)
	}
	var walk func(e celast.Expr, kind string)
	walk = func(e celast.Expr, kind string) {
		if root, path, ok := memberOf(e); ok {
			r := fieldRead{root: root, path: path, kind: kind}
			if root == "output" {
				if len(path) == 0 {
					return
				}
				r.node, r.path = path[0], path[1:]
			}
			add(r)
			return
		}
		switch e.Kind() {
		case celast.SelectKind:
			if !e.AsSelect().IsTestOnly() { // has(x.y) does not require y
				walk(e.AsSelect().Operand(), "")
			}
		case celast.ListKind:
			for _, x := range e.AsList().Elements() {
				walk(x, "")
			}
		case celast.ComprehensionKind:
			walk(e.AsComprehension().IterRange(), "")
		case celast.CallKind:
			call := e.AsCall()
			args := call.Args()
			if call.IsMemberFunction() {
				walk(call.Target(), "")
			}
			switch name := call.FunctionName(); {
			case name == "_&&_" || name == "_||_" || name == "!_":
				for _, a := range args {
					walk(a, kindBoolean)
				}
			case name == "_?_:_" && len(args) == 3:
				walk(args[0], kindBoolean)
				walk(args[1], kind)
				walk(args[2], kind)
			case slices.Contains([]string{"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"}, name) && len(args) == 2:
				walk(args[0], literalKind(args[1]))
				walk(args[1], literalKind(args[0]))
			default:
				for _, a := range args {
					walk(a, "")
				}
			}
		}
	}
	walk(e, kindBoolean)
	return out
}

// memberOf parses x.y, x["y"], and x for the roots.
func memberOf(e celast.Expr) (root string, path []string, ok bool) {
	switch e.Kind() {
	case celast.IdentKind:
		return e.AsIdent(), nil, slices.Contains(roots, e.AsIdent())
	case celast.SelectKind:
		s := e.AsSelect()
		if s.IsTestOnly() {
			return "", nil, false
		}
		root, path, ok = memberOf(s.Operand())
		return root, append(path, s.FieldName()), ok
	case celast.CallKind:
		args := e.AsCall().Args()
		if e.AsCall().FunctionName() != "_[_]" || len(args) != 2 || args[1].Kind() != celast.LiteralKind {
			return "", nil, false
		}
		key, isText := args[1].AsLiteral().(types.String)
		if !isText {
			return "", nil, false
		}
		root, path, ok = memberOf(args[0])
		return root, append(path, string(key)), ok
	}
	return "", nil, false
}

func literalKind(e celast.Expr) string {
	if e.Kind() == celast.CallKind && e.AsCall().FunctionName() == "-_" && len(e.AsCall().Args()) == 1 {
		e = e.AsCall().Args()[0]
	}
	if e.Kind() != celast.LiteralKind {
		return ""
	}
	switch e.AsLiteral().(type) {
	case types.Bool:
		return kindBoolean
	case types.Double, types.Int, types.Uint:
		return kindNumber
	case types.String:
		return kindString
	}
	return ""
}

// jsonType returns the JSON type of a value.
func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return kindBoolean
	case json.Number, float64, int, int64:
		return kindNumber
	case string:
		return kindString
	case []any:
		return "array"
	}
	return "object"
}

// problem describes why the value of a read is unusable, and saw is the value of its step, of the
// input, or of last. Both are empty if the value is usable.
func (r fieldRead) problem(s *scope, missing bool) (problem, saw string) {
	var whole any
	who := ""
	switch r.root {
	case "output":
		v, ok := s.output(r.node)
		if !ok {
			return missed(missing, r.node+" has no output"), ""
		}
		whole, who = v, r.node
	case "last":
		whole, who = s.last, "last"
	case "input":
		whole, who = s.input, "the input"
	default:
		return "", ""
	}
	v, ok := path(r.path).lookup(whole)
	if !ok {
		return missed(missing, fmt.Sprintf("%s has no field %q", who, strings.Join(r.path, "."))), formatReturned(whole)
	}
	if got := jsonType(v); r.kind != "" && got != r.kind {
		if len(r.path) == 0 {
			return fmt.Sprintf("%s is %s, not %s", who, aKind(got), aKind(r.kind)), formatReturned(whole)
		}
		return fmt.Sprintf("the field %q of %s is %s, not %s", strings.Join(r.path, "."), who, aKind(got), aKind(r.kind)),
			formatReturned(whole)
	}
	return "", ""
}

func missed(counts bool, problem string) string {
	if !counts {
		return ""
	}
	return problem
}

func aKind(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

// maxReturned is the number of bytes that are kept of a value that a condition could not use.
const maxReturned = 1024

// formatReturned formats a value that a condition could not use, for people.
func formatReturned(v any) string {
	text, ok := jsonvalue.TextWithin(v)
	if !ok {
		return "a value that is too large to show"
	}
	if len(text) <= maxReturned {
		return text
	}
	return strings.ToValidUTF8(text[:maxReturned], "") + "…"
}

// firstUnusable finds the first read of an expression without a usable value. It returns the problem in
// words and the value of the step. missing reports whether an absent value counts as a problem.
func (x *expression) firstUnusable(s *scope, missing bool) (problem, saw string) {
	for _, r := range x.reads {
		if problem, saw = r.problem(s, missing); problem != "" {
			return problem, saw
		}
	}
	return "", ""
}

// GateSchema returns the JSON Schema that an output must match so that every gate can be evaluated.
// Gates are expressions over `result`. The schema is nil if the gates require nothing.
func GateSchema(exprs ...string) (map[string]any, error) {
	var out map[string]any
	for _, expr := range exprs {
		reads, err := gateReads(expr)
		if err != nil {
			return nil, err
		}
		for _, r := range reads {
			if out == nil {
				out = map[string]any{}
			}
			require(out, r)
		}
	}
	return out, nil
}

// gateReads returns what an expression reads of `result`.
func gateReads(expr string) ([]fieldRead, error) {
	text := strings.TrimSpace(expr)
	if len(text) > maxExpression {
		return nil, &SyntaxError{
			Message: message.New("the expression has %d bytes; at most %d are allowed", len(text), maxExpression),
			Column:  1,
		}
	}
	if _, at := withoutStrings(text); at >= 0 {
		return nil, &SyntaxError{Message: message.New("the expression is nested deeper than %d levels", maxNesting), Column: at + 1}
	}
	env, err := expressionEnv()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, celError(issues, 0)
	}
	return slices.DeleteFunc(fieldReads(parsed.NativeRep().Expr()), func(r fieldRead) bool { return r.root != "result" }), nil
}

// require adds a read to a schema.
func require(schema map[string]any, r fieldRead) {
	for _, key := range r.path {
		properties, _ := schema["properties"].(map[string]any)
		if properties == nil {
			properties = map[string]any{}
			schema["type"], schema["properties"], schema["required"] = "object", properties, []any{}
		}
		next, _ := properties[key].(map[string]any)
		if next == nil {
			next = map[string]any{}
			required, _ := schema["required"].([]any)
			properties[key], schema["required"] = next, append(required, key)
		}
		schema = next
	}
	if r.kind != "" && schema["type"] == nil {
		schema["type"] = r.kind
	}
}
