package walk

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	celop "cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
	"github.com/kairosd/kairosd/planner/internal/pattern"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

const (
	// meterName is the name of the meter in a program. No expression can refer to it.
	meterName = "@meter"
)

// variables holds the variables of an expression, and the meter of its evaluation.
type variables struct {
	meter   *meter
	resolve func(name string) (any, bool)
}

func (v *variables) ResolveName(name string) (any, bool) {
	if name == meterName {
		return v.meter, true
	}
	return v.resolve(name)
}

func (*variables) Parent() interpreter.Activation { return nil }

func meterOf(frame *interpreter.ExecutionFrame) *meter {
	v, _ := frame.ResolveName(meterName)
	return v.(*meter)
}

// meteredProgram plans a checked expression so that every operation is charged.
func meteredProgram(env *cel.Env, checked *cel.Ast) (cel.Program, error) {
	return env.Program(
		checked,
		cel.EvalOptions(cel.OptOptimize),
		cel.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
			switch i := i.(type) {
			case interpreter.InterpretableConst:
			case interpreter.InterpretableAttribute:
				return meteredAttribute{i}, nil
			case interpreter.InterpretableConstructor:
				if !allConst(i.InitVals()) {
					return meteredValue{i}, nil
				}
			case interpreter.InterpretableCall:
				return meteredCallOf(i, func() *functions.Overload {
					bindings, err := env.Functions()[i.Function()].Bindings()
					if err != nil {
						return nil
					}
					for _, b := range bindings {
						if b.Operator == i.Function() {
							return b
						}
					}
					return nil
				})
			}
			return i, nil
		}),
	)
}

func allConst(list []interpreter.InterpretableV2) bool {
	for _, i := range list {
		if _, ok := i.(interpreter.InterpretableConst); !ok {
			return false
		}
	}
	return true
}

// meteredAttribute charges for a variable, a member, or a conditional, and for later reads of its
// text.
type meteredAttribute struct {
	interpreter.InterpretableAttribute
}

func (a meteredAttribute) Eval(vars interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(vars))
}

func (a meteredAttribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return charged(meterOf(frame), a.InterpretableAttribute.Exec(frame))
}

// charged charges for a value that exists, and returns it.
func charged(m *meter, v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.String:
		m.text(len(v))
	case types.Bytes:
		m.text(len(v))
	default:
		m.spend(1)
	}
	return v
}

// meteredValue charges for the list or map that it builds.
type meteredValue struct {
	interpreter.InterpretableConstructor
}

func (c meteredValue) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

func (c meteredValue) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableConstructor.Exec(frame)
	meterOf(frame).build(v)
	return v
}

// meteredStep charges for a call whose time is proportional to the length of its texts.
type meteredStep struct{ interpreter.InterpretableV2 }

func (s meteredStep) Eval(vars interpreter.Activation) ref.Val {
	return s.Exec(interpreter.AsFrame(vars))
}

func (s meteredStep) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return charged(meterOf(frame), s.InterpretableV2.Exec(frame))
}

// meteredEqual is == and !=.
type meteredEqual struct {
	id       int64
	lhs, rhs interpreter.InterpretableV2
	negated  bool
}

func (e *meteredEqual) ID() int64 { return e.id }

func (e *meteredEqual) Eval(vars interpreter.Activation) ref.Val {
	return e.Exec(interpreter.AsFrame(vars))
}

func (e *meteredEqual) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	a := e.lhs.Exec(frame)
	if types.IsUnknownOrError(a) {
		return a
	}
	b := e.rhs.Exec(frame)
	if types.IsUnknownOrError(b) {
		return b
	}
	return types.Bool(meterOf(frame).equal(a, b) != e.negated)
}

// operation is a function that is charged before it is called.
type operation func(m *meter, args []ref.Val, call func() ref.Val) ref.Val

type meteredCall struct {
	id   int64
	name string
	args []interpreter.InterpretableV2
	op   operation
	impl *functions.Overload
}

func (c *meteredCall) ID() int64 { return c.id }

func (c *meteredCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

func (c *meteredCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(c.args))
	for i, arg := range c.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	m := meterOf(frame)
	m.spend(1)
	return c.op(m, args, func() ref.Val {
		if c.impl.OperandTrait != 0 && !args[0].Type().HasTrait(c.impl.OperandTrait) {
			return types.NewErr("no such overload: %s", c.name)
		}
		switch {
		case len(args) == 1 && c.impl.Unary != nil:
			return c.impl.Unary(args[0])
		case len(args) == 2 && c.impl.Binary != nil:
			return c.impl.Binary(args[0], args[1])
		case c.impl.Function != nil:
			return c.impl.Function(args...)
		}
		return types.NewErr("no such overload: %s", c.name)
	})
}

