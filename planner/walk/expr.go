package walk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/suggest"
)

const (
	// maxExpression is the longest condition in bytes, and maxNesting its deepest nesting. Both are
	// checked before parsing, so that no text can exhaust the stack.
	maxExpression = 4096
	maxNesting    = 32
)

// expression is a compiled CEL expression. All numbers are doubles.
type expression struct {
	text     string
	tree     celast.Expr
	program  cel.Program
	nodes    []string // whose outputs it reads
	statuses []string // whose statuses it reads
	allNodes bool     // reads `output` or `status` as a whole or by a computed key
	memory   bool     // reads `memory`
	reads    []fieldRead
}

// expressionNames are the variables of an expression.
var expressionNames = []string{"last", "input", "output", "status", "value", "memory", "item", "index", "error"}

var expressionEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("last", cel.DynType),
		cel.Variable("input", cel.DynType),
		cel.Variable("output", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("status", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("value", cel.DynType),
		cel.Variable("memory", cel.DynType),
		cel.Variable("item", cel.DynType),
		cel.Variable("index", cel.DynType),
		cel.Variable("error", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
	)
})

// dashed finds output.step-1, which CEL would parse as a subtraction.
var dashed = regexp.MustCompile(`\b(output|status)\.([A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)+)`)

// compileExpression compiles a condition, or with anyResult an expression that gives any JSON value.
func compileExpression(src string, anyResult bool) (*expression, *SyntaxError) {
	text := strings.TrimSpace(src)
	lead := strings.Index(src, text)
	if text == "" {
		return nil, &SyntaxError{Message: message.New("the expression is empty"), Column: 1}
	}
	if len(text) > maxExpression {
		return nil, &SyntaxError{
			Message: message.New("the expression has %d bytes; at most %d are allowed", len(text), maxExpression),
			Column:  1,
		}
	}
	bare, at := withoutStrings(text)
	if at >= 0 {
		return nil, &SyntaxError{Message: message.New("the expression is nested deeper than %d levels", maxNesting), Column: lead + at + 1}
	}
	if m := dashed.FindStringSubmatchIndex(bare); m != nil {
		root, id := text[m[2]:m[3]], text[m[4]:m[5]]
		return nil, &SyntaxError{Message: message.New("%s.%s would be read as a subtraction", root, id), Column: lead + m[0] + 1,
			Suggestion: message.New("write %s[%q]", root, id)}
	}
	if i := strings.IndexAny(bare, "＝≤≥≠“”‘’"); i >= 0 {
		return nil, &SyntaxError{Message: message.New("invalid character"), Column: lead + i + 1,
			Suggestion: message.New("use the plain characters ==, !=, <=, >= and straight quotes")}
	}
	env, err := expressionEnv()
	if err != nil {
		return nil, &SyntaxError{Message: message.Verbatim(err.Error()), Column: 1}
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, celError(issues, lead)
	}
	tree := parsed.NativeRep()
	doubleNumbers(tree)
	x := &expression{text: text, tree: tree.Expr()}
	x.collect(tree.Expr())
	if !anyResult {
		x.reads = fieldReads(tree.Expr())
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, celError(issues, lead)
	}
	if t := checked.OutputType(); !anyResult && !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, &SyntaxError{Message: message.New("the result of the expression is %s, not true or false", t), Column: lead + 1}
	}
	x.program, err = meteredProgram(env, checked)
	if err != nil {
		return nil, &SyntaxError{Message: message.Verbatim(err.Error()), Column: lead + 1}
	}
	return x, nil
}

// withoutStrings replaces string literals with blanks. tooDeep is the position at which brackets or
// prefix operators are nested deeper than maxNesting, or -1.
func withoutStrings(text string) (bare string, tooDeep int) {
	b := []byte(text)
	depth, prefix := 0, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '"', '\'':
			for i++; i < len(b) && b[i] != c; i++ {
				if b[i] == '\\' && i+1 < len(b) {
					b[i] = ' '
					i++
				}
				b[i] = ' '
			}
		case '(', '[', '{':
			if depth++; depth > maxNesting {
				return "", i
			}
		case ')', ']', '}':
			depth--
		case '!', '-', '?':
			if prefix++; prefix > 4*maxNesting {
				return "", i
			}
		}
	}
	return string(b), -1
}

func celError(issues *cel.Issues, lead int) *SyntaxError {
	first := issues.Errors()[0]
	text, _, _ := strings.Cut(strings.TrimPrefix(first.Message, "Syntax error: "), "\n")
	text, _, _ = strings.Cut(text, " expecting ")
	what := message.Verbatim(text)
	if strings.Contains(text, "'<EOF>'") {
		what = message.New("unexpected end of the expression")
	}
	e := &SyntaxError{Message: what, Column: lead + first.Location.Column() + 1}
	if name, ok := strings.CutPrefix(text, "undeclared reference to '"); ok {
		name, _, _ = strings.Cut(name, "'")
		e.Message = message.New("unknown name %s", jsonvalue.Quote(name))
		e.Suggestion = message.New("expressions can use %s", strings.Join(expressionNames, ", "))
		if near := suggest.Nearest(name, expressionNames); near != "" {
			e.Suggestion = message.New("did you mean %s?", near)
		}
	}
	return e
}

