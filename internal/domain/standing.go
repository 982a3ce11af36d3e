package domain

import (
	"context"
	"time"
)

// FailureReader is where what is known of failures is read.
type FailureReader interface {
	FailureGroups(ctx context.Context, limit int) ([]FailureGroup, error)
	FailureAcks(ctx context.Context, since time.Time, limit int) ([]FailureAck, error)
	AuditEvents(ctx context.Context, f AuditFilter) (List[AuditEvent], error)
}

// Standing is where the failure of a run stands.
type Standing struct {
	// FailureGroup are the failures like it that need attention, itself among them
	// unless somebody took note of it; null: there are none.
	FailureGroup *FailureGroup `json:"failureGroup,omitempty"`
	// Acknowledged is who took note of it, or of all that failed so; null: nobody
	// did, or the run has not failed.
	Acknowledged *FailureAck `json:"acknowledged,omitempty"`
}

const (
	// standingGroups bounds the groups among which a run's is looked for.
	standingGroups = 100
	// standingFor is how long it is told who took note of a failure.
	standingFor = 30 * 24 * time.Hour
)

// Failure names the failures that the run's is one of; false: it has not failed.
func (r Run) Failure() (FailureRef, bool) {
	if r.Status != RunFailed || r.Error == nil {
		return FailureRef{}, false
	}
	return FailureRef{PlanKey: r.PlanKey, Node: r.Error.Node, Code: r.Error.Code, Alike: r.Alike}, true
}

// StandingOf says where the failure of a run stands; nothing of one that has not
// failed.
func StandingOf(ctx context.Context, from FailureReader, run Run, now time.Time) (Standing, error) {
	ref, failed := run.Failure()
	if !failed {
		return Standing{}, nil
	}
	var s Standing
	groups, err := from.FailureGroups(ctx, standingGroups)
	if err != nil {
		return s, err
	}
	for _, g := range groups {
		if g.Ref() == ref {
			s.FailureGroup = &g
			break
		}
	}
	if run.Attention || run.EndedAt.Before(now.Add(-standingFor)) {
		return s, nil
	}
	acks, err := from.FailureAcks(ctx, run.EndedAt, standingGroups)
	if err != nil {
		return s, err
	}
	for _, a := range acks {
		if a.Covers(ref) && !a.At.Before(run.EndedAt) {
			s.Acknowledged = &a
			return s, nil
		}
	}
	said, err := from.AuditEvents(ctx, AuditFilter{Action: "run.ack", Object: "run:" + run.ID, Since: run.EndedAt, Page: Page{Limit: 1}})
	if err != nil {
		return s, err
	}
	for _, e := range said.Items {
		s.Acknowledged = &FailureAck{FailureRef: ref, Actor: e.Actor, Note: e.Reason, Runs: 1, Headline: run.Headline, At: e.At}
	}
	return s, nil
}