func meteredCallOf(call interpreter.InterpretableCall, impl func() *functions.Overload) (interpreter.InterpretableV2, error) {
	name, args := call.Function(), call.Args()
	op := operations[name]
	switch {
	case len(args) == 2 && (name == celop.Equals || name == celop.NotEquals):
		return &meteredEqual{call.ID(), args[0], args[1], name == celop.NotEquals}, nil
	case name == celop.In && allConst(args[1:]), overloads.IsTypeConversionFunction(name) && allConst(args):
		return call, nil // CEL evaluates constants once, when the program is planned
	case name == overloads.Matches && len(args) == 2:
		op = matches
		if c, ok := args[1].(interpreter.InterpretableConst); ok {
			if text, ok := c.Value().(types.String); ok {
				re, size, err := pattern.Compile(string(text))
				if err != nil {
					return nil, err
				}
				op = func(m *meter, args []ref.Val, call func() ref.Val) ref.Val { return match(m, re, size, args[0]) }
			}
		}
	}
	if op == nil {
		return meteredStep{call}, nil
	}
	binding := impl()
	if binding == nil {
		return nil, fmt.Errorf("the function %s has no implementation", name)
	}
	return &meteredCall{id: call.ID(), name: name, args: args, op: op, impl: binding}, nil
}

var operations = map[string]operation{
	celop.Add: add,
	celop.In: func(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
		if list, ok := args[1].(traits.Lister); ok {
			return types.Bool(m.contains(list, args[0]))
		}
		return call()
	},
	"sets.contains":   sets(func(m *meter, a, b traits.Lister) bool { return m.containsAll(a, b) }),
	"sets.equivalent": sets(func(m *meter, a, b traits.Lister) bool { return m.containsAll(a, b) && m.containsAll(b, a) }),
	"sets.intersects": sets(func(m *meter, a, b traits.Lister) bool {
		for it := a.Iterator(); it.HasNext() == types.True; {
			if m.contains(b, it.Next()) {
				return true
			}
		}
		return false
	}),
	"indexOf":     search,
	"lastIndexOf": search,
	"replace":     replace,
	"split":       split,
	"join":        join,
	"format":      format,
}

func (m *meter) containsAll(list, sub traits.Lister) bool {
	for it := sub.Iterator(); it.HasNext() == types.True; {
		if !m.contains(list, it.Next()) {
			return false
		}
	}
	return true
}

func sets(holds func(m *meter, a, b traits.Lister) bool) operation {
	return func(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
		a, okA := args[0].(traits.Lister)
		b, okB := args[1].(traits.Lister)
		if !okA || !okB {
			return call()
		}
		return types.Bool(holds(m, a, b))
	}
}

// add charges for texts and lists before they are joined. A macro such as map appends to its list
// in place, and its elements have been charged.
func add(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	switch a := args[0].(type) {
	case types.String:
		if b, ok := args[1].(types.String); ok {
			m.spend(buildFactor * (1 + (len(a)+len(b))/costBytes))
		}
	case types.Bytes:
		if b, ok := args[1].(types.Bytes); ok {
			m.spend(buildFactor * (1 + (len(a)+len(b))/costBytes))
		}
	case traits.MutableLister:
	case traits.Lister:
		b, ok := args[1].(traits.Lister)
		if !ok {
			break
		}
		m.build(a)
		m.build(b)
		// The result is flat. CEL would nest the lists, and read all of them for every item.
		var items []ref.Val
		for _, list := range []traits.Lister{a, b} {
			for it := list.Iterator(); it.HasNext() == types.True; {
				items = append(items, it.Next())
			}
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items)
	}
	return call()
}

func texts(args []ref.Val) []string {
	out := make([]string, len(args))
	for i, v := range args {
		s, _ := v.(types.String)
		out[i] = string(s)
	}
	return out
}

// search charges for a search that may compare at every position.
func search(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	s := texts(args)
	m.product(len(s[0])+1, len(s[1])+1, pattern.StepsPerUnit)
	return call()
}

func replace(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	s := texts(args)
	if len(s) < 3 {
		return call()
	}
	m.text(len(s[0]))
	m.product(strings.Count(s[0], s[1]), len(s[2])+costBytes, costBytes/buildFactor)
	return call()
}

func split(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	s := texts(args)
	m.text(len(s[0]))
	if len(s) > 1 {
		m.spend(buildFactor * (2 + strings.Count(s[0], s[1])))
	}
	return call()
}

func join(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return call()
	}
	m.build(list)
	if len(args) > 1 {
		n, _ := list.Size().(types.Int)
		m.product(int(n), len(texts(args)[1])+1, costBytes/buildFactor)
	}
	return call()
}

// format charges for its output. Each clause prints a number of at most 400 digits, or one of the
// arguments.
func format(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	s := texts(args)
	m.text(len(s[0]))
	m.product(strings.Count(s[0], "%"), 400, costBytes)
	if len(args) > 1 {
		m.build(args[1])
	}
	return call()
}

// matches compiles a pattern that is not a constant.
func matches(m *meter, args []ref.Val, call func() ref.Val) ref.Val {
	text, ok := args[1].(types.String)
	if !ok {
		return call()
	}
	if len(text) > maxExpression {
		return types.NewErr("regular expression of %d bytes; at most %d are allowed", len(text), maxExpression)
	}
	m.spend(len(text))
	re, size, err := pattern.Compile(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	m.spend(size)
	return match(m, re, size, args[0])
}

// match charges for as many steps as the pattern may take over the text.
func match(m *meter, re *regexp.Regexp, size int, v ref.Val) ref.Val {
	text, ok := v.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	m.product(len(text)+1, size, pattern.StepsPerUnit)
	return types.Bool(re.MatchString(string(text)))
}

// clipError shortens an error of CEL, which may quote a whole value.
func clipError(err error) string {
	const most = 500
	text := err.Error()
	if len(text) > most {
		return jsonvalue.ValidString(text[:most]) + "…"
	}
	return text
}
