package apitypes

import "github.com/kairosd/kairosd/internal/domain"

// BulkAction is the action of a bulk operation in the API's form. As in an action on one run, a
// resume with Release releases runs, and one with StartNow starts scheduled runs.
type BulkAction struct {
	Action   domain.Action `json:"action" enum:"resume,rerun,cancel,pause,unpause,delete,acknowledge,label"`
	Release  bool          `json:"release,omitempty" doc:"Release quarantined and held runs."`
	StartNow bool          `json:"startNow,omitempty" doc:"Start scheduled runs now."`
}

// BulkActionOf converts an action of bulk operations.
func BulkActionOf(a domain.Action) BulkAction {
	switch a {
	case domain.ActionRelease:
		return BulkAction{Action: domain.ActionResume, Release: true}
	case domain.ActionStartNow:
		return BulkAction{Action: domain.ActionResume, StartNow: true}
	}
	return BulkAction{Action: a}
}

// Domain converts b back to an action.
//
// Errors: invalid (flags that do not belong to the action).
func (b BulkAction) Domain() (domain.Action, error) {
	switch {
	case (b.Release || b.StartNow) && b.Action != domain.ActionResume || b.Release && b.StartNow:
		return "", domain.Errorf(domain.CodeInvalid, "release and startNow are alternatives, and require the action resume")
	case b.Release:
		return domain.ActionRelease, nil
	case b.StartNow:
		return domain.ActionStartNow, nil
	}
	return b.Action, nil
}

// BulkRequest is a request for a bulk operation.
type BulkRequest struct {
	domain.BulkRequest
	Action   domain.Action `json:"action"`
	Release  bool          `json:"release,omitempty"`
	StartNow bool          `json:"startNow,omitempty"`
}

// BulkRequestOf converts a request.
func BulkRequestOf(r domain.BulkRequest) BulkRequest {
	a := BulkActionOf(r.Action)
	return BulkRequest{BulkRequest: r, Action: a.Action, Release: a.Release, StartNow: a.StartNow}
}

// BulkOperation is a bulk operation.
type BulkOperation struct {
	domain.Bulk
	Action   domain.Action `json:"action"`
	Release  bool          `json:"release,omitempty" doc:"Whether it releases quarantined and held runs."`
	StartNow bool          `json:"startNow,omitempty" doc:"Whether it starts scheduled runs now."`
}

// BulkOperationOf converts a bulk operation.
func BulkOperationOf(b domain.Bulk) BulkOperation {
	a := BulkActionOf(b.Action)
	return BulkOperation{Bulk: b, Action: a.Action, Release: a.Release, StartNow: a.StartNow}
}
