package app

import (
	"context"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// ResumeRequest resumes a run with the action that its state requires.
type ResumeRequest struct {
	Meta `json:"-"`
	domain.ActionRequest
	Release  bool // release a quarantined or held run
	StartNow bool // start a run that is scheduled for later
}

// Resume continues a run from its current state. It runs the failed steps of an ended run again,
// ends a pause, starts the next attempt of a step now, starts a scheduled run, or releases a run.
//
// Errors: those of [Runs.Act]. The reason of a conflict names the required action: in_doubt,
// approval, release, or start_now.
func (r *Runs) Resume(ctx context.Context, req ResumeRequest) (domain.Run, error) {
	return command(ctx, r.kernel, ResumeRun, req.Meta, req, r.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			verb, err := r.resumption(ctx, req)
			if err != nil {
				return domain.Run{}, err
			}
			verb.Receipt = receipt
			return r.engine.Act(ctx, req.By, verb)
		})
}

// PreviewResume predicts what Resume would do.
//
// Errors: those of Resume.
func (r *Runs) PreviewResume(ctx context.Context, req ResumeRequest) (domain.Preview, error) {
	if err := r.allow(ctx, PreviewRun, req.By, ""); err != nil {
		return domain.Preview{}, err
	}
	verb, err := r.resumption(ctx, req)
	if err != nil {
		return domain.Preview{}, err
	}
	return r.Preview(ctx, req.By, verb)
}

// resumption returns the action that a run needs to continue.
func (r *Runs) resumption(ctx context.Context, req ResumeRequest) (domain.ActionRequest, error) {
	verb := req.ActionRequest
	run, err := r.find(ctx, req.Run)
	if err != nil {
		return verb, err
	}
	d, err := r.engine.Detail(ctx, run.ID)
	if err != nil {
		return verb, err
	}
	verb.Run, verb.Action = run.ID, domain.ActionResume
	if d.Damage != nil { // the preview describes the damage
		return verb, nil
	}
	verb.Action, err = ResumeAction(run, d.Waits, req.Release, req.StartNow, r.now())
	return verb, err
}

// ResumeAction returns the action that resumes a run. The first matching state decides.
func ResumeAction(r domain.Run, waits []domain.Wait, release, startNow bool, at time.Time) (domain.Action, error) {
	short := domain.ShortID(r.ID)
	waiting := func(reason domain.WaitReason) (domain.Wait, bool) {
		i := slices.IndexFunc(waits, func(w domain.Wait) bool { return w.Reason == reason })
		if i < 0 {
			return domain.Wait{}, r.WaitReason == reason
		}
		return waits[i], true
	}
	refuse := func(code domain.Code, reason, suggestion, format string, args ...any) (domain.Action, error) {
		e := domain.Errorf(code, format, args...).Suggest("%s", suggestion)
		e.Reason = reason
		return "", e
	}
	parked := domain.WaitReason("")
	for _, reason := range []domain.WaitReason{domain.WaitHeld, domain.WaitQuarantined} {
		if _, ok := waiting(reason); ok {
			parked = reason
		}
	}
	switch {
	case release && parked != "":
		return domain.ActionRelease, nil // also with a pending approval, which stays pending
	case release:
		return refuse(domain.CodeInvalid, "not_held", "omit release", "run %s is neither quarantined nor held", short)
	}
	if w, ok := waiting(domain.WaitInDoubt); ok {
		return refuse(domain.CodeConflict, domain.ReasonInDoubt, "check whether it happened, then resolve the step",
			"step %s of run %s is in doubt: its outcome is unknown", w.Node, short)
	}
	if w, ok := waiting(domain.WaitApproval); ok {
		return refuse(
			domain.CodeConflict,
			"approval",
			"decide the approval "+w.Approval,
			"run %s waits for an approval: %s",
			short,
			w.Message,
		)
	}
	if parked != "" {
		return refuse(domain.CodeConflict, "release", "find the cause, then set release", "run %s is %s", short, parked)
	}
	scheduled := r.Status == domain.RunQueued && r.StartedAt.IsZero() && r.StartAt.After(at)
	if startNow && !scheduled {
		return refuse(domain.CodeInvalid, "not_scheduled", "omit startNow", "run %s is not scheduled", short)
	}
	if r.Paused {
		return domain.ActionUnpause, nil
	}
	if _, ok := waiting(domain.WaitBudget); ok {
		return domain.ActionResume, nil // possible if a price was missing; otherwise, the error names the limit
	}
	if _, ok := waiting(domain.WaitRetry); ok {
		return domain.ActionRetryNow, nil
	}
	if scheduled {
		if !startNow {
			return refuse(domain.CodeConflict, "start_now", "set startNow to start it now", "run %s is scheduled for %s", short,
				r.StartAt.UTC().Format(time.RFC3339))
		}
		return domain.ActionStartNow, nil
	}
	return domain.ActionResume, nil
}
