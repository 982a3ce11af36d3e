package domain

// PlanRef names a plan, and a version of it where one is meant. What is not known is
// empty.
type PlanRef struct {
	ID      string `json:"id,omitempty"`
	Key     string `json:"key"`
	Version int    `json:"version,omitempty"`
}

// Plan names the plan of the run, in the version that it follows.
func (r Run) Plan() PlanRef { return PlanRef{ID: r.PlanID, Key: r.PlanKey, Version: r.Version} }
