package walk

// Sight is what a visit's references and conditions see. It lets
// tools evaluate parts of a compiled [Program] apart from a [Walk].
type Sight struct {
	RunID  string
	Input  any // the run's input
	Memory any // nil: nothing
	// Last is what the visit was started with; for a node's own outgoing
	// edges, its output.
	Last any
	// Item and Index are a foreach item's; without foreach Index is -1.
	Item  any
	Index int
	// Outputs holds the output of every node's latest completed visit.
	Outputs map[string]any
	// Continued holds the nodes whose latest visit failed under on_error: continue.
	Continued map[string]bool
}

func (s Sight) scope() *scope {
	return &scope{input: s.Input, last: s.Last, memory: s.Memory, item: s.Item, index: s.Index, runID: s.RunID,
		output:    func(node string) (any, bool) { v, ok := s.Outputs[node]; return v, ok },
		continued: func(node string) bool { return s.Continued[node] },
		outputs:   func() map[string]any { return s.Outputs }}
}

// Evaluate reports whether the condition holds and what it saw; its failure is
// that of an expression.
func (c *Condition) Evaluate(s Sight) (bool, Evaluation, *Failure) { return c.evaluate(s.scope()) }

// Render fills in the template's references; secrets stay as they are written.
func (t *Template) Render(s Sight) (any, *Failure) { return t.render(s.scope()) }

// Resolve gives the value referred to, or the reference's default; a reference
// to nothing is a permanent failure.
func (r *Reference) Resolve(s Sight) (any, *Failure) { return r.resolve(s.scope()) }
