package domain

import "time"

// Doubt is an attempt in doubt: its outcome is unknown, for example after a crash or a lost
// connection.
type Doubt struct {
	Run     string
	Plan    PlanRef
	Node    string
	Visit   int
	Item    int // -1 outside a foreach
	Attempt int
	// Seq is the number of the first journal row of the visit, or of the item.
	Seq int64
	// IdempotencyKey is the key that the attempt sent.
	IdempotencyKey string
	Input          RawJSON
	StartedAt      time.Time
	// Calls holds the calls whose outcome is unknown. It is empty if the step itself is the call.
	Calls []OpenCall
}

// DoubtFilter selects attempts in doubt.
type DoubtFilter struct {
	Plan string // key
	Node string
	Run  string // ID, or an unambiguous part of it
	Page
}

// DoubtsIn lists the attempts in doubt of a run, or of one of its nodes.
func DoubtsIn(d RunDetail, node string) []Doubt {
	var out []Doubt
	for _, w := range d.Waits {
		if w.Reason != WaitInDoubt || node != "" && w.Node != node {
			continue
		}
		x := Doubt{Run: d.Run.ID, Plan: d.Run.Plan(), Node: w.Node, Visit: w.Visit, Item: w.Item, StartedAt: w.Since, Calls: w.Calls}
		for i := range d.Journal {
			e := &d.Journal[i]
			if e.Node != w.Node || e.Visit != w.Visit || e.Item != w.Item || e.Attempt == 0 || e.Substep != 0 {
				continue
			}
			if x.Seq == 0 {
				x.Seq = e.Seq
			}
			if e.Attempt != x.Attempt {
				x.Attempt, x.StartedAt = e.Attempt, e.At
			}
			if !e.StartedAt.IsZero() {
				x.StartedAt = e.StartedAt
			}
			if len(e.Input) > 0 {
				x.Input = e.Input
			}
			if e.IdempotencyKey != "" {
				x.IdempotencyKey = e.IdempotencyKey
			}
		}
		out = append(out, x)
	}
	return out
}
