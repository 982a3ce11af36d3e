package app

import (
	"context"
	"log/slog"

	"github.com/kairosd/kairosd/internal/demo"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
)

// Demo contains the operations on the demonstration of a recovery; see package demo.
type Demo struct{ *kernel }

// Demonstrator runs demonstrations, one at a time.
type Demonstrator interface {
	State() demo.State
	// Begin starts a demonstration. If one is in progress, the error is CodeConflict.
	Begin(by string, idempotent bool) error
	// Answer answers the question of the demonstration, or stops it. If there is no question, the
	// error is CodeConflict.
	Answer(a demo.Answer) error
}

// Get returns the newest demonstration since the start of the server.
//
// Errors: unavailable (no daemon), forbidden.
func (d *Demo) Get(ctx context.Context, by domain.Actor) (demo.State, error) {
	if err := d.allow(ctx, GetDemo, by, ""); err != nil {
		return demo.State{}, err
	}
	if d.demo == nil {
		return demo.State{}, errNoDemo()
	}
	return d.demo.State(), nil
}

// DemoStart starts a demonstration.
type DemoStart struct {
	Meta       `json:"-"`
	Idempotent bool // the payment step may be repeated
}

// Begin starts a demonstration.
//
// Errors: conflict (one is in progress), unavailable (no daemon), forbidden.
func (d *Demo) Begin(ctx context.Context, req DemoStart) error {
	return d.act(ctx, BeginDemo, req.Meta, req, map[string]bool{"idempotent": req.Idempotent}, func(r Demonstrator) error {
		return r.Begin(req.By.Name, req.Idempotent)
	})
}

// DemoAnswer states whether the payment of a demonstration happened, or stops the demonstration.
type DemoAnswer struct {
	Meta   `json:"-"`
	Answer demo.Answer
}

// Answer continues or stops a demonstration.
//
// Errors: conflict (there is no question), invalid (no such answer), unavailable (no daemon),
// forbidden.
func (d *Demo) Answer(ctx context.Context, req DemoAnswer) error {
	return d.act(ctx, AnswerDemo, req.Meta, req, map[string]string{"answer": string(req.Answer)}, func(r Demonstrator) error {
		return r.Answer(req.Answer)
	})
}

// act performs an operation on the demonstration, and records it. A demonstration is not stored, so
// a repeated key returns the current one.
func (d *Demo) act(ctx context.Context, op Operation, m Meta, request, detail any, do func(Demonstrator) error) error {
	find := func(context.Context) (demo.State, error) { return d.demo.State(), nil }
	_, err := change(ctx, d.kernel, op, m, request, find, func(_ context.Context, keep *keeper) error {
		if d.demo == nil {
			return errNoDemo()
		}
		if err := do(d.demo); err != nil {
			return err
		}
		record := domain.AuditRecord{Action: policy[op].Audit, Detail: encode(detail)}
		return keep.keep([]domain.AuditRecord{record}, func(*store.Tx) error { return nil })
	})
	return err
}

func errNoDemo() error {
	return domain.Errorf(domain.CodeUnavailable, "demonstrations require a running server").Suggest("use kairosd demo")
}

// RecordDemo returns a function that records each phase of a demonstration in the audit log. Open
// pages follow these records, and the first steps on the home page search for them.
func RecordDemo(s interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}, log *slog.Logger) func(demo.State) {
	var last demo.Phase
	return func(now demo.State) {
		changed := now.Phase != last
		last = now.Phase
		switch now.Phase {
		case demo.Killed, demo.InDoubt, demo.Completed, demo.Failed:
		default:
			return
		}
		if !changed {
			return
		}
		record := domain.AuditRecord{Action: "demo." + string(now.Phase), Actor: domain.System.Name, Source: domain.System.Source,
			Reason: now.Error.String(), Detail: encode(map[string]int{"payments": len(now.Payments)})}
		if now.Phase == demo.Failed {
			record.Result = "failed"
		}
		if err := s.Audit(context.Background(), record); err != nil {
			log.Error("record a demonstration", "phase", string(now.Phase), "err", err)
		}
	}
}
