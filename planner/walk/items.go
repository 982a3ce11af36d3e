package walk

import (
	"fmt"

	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// MaxItems bounds the list of a foreach.
const MaxItems = 10_000

// items is where a foreach visit stands.
type items struct {
	list    []any
	status  []Status // "" while unsettled
	outputs []any
	started []bool
	next    int // no item below it is unstarted
	running int // started and unsettled
	settled int
	failed  bool // some item failed and on_error is not continue
	stopped bool // some item was cancelled
	failure *Failure
	first   int // index of the item whose failure that is
}

// Items resolves the list of a foreach visit and returns its length. A visit
// with an empty list is settled by the driver: Completed, output [].
func (w *Walk) Items(k VisitKey) (int, *Failure) {
	v := w.visit(k)
	n := &w.p.Nodes[k.Node]
	if v == nil || n.Foreach == nil {
		return 0, (&Failure{Code: CodeForeach, Permanent: true, NoEffect: true}).WithMessage("node %q has no open foreach", n.ID)
	}
	if v.items != nil {
		return len(v.items.list), nil
	}
	s := w.scope(v.last)
	value, err := n.Foreach.resolve(&s)
	if err != nil {
		err.Node = n.ID
		return 0, err
	}
	list, ok := value.([]any)
	if !ok {
		return 0, (&Failure{Code: CodeForeach, Node: n.ID, Permanent: true, NoEffect: true}).WithMessage(
			"foreach %s is not a list but %s",
			n.Foreach.Text,
			jsonvalue.Quote(jsonvalue.Text(value)),
		)
	}
	if len(list) > MaxItems {
		return 0, (&Failure{Code: CodeForeachLimit, Node: n.ID, Permanent: true, NoEffect: true}).WithMessage(
			"foreach %s has %d items; at most %d are allowed",
			n.Foreach.Text,
			len(list),
			MaxItems,
		)
	}
	v.items = &items{
		list:    list,
		status:  make([]Status, len(list)),
		outputs: make([]any, len(list)),
		started: make([]bool, len(list)),
		first:   -1,
	}
	return len(list), nil
}

// ItemStatus is how an item of a foreach visit settled; "" while it has not.
func (w *Walk) ItemStatus(k VisitKey, item int) Status {
	v := w.visit(k)
	if v == nil || v.items == nil || item < 0 || item >= len(v.items.status) {
		return ""
	}
	return v.items.status[item]
}

// NextItem returns the lowest item that was neither started nor settled, and
// marks it started; -1 when none may start (all did, or one failed).
// An item failed, nothing runs, and still the visit is open: then an item ran
// whose start was not recorded, and what ran must finish.
func (w *Walk) NextItem(k VisitKey) int {
	v := w.visit(k)
	if v == nil || v.items == nil || w.stopped || (v.items.failed || v.items.stopped) && v.items.running > 0 {
		return -1
	}
	it := v.items
	for ; it.next < len(it.list); it.next++ {
		if !it.started[it.next] {
			it.start(it.next)
			return it.next
		}
	}
	return -1
}

// StartItem marks an item started: one that a recorded attempt began.
func (w *Walk) StartItem(k VisitKey, item int) {
	if _, err := w.Items(k); err != nil {
		return
	}
	if it := w.visit(k).items; item >= 0 && item < len(it.list) && !it.started[item] {
		it.start(item)
	}
}

// ItemFailure stands for an item of a foreach that failed under on_error: continue,
// in the list of outputs.
func ItemFailure(f *Failure) map[string]any {
	if f == nil {
		f = (&Failure{Code: CodeFailed}).WithMessage("failed")
	}
	return map[string]any{"error": f.Message, "code": f.Code}
}

func (it *items) start(i int) {
	it.started[i] = true
	it.running++
}

// settleItem records an item's outcome and reports how the visit ended, if it
// did: Completed when all items have; Failed with the first item's error in
// item order, rejections first, once no item runs. A record has items that were running
// though their start was not recorded.
func (w *Walk) settleItem(v *visit, s Settlement, recorded *Decision) (ended Status, output any, failure *Failure, err error) {
	if _, f := w.Items(v.VisitKey); f != nil {
		return "", nil, nil, f
	}
	it := v.items
	if s.Item >= len(it.list) || it.status[s.Item] != "" {
		return "", nil, nil, fmt.Errorf("walk: item %d of visit %d of node %q is not open", s.Item, v.Visit, w.p.Nodes[v.Node].ID)
	}
	if !it.started[s.Item] {
		it.start(s.Item)
	}
	it.running--
	it.settled++
	it.status[s.Item] = s.Status
	switch s.Status {
	case Completed:
		it.outputs[s.Item] = s.Output
	case Failed:
		if w.p.Nodes[v.Node].OnError == OnErrorContinue {
			it.outputs[s.Item] = ItemFailure(s.Failure)
			break
		}
		it.failed = true
		n := &w.p.Nodes[v.Node]
		rejected, before := n.rejectedWith(s.Failure), n.rejectedWith(it.failure)
		if it.first < 0 || rejected && !before || rejected == before && s.Item < it.first {
			it.first, it.failure = s.Item, s.Failure
		}
	case Cancelled:
		it.stopped = true
	}
	switch {
	case it.failed:
		ended, failure = Failed, it.failure
	case it.stopped:
		ended = Cancelled
	case it.settled == len(it.list):
		ended, output = Completed, it.outputs
	}
	if recorded != nil && recorded.Visit != "" && recorded.Visit != ended {
		return "", nil, nil, errRecorded
	}
	if recorded == nil && it.running > 0 || recorded != nil && recorded.Visit == "" {
		return "", nil, nil, nil
	}
	return ended, output, failure, nil
}

// reopen makes failed and cancelled items unstarted again and lists them; under
// on_error: continue a failed item was taken care of and stays.
func (it *items) reopen(on OnError) []int {
	var again []int
	for i, st := range it.status {
		if st == Failed && on != OnErrorContinue || st == Cancelled {
			it.status[i], it.started[i] = "", false
			it.settled--
			again = append(again, i)
		}
	}
	it.failed, it.stopped, it.failure, it.first, it.next = false, false, nil, -1, 0
	return again
}
