package app

import (
	"context"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
	"github.com/kairosd/kairosd/internal/store"
)

// Failures contains the operations on failure groups.
type Failures struct{ *kernel }

type failureStore interface {
	FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error)
	FailureOrigin(ctx context.Context, ref domain.FailureRef) (domain.FailureOrigin, error)
	FailureAcks(ctx context.Context, since time.Time, limit int) ([]domain.FailureAck, error)
	FailedRuns(ctx context.Context, ref domain.FailureRef, acknowledged bool) (store.FailedRuns, error)
}

// List returns the failure groups that need attention, newest failure first.
//
// Errors: forbidden.
func (f *Failures) List(ctx context.Context, by domain.Actor, limit int) ([]domain.FailureGroup, error) {
	if err := f.allow(ctx, ListFailures, by, ""); err != nil {
		return nil, err
	}
	return f.store.FailureGroups(ctx, limit)
}

// Origin returns the first failed run of a group, and the last successful run before it.
//
// Errors: not_found (no run of the group needs attention), forbidden.
func (f *Failures) Origin(ctx context.Context, by domain.Actor, ref domain.FailureRef) (domain.FailureOrigin, error) {
	if err := f.allow(ctx, ListFailures, by, ""); err != nil {
		return domain.FailureOrigin{}, err
	}
	return f.store.FailureOrigin(ctx, ref)
}

// Acknowledged returns the acknowledgments since a time, newest first.
//
// Errors: forbidden.
func (f *Failures) Acknowledged(ctx context.Context, by domain.Actor, since time.Time, limit int) ([]domain.FailureAck, error) {
	if err := f.allow(ctx, ListFailures, by, ""); err != nil {
		return nil, err
	}
	return f.store.FailureAcks(ctx, since, limit)
}

const (
	// standingGroups is the maximum number of groups that are searched for a run's group.
	standingGroups = 100
	// standingFor is how long an acknowledgment is shown.
	standingFor = 30 * 24 * time.Hour
)

// Standing returns whether the failure of a run needs attention, and who acknowledged it. It is
// empty for a run that has not failed.
//
// Errors: forbidden.
func (f *Failures) Standing(ctx context.Context, by domain.Actor, run domain.Run) (domain.FailureStatus, error) {
	var s domain.FailureStatus
	if err := f.allow(ctx, ListFailures, by, ""); err != nil {
		return s, err
	}
	ref, failed := run.Failure()
	if !failed {
		return s, nil
	}
	groups, err := f.store.FailureGroups(ctx, standingGroups)
	if err != nil {
		return s, err
	}
	for _, g := range groups {
		if g.Ref() == ref {
			s.FailureGroup = &g
			break
		}
	}
	if run.Attention || run.EndedAt.Before(f.now().Add(-standingFor)) {
		return s, nil
	}
	s.Acknowledged, err = f.acknowledgment(ctx, run, ref)
	return s, err
}

// acknowledgment finds the acknowledgment of a failed run, or of its failure group.
func (f *Failures) acknowledgment(ctx context.Context, run domain.Run, ref domain.FailureRef) (*domain.FailureAck, error) {
	acks, err := f.store.FailureAcks(ctx, run.EndedAt, standingGroups)
	if err != nil {
		return nil, err
	}
	for _, a := range acks {
		if a.Covers(ref) && !a.At.Before(run.EndedAt) {
			return &a, nil
		}
	}
	records, err := f.store.AuditEvents(
		ctx,
		domain.AuditFilter{Action: "run.acknowledge", Object: "run:" + run.ID, Since: run.EndedAt, Page: domain.Page{Limit: 1}},
	)
	if err != nil || len(records.Items) == 0 {
		return nil, err
	}
	e := records.Items[0]
	return &domain.FailureAck{
		FailureRef: ref,
		Plan:       run.Plan(),
		Actor:      e.Actor,
		Note:       e.Reason,
		Runs:       1,
		Headline:   run.Headline,
		Message:    run.StatusMessage,
		At:         e.At,
	}, nil
}

// FailureChange identifies a failure group.
type FailureChange struct {
	Meta `json:"-"`
	domain.FailureRef
	Note string // reason of an acknowledgment; may be empty
	// ResumeAt is the time at which the runs are resumed, starting with one of them. If it is zero,
	// they are not resumed automatically.
	ResumeAt time.Time
}

// Acknowledge acknowledges a failure group: its runs need no attention until they, or others in the
// group, fail again. It returns the number of runs, also for a repeated key and for an
// acknowledged group, which does not change. A reference with only a fingerprint must match one group.
//
// Errors: not_found (the plan), conflict (no run of the group needs attention), invalid (a time in
// the past), unavailable (no daemon resumes runs), forbidden.
func (f *Failures) Acknowledge(ctx context.Context, req FailureChange) (n int64, err error) {
	if req.FailureRef, err = f.resolveRef(ctx, req.FailureRef); err != nil {
		return 0, err
	}
	known, done, err := before(ctx, f.kernel, AcknowledgeFailures, req.Meta, req, counted)
	if err != nil || done {
		return known, err
	}
	var resume *later
	if !req.ResumeAt.IsZero() {
		r := domain.BulkRequest{Query: filter.FailuresToHandle(req.FailureRef), Reason: clip(req.Note, 500), Canary: true, Rate: 60}
		if resume, err = f.resumeAt(ctx, req.By, req.ResumeAt, r); err != nil {
			return 0, err
		}
	}
	acked, err := f.acked(ctx, req.FailureRef)
	if err != nil {
		return 0, err
	}
	n, repeated, err := f.change(ctx, AcknowledgeFailures, req, false, func(tx *store.Tx, runs store.FailedRuns, n int64) error {
		if n == 0 {
			if acked != nil {
				return nil
			}
			return domain.Errorf(domain.CodeConflict, "no failure of %s at %s with %s needs attention", req.PlanKey,
				req.Node, req.Code).
				Suggest("it was acknowledged by another user, or the runs were resumed")
		}
		f.record(tx, req, n)
		if err := resume.store(tx); err != nil {
			return err
		}
		return tx.Attention().AckFailures(runs, req.FailureRef, n, req.Note)
	})
	if err == nil && !repeated && n > 0 {
		f.launch(resume)
	}
	if err == nil && n == 0 && acked != nil {
		n = acked.Runs
	}
	return n, err
}

