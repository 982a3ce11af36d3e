package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner"
)

// This file binds an approval to what was approved: what the person was shown, and the
// values that the steps after it use.

// binding is the digest that an approval step's request is bound to: the request
// itself, the version and the input of the run, and every output that is known and
// that the step or one after it uses.
func (a *runner) binding(k planner.VisitKey, item int, input any) string {
	h := sha256.New()
	part := func(name string, raw []byte) { fmt.Fprintf(h, "%s\x00%d\x00%s\x00", name, len(raw), raw) }
	encode := func(v any) []byte {
		raw, err := planner.EncodeValue(v)
		if err != nil {
			return []byte(err.Error()) // a value of JSON: only its nesting can be too deep
		}
		return raw
	}
	part("request", fmt.Appendf(nil, "%s %s %s %d %d", a.id, a.run.PlanKey, a.prog.Nodes[k.Node].ID, k.Visit, item))
	part("version", []byte(a.prog.Hash))
	part("question", encode(input))
	f := a.s.Foreach[k]
	if f == nil {
		f = &runstate.Foreach{}
	}
	if f.Values == nil { // the items of one visit share it
		values := sha256.New()
		fmt.Fprintf(values, "input %d %s\x00", len(a.run.Input), a.run.Input)
		fmt.Fprintf(values, "last %s\x00", encode(a.s.Walk.Last(k)))
		for _, n := range a.prog.BoundNodes(k.Node) {
			if out, ok := a.s.Walk.Output(a.prog.Nodes[n].ID); ok {
				fmt.Fprintf(values, "%s %s\x00", a.prog.Nodes[n].ID, encode(out))
			}
		}
		f.Values = values.Sum(nil)
	}
	part("values", f.Values)
	return hex.EncodeToString(h.Sum(nil))
}
