package domain

// FailureStatus describes the failure of a run.
type FailureStatus struct {
	// FailureGroup is the group of failures that need attention and match the failure of the run.
	// Null means that there are none.
	FailureGroup *FailureGroup `json:"failureGroup,omitempty"`
	// Acknowledged is the acknowledgment of the run or of its failure group. Null means that there
	// is none.
	Acknowledged *FailureAck `json:"acknowledged,omitempty"`
}

// Failure returns the failure group of the run. It returns false if the run has not failed.
func (r Run) Failure() (FailureRef, bool) {
	if r.Status != RunFailed || r.Error == nil {
		return FailureRef{}, false
	}
	return FailureRef{PlanKey: r.PlanKey, Node: r.Error.Node, Code: r.Error.Code, Fingerprint: r.Fingerprint}, true
}