// doubleNumbers makes every number of the expression a double, so that `1`, 1.0, and values from
// JSON can be combined. Integer literals become doubles, except indexes, which accept both.
// Functions that count return doubles.
func doubleNumbers(tree *celast.AST) {
	id := celast.MaxID(tree)
	factory := celast.NewExprFactory()
	celast.PostOrderVisit(tree.Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.LiteralKind:
			switch v := e.AsLiteral().(type) {
			case types.Int:
				e.SetKindCase(factory.NewLiteral(e.ID(), types.Double(v)))
			case types.Uint:
				e.SetKindCase(factory.NewLiteral(e.ID(), types.Double(v)))
			}
		case celast.CallKind:
			call := e.AsCall()
			if name := call.FunctionName(); name != "size" && name != "int" {
				return
			}
			var inner celast.Expr
			if call.IsMemberFunction() {
				inner = factory.NewMemberCall(id, call.FunctionName(), call.Target(), call.Args()...)
			} else {
				inner = factory.NewCall(id, call.FunctionName(), call.Args()...)
			}
			id++
			e.SetKindCase(factory.NewCall(e.ID(), "double", inner))
		}
	}))
}

// collect records the nodes whose outputs and statuses the expression reads.
func (x *expression) collect(e celast.Expr) {
	reads := map[int64]bool{} // IDs of identifiers that have been handled
	note := func(operand celast.Expr, key string) {
		reads[operand.ID()] = true
		list := &x.nodes
		if operand.AsIdent() == "status" {
			list = &x.statuses
		}
		if !slices.Contains(*list, key) {
			*list = append(*list, key)
		}
	}
	ofStep := func(e celast.Expr) bool {
		return e.Kind() == celast.IdentKind && (e.AsIdent() == "output" || e.AsIdent() == "status")
	}
	celast.PreOrderVisit(e, celast.NewExprVisitor(func(e celast.Expr) {
		switch e.Kind() {
		case celast.SelectKind:
			if s := e.AsSelect(); ofStep(s.Operand()) {
				note(s.Operand(), s.FieldName())
			}
		case celast.CallKind:
			args := e.AsCall().Args()
			if e.AsCall().FunctionName() == "_[_]" && len(args) == 2 && ofStep(args[0]) && args[1].Kind() == celast.LiteralKind {
				if key, ok := args[1].AsLiteral().(types.String); ok {
					note(args[0], string(key))
				}
			}
		case celast.IdentKind:
			x.memory = x.memory || e.AsIdent() == "memory"
			if ofStep(e) && !reads[e.ID()] {
				x.allNodes = true
			}
		}
	}))
	slices.Sort(x.nodes)
	slices.Sort(x.statuses)
}

// evaluate runs a condition. It returns an error if the expression fails, if its result is not a
// boolean, or if its cost is too high.
func (x *expression) evaluate(s *scope) (bool, error) {
	out, err := x.run(s)
	if err != nil {
		return false, err
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it gave a %s, not true or false", out.Type().TypeName())
	}
	return holds, nil
}

// compute runs an expression that gives any JSON value.
func (x *expression) compute(s *scope) (any, error) {
	if s.meter == nil {
		s.meter = newMeter(context.Background(), computationCost)
	}
	out, err := x.run(s)
	if err != nil {
		return nil, err
	}
	if err := s.meter.fits(out); err != nil {
		return nil, err
	}
	v, err := fromCEL(out, 0)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Normalize(v)
}

func (x *expression) run(s *scope) (ref.Val, error) {
	m := s.meter
	m.begin(expressionCost)
	defer m.end()
	out, _, err := x.program.Eval(&variables{meter: m, resolve: func(name string) (any, bool) { return x.variable(s, name) }})
	switch {
	case m.stopped != nil:
		return nil, m.stopped
	case err != nil:
		return nil, errors.New(clipError(err))
	}
	return out, nil
}

// variable returns the value that the expression reads under a name.
func (x *expression) variable(s *scope, name string) (any, bool) {
	switch name {
	case "last":
		return celValue(s.last), true
	case "input":
		return celValue(s.input), true
	case "memory":
		return celValue(s.memory), true
	case "item":
		return celValue(s.item), true
	case "error":
		return celValue(s.failure), true
	case "index":
		if s.index >= 0 {
			return float64(s.index), true
		}
		return nil, true
	case "value":
		return celValue(s.values), true
	case "status":
		status := make(map[string]any, len(x.statuses))
		for _, node := range x.statuses {
			status[node] = string(s.status(node))
		}
		if x.allNodes && s.statuses != nil {
			for node, st := range s.statuses() {
				status[node] = string(st)
			}
		}
		return celValue(status), true
	case "output":
		output := make(map[string]any, len(x.nodes))
		for _, node := range x.nodes {
			if v, ok := s.output(node); ok {
				output[node] = v
			}
		}
		if x.allNodes && s.outputs != nil {
			maps.Copy(output, s.outputs())
		}
		return celValue(output), true
	}
	return nil, false
}
