package planner

// State is the data of a run in memory that handlers can read and write.
type State struct {
	// Last is the output of the previous node: the input of a node that has no input of its own.
	Last any
	// Outputs holds outputs by node ID. Outputs["input"] is the input of the run. Outputs["memory"]
	// is the text that the memory returned, if any.
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
