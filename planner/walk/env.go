package walk

import "cmp"

// Env holds the values that references and conditions can read. Tools use it to evaluate parts of
// a compiled [Program] without a [Walk].
type Env struct {
	RunID  string
	Slot   string // the time for which a schedule started the run; empty if none did
	Input  any    // the input of the run
	Memory any    // nil if there is none
	// Last is the value with which the visit was started. For outgoing edges of a node, it is the
	// output of the node.
	Last any
	// Item and Index describe the item in a foreach. Index is -1 outside a foreach.
	Item  any
	Index int
	// Outputs holds the output of the latest completed visit of each node, by node ID.
	Outputs map[string]any
	// Continued holds the IDs of nodes whose latest visit failed with on_error: continue.
	Continued map[string]bool
	// Statuses holds the status of every node whose latest visit has settled. All others are [Skipped].
	Statuses map[string]Status
	// Values are the constants of the plan.
	Values map[string]any
}

func (s Env) scope() *scope {
	return &scope{input: s.Input, last: s.Last, memory: s.Memory, item: s.Item, index: s.Index, runID: s.RunID, slot: s.Slot,
		output:    func(node string) (any, bool) { v, ok := s.Outputs[node]; return v, ok },
		continued: func(node string) bool { return s.Continued[node] },
		outputs:   func() map[string]any { return s.Outputs },
		status:    func(node string) Status { return cmp.Or(s.Statuses[node], Skipped) },
		statuses:  func() map[string]Status { return s.Statuses }, values: s.Values}
}

// Evaluate reports whether the condition holds, and which value it read. The failure is not nil if
// its expression failed.
func (c *Condition) Evaluate(s Env) (bool, Evaluation, *Failure) { return c.evaluate(s.scope()) }

// Render replaces the references in the template. Secrets are not resolved.
func (t *Template) Render(s Env) (any, *Failure) { return t.render(s.scope()) }

// Resolve returns the value of the reference, or its default. A missing value without a default is
// a permanent failure.
func (r *Reference) Resolve(s Env) (any, *Failure) { return r.resolve(s.scope()) }

// RunOf returns the ID of the run of a walk.
func RunOf(w *Walk) string { return w.facts.RunID }

// Resolve returns the items of the list.
func (l *List) Resolve(s Env) ([]any, *Failure) { return l.resolve(s.scope()) }
