package app

import (
	"context"
	"strings"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Approvals contains the operations on approval requests.
type Approvals struct{ *kernel }

type approvalStore interface {
	Approval(ctx context.Context, id string) (domain.Approval, error)
	Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error)
}

// List returns the approvals that match a filter, the one that has been open longest first.
//
// Errors: invalid (the filter), forbidden.
func (a *Approvals) List(ctx context.Context, by domain.Actor, f domain.ApprovalFilter) (domain.List[domain.Approval], error) {
	if err := a.allow(ctx, ListApprovals, by, ""); err != nil {
		return domain.List[domain.Approval]{}, err
	}
	return a.store.Approvals(ctx, f)
}

// Get returns one approval.
//
// Errors: not_found, forbidden.
func (a *Approvals) Get(ctx context.Context, by domain.Actor, id string) (domain.Approval, error) {
	if err := a.allow(ctx, GetApproval, by, ""); err != nil {
		return domain.Approval{}, err
	}
	return a.store.Approval(ctx, id)
}

// Prediction returns the predicted path of each answer to an approval.
//
// Errors: not_found, conflict (it is not pending), forbidden.
func (a *Approvals) Prediction(ctx context.Context, by domain.Actor, id string) ([]domain.Prediction, error) {
	if err := a.allow(ctx, PredictApproval, by, ""); err != nil {
		return nil, err
	}
	return a.engine.Prediction(ctx, id)
}

// DecideRequest answers an approval.
type DecideRequest struct {
	Meta `json:"-"`
	domain.DecideRequest
}

// Decide answers an approval, and the run continues. It returns the approval with the durable
// answer.
//
// The answer request_changes sends the comment to the agent, if an agent requested the approval.
//
// Errors: invalid (the answer or its values), not_found, conflict (it is already answered), stale
// (Digest is of another request), forbidden (the person started the run, and approvals are
// separated), unavailable.
func (a *Approvals) Decide(ctx context.Context, req DecideRequest) (domain.Approval, error) {
	return command(
		ctx,
		a.kernel,
		DecideApproval,
		req.Meta,
		[]any{req.Approval, req.DecideRequest},
		a.store.Approval,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Approval, error) {
			req.Receipt = receipt
			if req.Answer == string(domain.AnswerRequestChanges) {
				p, err := a.store.Approval(ctx, req.Approval)
				if err != nil {
					return p, err
				}
				if !p.MayAsk {
					_, err = p.AnswerOf(req.DecideRequest)
					return p, err
				}
				req.Answer, req.RequestChanges = "", true
			}
			p, err := a.engine.Decide(ctx, req.By, req.DecideRequest)
			if domain.CodeOf(err) == domain.CodeConflict && a.repeats(ctx, req, &p) {
				return p, nil
			}
			return p, err
		},
	)
}

// repeats reports whether the same person gave the same answer before, and returns the request.
func (a *Approvals) repeats(ctx context.Context, req DecideRequest, p *domain.Approval) bool {
	now, err := a.store.Approval(ctx, req.Approval)
	if err != nil || req.Answer == "" || now.Answer != req.Answer || now.DecidedBy != req.By.Name {
		return false
	}
	*p = now
	return true
}

// Assignees returns the names of the people to whom approvals can be assigned.
//
// Errors: forbidden.
func (a *Approvals) Assignees(ctx context.Context, by domain.Actor) ([]string, error) {
	if err := a.allow(ctx, AssignApproval, by, ""); err != nil {
		return nil, err
	}
	users, err := a.store.Users(ctx)
	var names []string
	for _, u := range users {
		if !u.Disabled && May(domain.Actor{Name: u.Name, Role: u.Role}, DecideApproval) {
			names = append(names, u.Name)
		}
	}
	return names, err
}

// AssignRequest assigns an approval to a person.
type AssignRequest struct {
	Meta     `json:"-"`
	Approval string
	Before   string // the assignee that the caller saw; empty means none
	Assignee string // empty means anyone with the permission
	Reason   string
}

// Assign sets who must answer an approval.
//
// Errors: invalid (the name), not_found, conflict (it was answered or reassigned in the meantime),
// forbidden.
func (a *Approvals) Assign(ctx context.Context, req AssignRequest) (domain.Approval, error) {
	req.Assignee, req.Reason = strings.TrimSpace(req.Assignee), strings.TrimSpace(req.Reason)
	if len(req.Assignee) > 128 {
		return domain.Approval{}, domain.Errorf(domain.CodeInvalid, "a name has at most 128 characters")
	}
	found := object[domain.Approval]{id: func(p domain.Approval) string { return p.ID }, find: a.store.Approval}
	return perform(ctx, a.kernel, AssignApproval, req.Meta, req, found, func(tx *store.Tx) (domain.Approval, error) {
		return tx.AssignApproval(req.Approval, req.Before, req.Assignee, req.Reason)
	})
}
