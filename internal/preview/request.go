package preview

import (
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// checkOptions returns an error for options that no resume can have.
func checkOptions(r domain.ActionRequest) error {
	if r.Timeout < 0 || r.Attempts < 0 {
		return domain.Errorf(domain.CodeInvalid, "timeout and attempts cannot be negative")
	}
	if r.Attempts > maxResumeAttempts {
		return domain.Errorf(domain.CodeInvalid, "%d attempts are too many", r.Attempts).Suggest("at most %d", maxResumeAttempts)
	}
	if r.Timeout > 0 && r.Timeout < time.Millisecond {
		return domain.Errorf(domain.CodeInvalid, "a timeout of %s is too short",
			r.Timeout).Suggest("use a number and a unit, such as 90s or 10m")
	}
	return nil
}

// maxResumeAttempts is the maximum number of attempts that a resume can allow.
const maxResumeAttempts = 100

// HasResumeOptions reports whether a request has options that only the resume of a failed or
// cancelled run accepts.
func HasResumeOptions(r domain.ActionRequest) bool {
	return r.Only != "" || r.Timeout != 0 || r.Attempts != 0
}

// NoOptionsError returns the error of resume options for a run that has not ended.
func NoOptionsError() error {
	return domain.Errorf(domain.CodeInvalid, "only a failed or cancelled run can be resumed with options").Suggest("resume it without")
}

// CheckRequest returns an error for unknown actions, fields that the action does not accept, and
// values out of range. It reads only the request. Errors have CodeInvalid.
func CheckRequest(r domain.ActionRequest) error {
	refuse := func(set bool, field string, allowed ...domain.Action) error {
		if set && !slices.Contains(allowed, r.Action) {
			return domain.Errorf(domain.CodeInvalid, "%s does not accept %s", r.Action, field)
		}
		return nil
	}
	switch r.Action {
	case domain.ActionResume, domain.ActionRerun, domain.ActionFork, domain.ActionCancel, domain.ActionPause, domain.ActionUnpause,
		domain.ActionRetryNow, domain.ActionRelease, domain.ActionStartNow, domain.ActionDelete, domain.ActionLimits, domain.ActionUndo:
	default:
		return domain.Errorf(domain.CodeInvalid, "unknown action %q", r.Action)
	}
	if r.At < 0 || r.Version < -1 {
		return domain.Errorf(domain.CodeInvalid, "at and version cannot be negative")
	}
	for _, err := range []error{
		refuse(r.Key != "", "key", domain.ActionFork, domain.ActionRerun),
		refuse(r.At != 0, "at", domain.ActionFork),
		refuse(len(r.Edits) > 0, "edits", domain.ActionFork),
		refuse(len(r.Instead) > 0, "instead", domain.ActionFork),
		refuse(len(r.Skip) > 0, "skip", domain.ActionUndo),
		refuse(r.Only != "", "only", domain.ActionResume),
		refuse(r.Timeout != 0, "timeout", domain.ActionResume),
		refuse(r.Attempts != 0, "attempts", domain.ActionResume),
		checkOptions(r),
		refuse(r.Input != nil, "input", domain.ActionFork, domain.ActionRerun),
		refuse(r.Version != 0, "version", domain.ActionFork, domain.ActionRerun),
		refuse(r.Profile != nil, "profile", domain.ActionFork, domain.ActionRerun),
		refuse(r.Limits != (domain.Limits{}), "limits", domain.ActionLimits, domain.ActionFork, domain.ActionRerun),
		refuse(r.Raise != (domain.Limits{}), "raise", domain.ActionLimits),
		refuse(r.Labels != nil, "labels", domain.ActionFork, domain.ActionRerun, domain.ActionLimits),
	} {
		if err != nil {
			return err
		}
	}
	if r.Action == domain.ActionLimits && r.Limits == (domain.Limits{}) && r.Raise == (domain.Limits{}) {
		return domain.Errorf(domain.CodeInvalid, "no limit is given")
	}
	if l, more := r.Limits, r.Raise; l.MaxSteps != 0 && more.MaxSteps != 0 || l.MaxDuration != 0 && more.MaxDuration != 0 ||
		l.MaxTokens != 0 && more.MaxTokens != 0 || l.MaxCost != 0 && more.MaxCost != 0 {
		return domain.Errorf(domain.CodeInvalid, "a limit is either set or raised, not both")
	}
	if l := r.Raise; l.MaxSteps < 0 || l.MaxDuration < 0 || l.MaxTokens < 0 || l.MaxCost < 0 {
		return domain.Errorf(domain.CodeInvalid, "a limit cannot be raised by a negative amount")
	}
	if l := r.Limits; l.MaxSteps < 0 || l.MaxDuration < 0 || l.MaxTokens < 0 || l.MaxCost < 0 {
		return domain.Errorf(domain.CodeInvalid, "limits cannot be negative")
	}
	return nil
}
