package planner

// State is what handlers see of a run in memory [000].
type State struct {
	// Last is the output of the node before: what a node without input gets.
	Last any
	// Outputs holds node outputs by node id; Outputs["input"] is the run's
	// input, Outputs["memory"] what memory returned, if it returned something.
	Outputs map[string]any
}

// NewState returns an empty state. Set Outputs["input"] to give the run an
// input.
func NewState() *State { return &State{Outputs: map[string]any{}} }

// Input returns the run's input: Outputs["input"], else Last.
func (s *State) input() any {
	if v, ok := s.Outputs["input"]; ok {
		return v
	}
	return s.Last
}
