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
	// expressionCost bounds the evaluation of one condition, decisionCost that of
	// all conditions that one settlement decides: a tenth of a second and a few
	// seconds at the very most, so that neither a cancel nor a shutdown waits for
	// them.
	expressionCost = 100_000
	decisionCost   = 1_000_000
	// computationCost bounds one computation: transforming a list of some ten
	// thousand items is well within it.
	computationCost = 5_000_000
	// evaluationTime ends an evaluation whose cost was misjudged.
	evaluationTime = 10 * time.Second
	// checkEvery is how many units are spent between two looks at the context.
	checkEvery = 1000
	// costBytes is how many bytes of text cost one unit.
	costBytes = 32
	// plainBytes is the same for plain conditions, which go through a text once.
	plainBytes = 256
	// buildFactor is what a unit of size costs more when it is built than when it
	// is read: building needs memory.
	buildFactor = 2
)

var errCost = errors.New("the cost limit is exceeded: the expression compares, copies or repeats too much")

// meter is what evaluations may still cost. Everything that takes time or memory
// in proportion to values is paid before it is done. An evaluation that cannot pay
// panics with an EvalCancelledError, which CEL turns into an error.
type meter struct {
	ctx      context.Context
	total    int // left for all evaluations
	left     int // left for the current one
	unlooked int // spent since the context was looked at
	deadline time.Time
	stopped  error // why the current evaluation ended early
}

func newMeter(ctx context.Context, total int) *meter { return &meter{ctx: ctx, total: total} }

// begin starts an evaluation that may cost at most the limit.
func (m *meter) begin(limit int) {
	m.left, m.stopped = min(limit, m.total), nil
	m.total -= m.left
}

// end gives back what the evaluation did not spend.
func (m *meter) end() { m.total += max(m.left, 0) }

// takes pays outside an evaluation; false: too little is left.
func (m *meter) takes(units int) bool {
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
	if m.unlooked += units; m.unlooked < checkEvery {
		return
	}
	m.unlooked = 0
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

// text pays for going through a text of that many bytes.
func (m *meter) text(bytes int) { m.spend(1 + bytes/costBytes) }

// product pays for work that grows with both numbers.
func (m *meter) product(a, b, perUnit int) {
	if a > 0 && b > (m.left+1)*perUnit/a {
		m.spend(m.left + 1)
	}
	m.spend(1 + a*b/perUnit)
}

// build pays for a value that an expression builds: parts that it shares are paid
// each time, as every reader of the value meets them each time.
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

// fits reports why a result is too large to be copied: it may show one part of the
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

// equal is CEL's equality, paid element by element.
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

// celValue shows a JSON value to CEL without copying it: its parts are turned when
// they are looked at. All numbers are doubles.
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
