package walk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

const (
	// expressionCost limits the evaluation of one condition to about 0.1 s. decisionCost limits all
	// conditions that one settlement evaluates to a few seconds, so that neither a cancel nor a
	// shutdown waits longer.
	expressionCost = 100_000
	decisionCost   = 1_000_000
	// computationCost limits one computation. It suffices to transform a list of 10,000 items.
	computationCost = 5_000_000
	// evaluationTime ends an evaluation whose cost was estimated too low.
	evaluationTime = 10 * time.Second
	// checkEvery is the number of units between two checks of the context.
	checkEvery = 1000
	// costBytes is the number of bytes of text that cost one unit.
	costBytes = 32
	// plainBytes is costBytes for plain conditions, which read a text only once.
	plainBytes = 256
	// buildFactor is the cost of building a value, relative to reading it. Building needs memory.
	buildFactor = 2
)

var errCost = errors.New("the cost limit is exceeded: the expression compares, copies or repeats too much")

// meter limits the cost of evaluations. Each operation whose time or memory depends on the size of
// values is charged before it runs. If the limit is exceeded, the meter panics with an
// EvalCancelledError, which CEL converts to an error.
type meter struct {
	ctx       context.Context
	total     int // left for all evaluations
	left      int // left for the current evaluation
	unchecked int // spent since the last check of the context
	deadline  time.Time
	stopped   error // why the current evaluation was stopped
}

func newMeter(ctx context.Context, total int) *meter { return &meter{ctx: ctx, total: total} }

// begin starts an evaluation with a limit on its cost.
func (m *meter) begin(limit int) {
	m.left, m.stopped = min(limit, m.total), nil
	m.total -= m.left
}

// end returns the units that the evaluation did not spend.
func (m *meter) end() { m.total += max(m.left, 0) }

// charge charges units outside an evaluation. It returns false if not enough are left.
func (m *meter) charge(units int) bool {
	if units > m.total {
		return false
	}
	m.total -= units
	return true
}

func (m *meter) spend(units int) {
	if m.left -= units; m.left < 0 {
		m.stop(errCost, interpreter.CostLimitExceeded)
	}
	if m.unchecked += units; m.unchecked < checkEvery {
		return
	}
	m.unchecked = 0
	if err := m.ctx.Err(); err != nil {
		m.stop(err, interpreter.ContextCancelled)
	}
	switch now := time.Now(); {
	case m.deadline.IsZero():
		m.deadline = now.Add(evaluationTime)
	case now.After(m.deadline):
		m.stop(fmt.Errorf("the expression took longer than %s", evaluationTime), interpreter.ContextCancelled)
	}
}

func (m *meter) stop(err error, cause interpreter.CancellationCause) {
	m.stopped = err
	panic(interpreter.EvalCancelledError{Message: err.Error(), Cause: cause})
}

// text charges for reading a text of the given length.
func (m *meter) text(bytes int) { m.spend(1 + bytes/costBytes) }

// product charges for work that is proportional to the product of two numbers.
func (m *meter) product(a, b, perUnit int) {
	if a > 0 && b > (m.left+1)*perUnit/a {
		m.spend(m.left + 1)
	}
	m.spend(1 + a*b/perUnit)
}

// build charges for a value that an expression builds. A part that occurs more than once is charged
// each time, because every reader of the value reads it each time.
func (m *meter) build(v any) {
	switch v := v.(type) {
	case types.String:
		m.spend(buildFactor * (1 + len(v)/costBytes))
	case types.Bytes:
		m.spend(buildFactor * (1 + len(v)/costBytes))
	case string:
		m.spend(buildFactor * (1 + len(v)/costBytes))
	case []any:
		m.spend(2 * buildFactor)
		for _, e := range v {
			m.build(e)
		}
	case []ref.Val:
		m.spend(2 * buildFactor)
		for _, e := range v {
			m.build(e)
		}
	case map[string]any:
		m.spend(4 * buildFactor)
		for k, e := range v {
			m.build(k)
			m.build(e)
		}
	case map[ref.Val]ref.Val:
		m.spend(4 * buildFactor)
		for k, e := range v {
			m.build(k)
			m.build(e)
		}
	case *types.Optional:
		m.spend(buildFactor)
		if v.HasValue() {
			m.build(v.GetValue())
		}
	case traits.Mapper:
		if inner := v.Value(); composite(inner) {
			m.build(inner)
			return
		}
		m.spend(4 * buildFactor)
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			m.build(key)
			m.build(v.Get(key))
		}
	case traits.Lister:
		if inner := v.Value(); composite(inner) {
			m.build(inner)
			return
		}
		m.spend(2 * buildFactor)
		for it := v.Iterator(); it.HasNext() == types.True; {
			m.build(it.Next())
		}
	default:
		m.spend(buildFactor)
	}
}

// fits returns an error if a result is too large to copy. A result may contain one part of the
// input many times.
func (m *meter) fits(v ref.Val) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if m.stopped == nil {
				panic(p)
			}
			err = m.stopped
		}
	}()
	m.left = computationCost
	m.build(v)
	return nil
}

func composite(v any) bool {
	switch v.(type) {
	case []any, []ref.Val, map[string]any, map[ref.Val]ref.Val:
		return true
	}
	return false
}

// equal is the equality of CEL, charged element by element.
func (m *meter) equal(a, b ref.Val) bool {
	switch x := a.(type) {
	case types.String:
		y, ok := b.(types.String)
		if !ok || len(x) != len(y) {
			m.spend(1)
			return false
		}
		m.text(len(x))
		return x == y
	case *types.Optional:
		m.spend(1)
		y, ok := b.(*types.Optional)
		if !ok || !x.HasValue() || !y.HasValue() {
			return ok && x.HasValue() == y.HasValue()
		}
		return m.equal(x.GetValue(), y.GetValue())
	case traits.Mapper:
		m.spend(1)
		y, ok := b.(traits.Mapper)
		if !ok || x.Size() != y.Size() {
			return false
		}
		for it := x.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			other, found := y.Find(key)
			if !found || !m.equal(x.Get(key), other) {
				return false
			}
		}
		return true
	case traits.Lister:
		m.spend(1)
		y, ok := b.(traits.Lister)
		if !ok || x.Size() != y.Size() {
			return false
		}
		for i, j := x.Iterator(), y.Iterator(); i.HasNext() == types.True; {
			if !m.equal(i.Next(), j.Next()) {
				return false
			}
		}
		return true
	}
	m.spend(1)
	return types.Equal(a, b) == types.True
}

// contains reports whether a list holds a value.
func (m *meter) contains(list traits.Lister, v ref.Val) bool {
	for it := list.Iterator(); it.HasNext() == types.True; {
		if m.equal(v, it.Next()) {
			return true
		}
	}
	return false
}

// celValue makes a JSON value available to CEL without a copy. Its parts are converted when they
// are read. All numbers are doubles.
func celValue(v any) ref.Val { return jsonAdapter{}.NativeToValue(v) }

type jsonAdapter struct{}

func (a jsonAdapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return types.String(v)
		}
		return types.Double(f)
	case []any:
		return types.NewDynamicList(a, v)
	case map[string]any:
		return types.NewStringInterfaceMap(a, v)
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}
