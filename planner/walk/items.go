package walk

import "fmt"

// items is the state of a foreach visit.
type items struct {
	list    []any
	status  []Status // empty for an item that has not settled
	outputs []any
	started []bool
	next    int // all items before it were started
	running int // started, not settled
	settled int
	failed  bool // an item failed, and on_error is not continue
	stopped bool // an item was cancelled
	failure *Failure
	first   int // index of the item with that failure
}

// Items resolves the list of a foreach visit and returns its length. If the list is empty, the
// driver settles the visit with status Completed and output [].
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
	list, failure := n.Foreach.resolve(&s)
	if failure != nil {
		failure.Node = n.ID
		return 0, failure
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

// ItemStatus returns how an item of a foreach visit settled, or "" if it has not.
func (w *Walk) ItemStatus(k VisitKey, item int) Status {
	v := w.visit(k)
	if v == nil || v.items == nil || item < 0 || item >= len(v.items.status) {
		return ""
	}
	return v.items.status[item]
}

// NextItem marks the next unstarted item as started and returns its index. It returns -1 if no item
// may start, because all have started or one failed. If an item failed, no item runs, and the visit
// is still open, then an item ran whose start was not recorded. That item must finish first, so
// NextItem returns it.
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

// StartItem marks an item as started because a recorded attempt began it.
func (w *Walk) StartItem(k VisitKey, item int) {
	if _, err := w.Items(k); err != nil {
		return
	}
	if it := w.visit(k).items; item >= 0 && item < len(it.list) && !it.started[item] {
		it.start(item)
	}
}

// ItemFailure returns the element of the output list for an item that failed with on_error:
// continue.
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

// settleItem records the outcome of an item, and reports how the visit ended, if it did. A visit is
// Completed once all items are. It is Failed once no item runs. Its failure is that of the first
// failed item in list order, with rejections first. A recorded decision also covers items that ran
// although their start was not recorded.
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
		if w.p.Nodes[v.Node].ContinuesItem(s.Failure) {
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

// reopen makes failed and cancelled items startable again and returns them. Items that failed with
// on_error: continue have an output. They count as handled and stay.
func (it *items) reopen() []int {
	var again []int
	for i, st := range it.status {
		if st == Failed && it.outputs[i] == nil || st == Cancelled {
			it.status[i], it.started[i] = "", false
			it.settled--
			again = append(again, i)
		}
	}
	it.failed, it.stopped, it.failure, it.first, it.next = false, false, nil, -1, 0
	return again
}
