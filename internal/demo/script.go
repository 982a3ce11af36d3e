package demo

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// effort is the maximum time for each part of a demonstration that needs no person.
const effort = time.Minute

// plan makes one payment. With the side-effect class unsafe, kairosd must not repeat it.
const plan = `id: payment
nodes:
  order: {type: set, input: {id: 17, amount: 240}}
  pay: {type: http, effect: %s, input: {method: POST, url: "%s", body: {amount: "${output.order.amount}"}}}
  receipt: {type: set, input: {order: "${output.order.id}", receipt: "${output.pay.body.receipt}"}}
edges:
  - {from: order, to: pay}
  - {from: pay, to: receipt}
`

// play runs a demonstration, and returns the output of its run.
func (r *Runner) play(ctx context.Context, idempotent bool, answer <-chan Answer) (output domain.RawJSON, err error) {
	f, err := newFiles(r.c.Limit)
	if err != nil {
		return nil, err
	}
	defer func() {
		if removeErr := os.RemoveAll(string(f)); err == nil {
			err = removeErr
		}
	}()
	bank, err := openLedger(func(all []Payment) { r.change(func(s *State) { s.Payments = all }) })
	if err != nil {
		return nil, err
	}
	defer bank.close()
	limited, cancel := context.WithTimeout(ctx, effort)
	defer cancel()
	run, err := r.pullPlug(limited, f, bank, idempotent)
	if err != nil {
		return nil, err
	}
	p, err := r.c.start(limited, f)
	if err != nil {
		return nil, err
	}
	defer p.end()
	r.note(Killed, domain.Messagef("kairosd is started again, as process %d. It reads the journal and continues the run.",
		p.cmd.Process.Pid))
	alive, leave := p.while(ctx)
	defer leave()
	done, err := p.wait(alive, run)
	if err == nil && done.WaitReason == domain.WaitInDoubt && !idempotent {
		done, err = r.ask(alive, p, bank, run, answer)
	}
	switch {
	case err != nil:
		return nil, err
	case done.Status != domain.RunCompleted:
		return nil, domain.Errorf(domain.CodeInternal, "the run of the demonstration is %s instead of completed", string(done.Status))
	case idempotent:
		r.note(Killed, domain.Messagef(
			"kairosd repeated the payment with the same idempotency key. The ledger recognized the key and paid nothing again."))
	}
	return done.Output, nil
}

// pullPlug starts a kairosd and a run, and kills kairosd when the payment is booked. It returns the
// id of the run.
func (r *Runner) pullPlug(ctx context.Context, f files, bank *ledger, idempotent bool) (string, error) {
	p, err := r.c.start(ctx, f)
	if err != nil {
		return "", err
	}
	defer p.kill()
	ctx, leave := p.while(ctx)
	defer leave()
	r.note(Paying, domain.Messagef("A second kairosd is started, as process %d, with a temporary database of its own.",
		p.cmd.Process.Pid))
	effect := "unsafe"
	if idempotent {
		effect = "idempotent"
	}
	text := fmt.Appendf(nil, plan, effect, bank.url)
	if _, _, _, problems, err := p.api.SavePlan(ctx, text, planner.FormatYAML, "upload", ""); err != nil {
		return "", fmt.Errorf("store the plan of the demonstration: %w %v", err, problems)
	}
	run, err := p.api.Start(ctx, domain.StartRequest{Plan: "payment"})
	if err != nil {
		return "", fmt.Errorf("start the run of the demonstration: %w", err)
	}
	paid, err := bank.paid(ctx)
	if err != nil {
		return "", err
	}
	r.note(Paying, domain.Messagef("The step pay calls the ledger. The ledger books %d, with receipt %s, and does not answer yet.",
		paid.Amount, paid.Receipt))
	p.kill()
	r.note(Killed, domain.Messagef("Process %d is killed with SIGKILL. The answer of the ledger is lost.", p.cmd.Process.Pid))
	return run.ID, nil
}

// ask waits for a person's answer whether the payment happened, and continues the run.
func (r *Runner) ask(ctx context.Context, p *process, bank *ledger, run string, answer <-chan Answer) (domain.Run, error) {
	r.note(InDoubt, domain.Messagef("The step pay is in doubt: it may have paid, and it must not pay twice. The run waits for you."))
	req := domain.ResolveRequest{Run: run, Node: "pay", Visit: 1, Item: -1, Attempt: 1}
	paid, err := bank.paid(ctx)
	if err != nil {
		return domain.Run{}, err
	}
	select {
	case a := <-answer:
		if a == Happened {
			req.Action, req.Reason = "happened", "found in the ledger"
			req.Output = domain.RawJSON(fmt.Sprintf(`{"status": 200, "headers": {}, "body": %s}`, paid.answer()))
			r.note(Continuing, domain.Messagef("You answered that the payment happened. kairosd takes the result from the ledger."))
		} else {
			req.Action, req.Reason = "retry", "not found in the ledger"
			r.note(Continuing, domain.Messagef(
				"You answered that the payment did not happen. kairosd runs the step again, with the same idempotency key."))
		}
	case <-ctx.Done():
		return domain.Run{}, context.Cause(ctx)
	}
	if _, err := p.api.Resolve(ctx, req); err != nil {
		return domain.Run{}, fmt.Errorf("resolve the step in doubt: %w", err)
	}
	return p.wait(ctx, run)
}

// wait returns a run when it has ended or waits for a person.
func (p *process) wait(ctx context.Context, run string) (domain.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, effort)
	defer cancel()
	done, err := p.api.Wait(ctx, run)
	if err != nil {
		return done, fmt.Errorf("wait for the run of the demonstration: %w", err)
	}
	return done, nil
}
