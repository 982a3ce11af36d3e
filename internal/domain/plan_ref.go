package domain

// PlanRef identifies a plan, and optionally a version of it. Unknown fields are empty.
type PlanRef struct {
	ID      string `json:"id,omitempty"`
	Key     string `json:"key"`
	Version int    `json:"version,omitempty"`
}

// Plan returns the plan of the run, in the version that it follows.
func (r Run) Plan() PlanRef { return PlanRef{ID: r.PlanID, Key: r.PlanKey, Version: r.Version} }
