package domain

// Standing is where the failure of a run stands.
type Standing struct {
	// FailureGroup are the failures like it that need attention, itself among them
	// unless someone acknowledged it; null: there are none.
	FailureGroup *FailureGroup `json:"failureGroup,omitempty"`
	// Acknowledged is who acknowledged it, or all failures like it; null: no one
	// did, or the run has not failed.
	Acknowledged *FailureAck `json:"acknowledged,omitempty"`
}

// Failure names the failures that the run's is one of; false: it has not failed.
func (r Run) Failure() (FailureRef, bool) {
	if r.Status != RunFailed || r.Error == nil {
		return FailureRef{}, false
	}
	return FailureRef{PlanKey: r.PlanKey, Node: r.Error.Node, Code: r.Error.Code, Fingerprint: r.Fingerprint}, true
}