// Unacknowledge withdraws an acknowledgment. It returns the number of runs in the group that need
// attention.
//
// Errors: not_found (the plan), forbidden.
func (f *Failures) Unacknowledge(ctx context.Context, req FailureChange) (n int64, err error) {
	req.Note = ""
	if req.FailureRef, err = f.resolveRef(ctx, req.FailureRef); err != nil {
		return 0, err
	}
	n, _, err = f.change(ctx, UnacknowledgeFailures, req, true, func(tx *store.Tx, runs store.FailedRuns, n int64) error {
		if n == 0 {
			return nil
		}
		f.record(tx, req, n)
		return tx.Attention().UnackFailures(runs, req.FailureRef)
	})
	if err != nil || n > 0 {
		return n, err
	}
	groups, err := f.store.FailureGroups(ctx, standingGroups)
	if i := slices.IndexFunc(groups, func(g domain.FailureGroup) bool { return g.Ref() == req.FailureRef }); i >= 0 {
		n = groups[i].Runs
	}
	return n, err
}

// resolveRef completes a reference that has only a fingerprint.
func (f *Failures) resolveRef(ctx context.Context, ref domain.FailureRef) (domain.FailureRef, error) {
	if ref.PlanKey != "" {
		return ref, nil
	}
	groups, err := f.store.FailureGroups(ctx, standingGroups)
	if err != nil {
		return ref, err
	}
	acks, err := f.store.FailureAcks(ctx, time.Time{}, standingGroups)
	if err != nil {
		return ref, err
	}
	var found []domain.FailureRef
	add := func(r domain.FailureRef) {
		if r.Fingerprint == ref.Fingerprint && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	for _, g := range groups {
		add(g.Ref())
	}
	for _, a := range acks {
		add(a.FailureRef)
	}
	switch len(found) {
	case 0:
		return ref, domain.Errorf(domain.CodeNotFound, "failure group %.80q not found", ref.Fingerprint)
	case 1:
		return found[0], nil
	}
	return ref, domain.Errorf(domain.CodeConflict, "%d failure groups have this fingerprint", len(found)).
		Suggest("also name the plan, the node, and the code")
}

// acked returns the acknowledgment of a group, or nil.
func (f *Failures) acked(ctx context.Context, ref domain.FailureRef) (*domain.FailureAck, error) {
	acks, err := f.store.FailureAcks(ctx, time.Time{}, standingGroups)
	if i := slices.IndexFunc(acks, func(a domain.FailureAck) bool { return a.Covers(ref) }); i >= 0 {
		return &acks[i], err
	}
	return nil, err
}

func (f *Failures) record(tx *store.Tx, req FailureChange, n int64) {
	tx.Audit(
		"plan:"+req.PlanKey,
		req.Note,
		encode(map[string]any{"node": req.Node, "code": req.Code, "fingerprint": req.Fingerprint, "runs": n}),
	)
}

// change marks the runs of a group as listed now. Large groups take several transactions, so that
// others can write in between. The first one writes the record. A crash between two transactions
// leaves some runs unmarked, but none marked without a record.
func (f *Failures) change(
	ctx context.Context,
	op Operation,
	req FailureChange,
	attention bool,
	first func(tx *store.Tx, runs store.FailedRuns, n int64) error,
) (n int64, repeated bool, err error) {
	runs, err := f.store.FailedRuns(ctx, req.FailureRef, attention)
	if err != nil {
		return 0, false, err
	}
	batch, rest := runs.Split()
	n, repeated, err = performWithWork(ctx, f.kernel, op, req.Meta, req, counted, func(tx *store.Tx) (int64, error) {
		n, err := tx.Attention().Set(batch, attention)
		n += int64(rest.Len())
		if err == nil {
			err = first(tx, batch, n)
		}
		return n, err
	})
	if err != nil || repeated || rest.Len() == 0 {
		return n, repeated, err
	}
	n -= int64(rest.Len())
	for rest.Len() > 0 {
		batch, rest = rest.Split()
		var marked int64
		if _, _, err := f.store.Do(store.Operation{Name: string(op), By: req.By, At: f.now()}, func(tx *store.Tx) (string, error) {
			var err error
			marked, err = tx.Attention().Set(batch, attention)
			return "", err
		}); err != nil {
			return n, false, err
		}
		n += marked
	}
	return n, false, nil
}
