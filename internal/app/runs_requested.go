package app

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

const (
	// RequestedFor is how long a request of a program for a confirmation stays open.
	RequestedFor = 24 * time.Hour
	// maxRequested is the number of open requests of one program.
	maxRequested = 20
	// maxDecisions is the number of requests and decisions that are read.
	maxDecisions = 1000
)

// Requested lists the actions that programs ask a person to confirm, newest first. It leaves out actions whose
// preview has changed, because these cannot be confirmed.
//
// Errors: forbidden.
func (r *Runs) Requested(ctx context.Context, by domain.Actor) ([]domain.RequestedAction, error) {
	if err := r.allow(ctx, GetRequestedActions, by, ""); err != nil {
		return nil, err
	}
	open, _, err := r.requests(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []domain.RequestedAction{}
	for _, q := range open {
		p, err := r.engine.Preview(ctx, domain.System, domain.ActionRequest{Run: q.Run, Action: q.Action, At: q.Seq})
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
			continue
		case err != nil:
			return nil, err
		case !p.Allowed || p.Digest != q.Digest:
			continue
		}
		run, err := r.find(ctx, q.Run)
		if err != nil {
			return nil, err
		}
		q.Plan, q.Again, q.New, q.Effects = run.PlanKey, len(p.Again), len(p.New), len(p.Effects)+len(p.Repeats)
		out = append(out, q)
	}
	return out, nil
}

// requests returns the open requests, newest first, and the reasons of the newest refusals. A run, if not empty,
// restricts them to the run.
func (r *Runs) requests(ctx context.Context, run string) (open []domain.RequestedAction, refused map[confirmation]string, err error) {
	f := domain.AuditFilter{Actions: []string{actionRequested, policy[ConfirmAction].Audit, policy[RefuseAction].Audit}, Result: "ok",
		Since: r.now().Add(-RequestedFor), Page: domain.Page{Limit: 200}}
	if run != "" {
		f.Object = "run:" + run
	}
	type request struct {
		run string
		confirmation
	}
	seen, refused := map[request]bool{}, map[confirmation]string{}
	for read := 0; read < maxDecisions; {
		list, err := r.store.AuditEvents(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range list.Items {
			q := request{run: strings.TrimPrefix(e.Object, "run:")}
			if json.Unmarshal(e.Detail, &q.confirmation) != nil || seen[q] {
				continue
			}
			seen[q] = true // the newest record decides
			switch e.Action {
			case actionRequested:
				open = append(open,
					domain.RequestedAction{Run: q.run, Action: q.Action, Digest: q.Digest, Seq: q.Seq, By: e.Actor, At: e.At})
			case policy[RefuseAction].Audit:
				refused[q.confirmation] = e.Reason
			}
		}
		if read += len(list.Items); list.Next == "" {
			break
		}
		f.Page.After = list.Next
	}
	return open, refused, nil
}

// actionRequested is the action of the audit record of a request for a confirmation.
const actionRequested = "run.request"

// request records that a program asks a person to confirm an action, unless it is open already. It returns the
// error for the program.
func (r *Runs) request(ctx context.Context, req ActRequest) error {
	id := req.Run
	none := domain.Errorf(domain.CodeForbidden, "no person has confirmed this action").
		Suggest("it is in the inbox now; ask a person to confirm it there, or with: kairos mcp confirm %s %s %s", id, req.Action,
			req.Digest)
	of, refused, err := r.requests(ctx, id)
	if err != nil {
		return err
	}
	if reason, no := refused[confirmationOf(req.ActionRequest)]; no {
		e := domain.Errorf(domain.CodeForbidden, "a person refused this action")
		if reason != "" {
			e = domain.Errorf(domain.CodeForbidden, "a person refused this action: %s", reason)
		}
		return r.permit(ctx, ActConfirmed, req.By, "run:"+id, e)
	}
	for _, q := range of {
		if (confirmation{q.Action, q.Digest, q.Seq}) == confirmationOf(req.ActionRequest) {
			return none
		}
	}
	p, err := r.engine.Preview(ctx, req.By, domain.ActionRequest{Run: id, Action: req.Action, At: req.At})
	if err != nil {
		return err
	}
	if !p.Allowed || p.Digest != req.Digest {
		return r.permit(ctx, ActConfirmed, req.By, "run:"+id,
			domain.Errorf(domain.CodeForbidden, "no person has confirmed this action, and its preview has changed").
				Suggest("preview the action again"))
	}
	all, _, err := r.requests(ctx, "")
	if err != nil {
		return err
	}
	own := 0
	for _, q := range all {
		if q.By == req.By.Name {
			own++
		}
	}
	if own >= maxRequested {
		return domain.Errorf(domain.CodeTooMany, "%d actions of this program wait for a confirmation", own).
			Suggest("wait until a person has decided some of them")
	}
	_, _, err = r.store.Do(store.Operation{Name: string(ActConfirmed), By: req.By, At: r.now()}, func(tx *store.Tx) (string, error) {
		tx.Record(actionRequested, "run:"+id, "", encode(confirmationOf(req.ActionRequest)))
		return id, nil
	})
	if err != nil {
		return err
	}
	return none
}

// Refuse records that a person refuses an action that a program asks for.
//
// Errors: invalid (the action, or no digest), not_found, forbidden.
func (r *Runs) Refuse(ctx context.Context, req ActRequest) (domain.Run, error) {
	if err := r.byPerson(ctx, RefuseAction, req); err != nil {
		return domain.Run{}, err
	}
	run, err := r.find(ctx, req.Run)
	if err != nil {
		return run, err
	}
	found := object[domain.Run]{id: func(x domain.Run) string { return x.ID }, find: r.store.FindRun}
	return perform(ctx, r.kernel, RefuseAction, req.Meta, req, found, func(tx *store.Tx) (domain.Run, error) {
		tx.Audit("run:"+run.ID, req.Reason, encode(confirmationOf(req.ActionRequest)))
		return run, nil
	})
}
