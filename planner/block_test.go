package planner_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

const orders = `
id: orders
values: {rate: 2}
defaults: {retry: {max_attempts: 4}, timeout: 30s}
nodes:
  fetch: {type: set, input: {orders: [{id: 7, lines: [a, b]}, {id: 8, lines: []}]}}
  ship:
    needs: [fetch]
    foreach: output.fetch.orders
    timeout: 10m
    do:
      nodes:
        reserve: {type: set, input: {order: "${item.id}", n: "${index}", rate: "${value.rate}"}}
        lines: {type: set, needs: [reserve], foreach: item.lines, input: "${item}${index}"}
        both: {type: set, needs: [lines], input: {of: "${input.id}", reserved: "${output.reserve}", lines: "${output.lines}"}}
      result: "${output.both}"
  report: {type: set, needs: [ship], input: "${output.ship}"}
`

// compiled parses a valid plan.
func compiled(t *testing.T, src string) (*planner.Document, *walk.Program) {
	t.Helper()
	d, problems := planner.Parse([]byte(src))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, err := d.Program(nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, p
}

// The steps of a block run for each item of a list. They read the item, its index, the input of the
// block, and the values of the plan.
func TestABlockRunsForEachItem(t *testing.T) {
	t.Parallel()
	d, _ := compiled(t, orders)
	roundTrip(t, d)
	s, err := planner.NewExecutor(nil).Execute(context.Background(), d.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(id, n string, lines ...any) any {
		reserved := map[string]any{"order": json.Number(id), "n": json.Number(n), "rate": json.Number("2")}
		return map[string]any{"of": json.Number(id), "reserved": reserved, "lines": append([]any{}, lines...)}
	}
	if diff := cmp.Diff([]any{of("7", "0", "a0", "b1"), of("8", "1")}, s.Last); diff != "" {
		t.Error(diff)
	}
}

// With an input of its own, the steps of a block read both the input and the item. The settings of the
// plan apply to the steps of the block, and not to the block.
func TestTheSettingsOfABlock(t *testing.T) {
	t.Parallel()
	_, p := compiled(t, orders)
	ship := &p.Nodes[p.Index["ship"]]
	inner := ship.Block.Program.Nodes[0]
	if ship.Type != walk.TypePlan || ship.MaxAttempts != 1 || inner.MaxAttempts != 4 || inner.Timeout.String() != "30s" {
		t.Errorf("attempts of the block: %d, of its steps: %d in %s", ship.MaxAttempts, inner.MaxAttempts, inner.Timeout)
	}
	if got := ship.Timeout.String(); got != "10m0s" {
		t.Errorf("timeout of the block: %s", got)
	}
	stored, problems := planner.Parse(ship.Block.Source, planner.WithLenientRules())
	if problems.Err() != nil || stored.Hash != ship.Block.Program.Hash || stored.ID != "orders/ship" {
		t.Errorf("the stored block has another hash: %v", problems)
	}
	var names []string
	walk.EachNode(p, func(path string, _ *walk.ProgramNode) { names = append(names, path) })
	if got := strings.Join(names, " "); got != "fetch ship ship/reserve ship/lines ship/both report" {
		t.Error(got)
	}
}

// A block without foreach groups steps. Its failure is that of its steps.
func TestABlockFailsAsAGroup(t *testing.T) {
	t.Parallel()
	d, _ := compiled(t, `
nodes:
  pay:
    input: {amount: 3}
    on_error: [{code: out_of_stock, to: sorry}]
    retry: {max_attempts: 2}
    do:
      start: check
      nodes:
        check: {type: noop}
        empty: {type: fail, input: {code: out_of_stock, message: "none left of ${input.amount}"}}
        take: {type: set, input: taken}
      edges:
        - {from: check, to: empty, condition: "expr: last.amount > 2.0"}
        - {from: check, to: take, condition: default}
  sorry: {type: set, input: "${last.code}: ${last.error}"}
`)
	roundTrip(t, d)
	s, err := planner.NewExecutor(nil).Execute(context.Background(), d.Graph, nil)
	if err != nil || s.Last != "out_of_stock: none left of 3" {
		t.Errorf("%v, %v", s.Last, err)
	}
}
