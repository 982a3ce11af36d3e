package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/runstate"
)

// holdKey caches the hold of a restored database. A hold only begins before an engine does, so it is
// read once.
type hold struct {
	mu    sync.Mutex
	known bool
	on    bool
}

// held reports whether new runs wait for an operator.
func (s *starter) held(ctx context.Context) (bool, error) {
	s.hold.mu.Lock()
	defer s.hold.mu.Unlock()
	if !s.hold.known {
		h, err := s.e.store.Hold(ctx)
		if err != nil {
			return false, err
		}
		s.hold.known, s.hold.on = true, h != nil
	}
	return s.hold.on, nil
}

// ReleaseHeld ends a hold: new runs start again, and every held run continues. With the key of a
// plan, it only releases the held runs of that plan, and the hold stays. It returns the number of
// released runs once that is durable. Each run gets a journal row and an audit record. After a
// crash, another call releases the rest.
func (e *Engine) ReleaseHeld(ctx context.Context, actor domain.Actor, plan, reason string) (int, error) {
	return e.starts.release(ctx, actor, plan, reason)
}

func (s *starter) release(ctx context.Context, actor domain.Actor, plan, reason string) (int, error) {
	if err := s.e.allow(ctx, actor, domain.RoleOperator, "store.released", "", plan); err != nil {
		return 0, err
	}
	if s.e.runs.isStopping() {
		return 0, errNotOpen()
	}
	if err := s.e.store.MayRelease(ctx, actor); err != nil {
		return 0, err
	}
	if r := s.remote.Remote; r != nil {
		if err := r.Reconcile(ctx); err != nil { // a run that is executed needs no release
			return 0, err
		}
	}
	if plan == "" {
		if _, err := s.e.store.EndHold(ctx, actor, reason); err != nil {
			return 0, err
		}
		s.hold.mu.Lock()
		s.hold.known, s.hold.on = true, false
		s.hold.mu.Unlock()
	}
	unfinished, err := s.e.store.Unfinished(ctx)
	if err != nil {
		return 0, err
	}
	unfinished = slices.DeleteFunc(unfinished, func(r domain.Run) bool {
		return r.Status != domain.RunWaiting || r.WaitReason != domain.WaitHeld || plan != "" && r.PlanKey != plan && r.PlanID != plan
	})
	var mu sync.Mutex
	var done sync.WaitGroup
	var errs []error
	released := 0
	for i := range unfinished {
		release := releaseOf(&unfinished[i], actor, reason, s.e.now())
		if release.Approvals, err = s.cancelledRequests(ctx, unfinished[i].ID); err != nil {
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
			continue
		}
		done.Add(1)
		s.e.store.Enqueue([]domain.Checkpoint{release}, func(err error) {
			defer done.Done()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				released++
			case domain.CodeOf(err) != domain.CodeConflict: // otherwise another action is changing it
				errs = append(errs, err)
			}
		})
	}
	done.Wait()
	for i := range unfinished {
		r := &unfinished[i]
		r.Status, r.WaitReason = domain.RunQueued, ""
		r.LastSeq++
		s.e.watchers.changed(r.ID, r.Status)
		if !s.e.opts.OwnRunsOnly {
			s.enqueue(r)
		}
	}
	return released, errors.Join(errs...)
}

// approvalsOf returns all approval requests of a run with a status.
func approvalsOf(ctx context.Context, s Store, run, status string) (all []domain.Approval, err error) {
	f := domain.ApprovalFilter{Run: run, Status: status, Page: domain.Page{Limit: 200}}
	for {
		list, err := s.Approvals(ctx, f)
		if err != nil {
			return nil, err
		}
		if all = append(all, list.Items...); list.Next == "" {
			return all, nil
		}
		f.Page.After = list.Next
	}
}

// cancelledRequests returns the approval requests of a run that were cancelled because the key file
// was lost, as open ones.
func (s *starter) cancelledRequests(ctx context.Context, run string) ([]domain.Approval, error) {
	list, err := approvalsOf(ctx, s.e.store, run, "cancelled")
	if err != nil {
		return nil, err
	}
	var out []domain.Approval
	for _, p := range list {
		if p.DecidedBy == domain.System.Name && p.Comment == domain.ApprovalKeyLost {
			p.Status, p.ApprovalDecision = "pending", domain.ApprovalDecision{}
			out = append(out, p)
		}
	}
	return out, nil
}

// releaseOf returns the checkpoint that releases a held run without loading it.
func releaseOf(r *domain.Run, actor domain.Actor, reason string, at time.Time) domain.Checkpoint {
	row := domain.Entry{
		Kind:     domain.EntryAction,
		Item:     runstate.NoItem,
		Decision: runstate.RunActionDecision{Action: runstate.RunActionRelease}.JSON(),
		Actor:    actor.Name,
		Reason:   reason,
		At:       at,
	}
	headline := ""
	return domain.Checkpoint{Run: r.ID, Fence: r.LastSeq, Entries: []domain.Entry{row},
		Patch: &domain.RunPatch{Status: domain.RunQueued, Headline: &headline},
		Audit: []domain.AuditRecord{
			{
				Action:  "run." + string(domain.ActionRelease),
				Actor:   actor.Name,
				Source:  actor.Source,
				Request: actor.Request,
				Run:     r.ID,
				Reason:  reason,
			},
			runstate.StatusRecord(r.ID, domain.RunQueued, "", domain.Message{})}}
}
