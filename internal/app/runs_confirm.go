package app

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// ConfirmedFor is how long a program may carry out an action that a person confirmed.
const ConfirmedFor = 15 * time.Minute

// confirmation is the detail of the audit record of a confirmed action.
type confirmation struct {
	Action domain.Action `json:"action"`
	Digest string        `json:"digest"`
	Seq    int64         `json:"seq,omitempty"`
}

func confirmationOf(req domain.ActionRequest) confirmation {
	return confirmation{req.Action, req.Digest, req.At}
}

// Confirmable are the actions that a program can carry out after a person confirmed them.
var Confirmable = []domain.Action{domain.ActionResume, domain.ActionRerun, domain.ActionFork, domain.ActionCancel}

// Confirm records that a person agrees to an action as its preview describes it. Programs with a token cannot
// confirm. It returns the preview.
//
// Errors: invalid (the action, or no digest), not_found, conflict (the action is not possible), stale (the
// preview has changed), forbidden.
func (r *Runs) Confirm(ctx context.Context, req ActRequest) (domain.Preview, error) {
	if err := r.byPerson(ctx, ConfirmAction, req); err != nil {
		return domain.Preview{}, err
	}
	p, err := r.Preview(ctx, req.By, domain.ActionRequest{Run: req.Run, Action: req.Action, At: req.At})
	switch {
	case err != nil:
		return p, err
	case !p.Allowed:
		return p, domain.Errorf(domain.CodeConflict, "%s", p.Refusal).Suggest("%s", p.Suggestion)
	case p.Digest != req.Digest:
		return p, domain.Errorf(domain.CodeStale, "the preview has changed").Suggest("preview the action again")
	}
	found := object[domain.Preview]{id: func(p domain.Preview) string { return p.Run },
		find: func(context.Context, string) (domain.Preview, error) { return p, nil }}
	return perform(ctx, r.kernel, ConfirmAction, req.Meta, req, found, func(tx *store.Tx) (domain.Preview, error) {
		tx.Audit("run:"+p.Run, req.Reason, encode(confirmationOf(req.ActionRequest)))
		return p, nil
	})
}

// byPerson checks a confirmation or a refusal, which only a person can make.
func (r *Runs) byPerson(ctx context.Context, op Operation, req ActRequest) error {
	if err := r.allow(ctx, op, req.By, "run:"+req.Run); err != nil {
		return err
	}
	if req.By.Source != "ui" && req.By.Source != "cli" {
		return r.permit(ctx, op, req.By, "run:"+req.Run,
			domain.Errorf(domain.CodeForbidden, "only a person can confirm or refuse an action").
				Suggest("log in, or run on the machine of the server: kairos mcp"))
	}
	if !slices.Contains(Confirmable, req.Action) || req.Digest == "" {
		return domain.Errorf(domain.CodeInvalid, "this needs an action and the digest of its preview")
	}
	return nil
}

// ActConfirmed performs an action that a person confirmed within the last [ConfirmedFor]. A confirmation is
// used once: a repeated request, also of another program, returns the result of the first. Without a confirmation,
// it adds a request for one; see [Runs.Requested].
//
// Errors: those of Act, forbidden (no person has confirmed this action with this digest, or one refused it), and
// too_many (the program waits for too many confirmations).
func (r *Runs) ActConfirmed(ctx context.Context, req ActRequest) (domain.Run, error) {
	if err := r.allow(ctx, ActConfirmed, req.By, "run:"+req.Run); err != nil {
		return domain.Run{}, err
	}
	if scopes := strings.Fields(req.By.Scopes); len(scopes) > 0 && !domain.ScopesInclude(scopes, domain.ScopeMCP) {
		return domain.Run{}, r.permit(ctx, ActConfirmed, req.By, "run:"+req.Run,
			domain.Errorf(domain.CodeForbidden, "this token has no scope %s", domain.ScopeMCP))
	}
	run, err := r.find(ctx, req.Run)
	if err != nil {
		return run, err
	}
	by, err := r.confirmed(ctx, run.ID, confirmationOf(req.ActionRequest))
	switch {
	case err != nil:
		return run, err
	case by.Seq == 0:
		req.Run = run.ID
		return run, r.request(ctx, req)
	}
	req.Run, req.Reason = run.ID, "confirmed by "+by.Actor
	once := req.Meta // the key belongs to the confirmation, so that another token does not use it again
	once.By.Name, once.Key = "confirmation", strconv.FormatInt(by.Seq, 10)
	return command(ctx, r.kernel, ActConfirmed, once, req, r.store.FindRun,
		func(ctx context.Context, receipt *domain.Receipt) (domain.Run, error) {
			req.Receipt = receipt
			return r.engine.Act(ctx, req.By, req.ActionRequest)
		})
}

// confirmed returns the newest valid record that confirms an action. Its Seq is 0 if there is none.
func (r *Runs) confirmed(ctx context.Context, run string, c confirmation) (domain.AuditEvent, error) {
	list, err := r.store.AuditEvents(ctx, domain.AuditFilter{Actions: []string{policy[ConfirmAction].Audit, policy[RefuseAction].Audit},
		Object: "run:" + run, Result: "ok", Since: r.now().Add(-ConfirmedFor), Page: domain.Page{Limit: 100}})
	for _, e := range list.Items {
		var given confirmation
		if json.Unmarshal(e.Detail, &given) != nil || given != c || c.Digest == "" {
			continue
		}
		if e.Action != policy[ConfirmAction].Audit { // refused later
			break
		}
		return e, nil
	}
	return domain.AuditEvent{}, err
}
