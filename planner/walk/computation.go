package walk

import (
	"context"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
)

// Computation is a compiled CEL expression whose result is any JSON value. Tools use it to
// transform data. All numbers are doubles, as in conditions. It is immutable and safe for
// concurrent use.
type Computation struct {
	text    string
	program cel.Program
}

// ParseComputation compiles an expression over the named variables. It supports the string, list,
// set, and math functions of CEL. The error is a [*SyntaxError].
func ParseComputation(text string, variables ...string) (*Computation, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &SyntaxError{Message: message.New("the expression is empty"), Column: 1}
	}
	if len(text) > maxExpression {
		return nil, &SyntaxError{
			Message: message.New("the expression has %d bytes; at most %d are allowed", len(text), maxExpression),
			Column:  1,
		}
	}
	if _, at := withoutStrings(text); at >= 0 {
		return nil, &SyntaxError{Message: message.New("the expression is nested deeper than %d levels", maxNesting), Column: at + 1}
	}
	options := []cel.EnvOption{cel.CrossTypeNumericComparisons(true), ext.Strings(), ext.Sets(), ext.Math(), cel.OptionalTypes()}
	for _, v := range variables {
		options = append(options, cel.Variable(v, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, &SyntaxError{Message: message.Verbatim(err.Error()), Column: 1}
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, computationError(issues, variables)
	}
	doubleNumbers(parsed.NativeRep())
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, computationError(issues, variables)
	}
	c := &Computation{text: text}
	c.program, err = meteredProgram(env, checked)
	if err != nil {
		return nil, &SyntaxError{Message: message.Verbatim(err.Error()), Column: 1}
	}
	return c, nil
}

func computationError(issues *cel.Issues, variables []string) *SyntaxError {
	e := celError(issues, 0)
	if !e.Suggestion.IsZero() {
		e.Suggestion = message.New("the expression can use %s", strings.Join(variables, ", "))
	}
	return e
}

// Evaluate computes the value. It returns an error if the context ends, if the computation takes
// more than 10 s, or if its cost exceeds a limit. The cost covers comparing, copying, and building
// values, and is checked before each operation.
func (c *Computation) Evaluate(ctx context.Context, values map[string]any) (any, error) {
	m := newMeter(ctx, computationCost)
	m.begin(computationCost)
	out, _, err := c.program.Eval(&variables{meter: m, resolve: func(name string) (any, bool) {
		v, ok := values[name]
		return celValue(v), ok
	}})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case m.stopped != nil:
		return nil, fmt.Errorf("expression %s: %w", jsonvalue.Quote(c.text), m.stopped)
	case err != nil:
		return nil, fmt.Errorf("expression %s: %s", jsonvalue.Quote(c.text), clipError(err))
	}
	if err := m.fits(out); err != nil {
		return nil, fmt.Errorf("expression %s: %w", jsonvalue.Quote(c.text), err)
	}
	v, err := fromCEL(out, 0)
	if err != nil {
		return nil, fmt.Errorf("expression %s: %w", jsonvalue.Quote(c.text), err)
	}
	return jsonvalue.Normalize(v)
}

// fromCEL converts a CEL value to a JSON value.
func fromCEL(v ref.Val, depth int) (any, error) {
	if depth > jsonvalue.MaxDepth {
		return nil, jsonvalue.ErrTooDeep
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		return uint64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return fromCEL(v.GetValue(), depth+1)
	case traits.Lister:
		list := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			e, err := fromCEL(it.Next(), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		return list, nil
	case traits.Mapper:
		m := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			k, err := fromCEL(key, depth+1)
			if err != nil {
				return nil, err
			}
			e, err := fromCEL(v.Get(key), depth+1)
			if err != nil {
				return nil, err
			}
			normal, err := jsonvalue.Normalize(k)
			if err != nil {
				return nil, err
			}
			m[jsonvalue.Text(normal)] = e
		}
		return m, nil
	}
	return nil, fmt.Errorf("it gave a %s, which has no JSON form", v.Type().TypeName())
}
