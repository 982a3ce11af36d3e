package control

import (
	"context"
	"errors"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/temporal/internal/launch"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Replan calls the planner for a run that waits for a plan, or stores the version of its recorded answer.
func (c *Control) Replan(ctx context.Context, q wire.Replan) (out wire.Replanned, err error) {
	defer func() {
		if err != nil && ctx.Err() == nil {
			c.Log.Error("Temporal: a run cannot be replanned; it repeats its request", "run_id", q.Run, "attempt", attempt(ctx), "err", err)
		}
	}()
	if on, err := c.engine.Timed().Executing(ctx); err != nil {
		return out, err
	} else if !on {
		return out, errWaiting
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.base, cancel)()
	p, err := c.records.Replan(ctx, q.Run, q.Seq)
	if errors.Is(err, engine.ErrGap) {
		if err = c.fill(ctx, q.Run); err == nil {
			p, err = c.records.Replan(ctx, q.Run, q.Seq)
		}
	}
	out = wire.Replanned{Answer: p.Answer, Usage: p.Usage, Target: p.Target, Unsafe: p.Unsafe, Failure: p.Failure, Again: p.Again}
	if err != nil || p.Target.Hash == "" {
		return out, err
	}
	view, err := c.engine.View(ctx, q.Run)
	if err != nil {
		return out, err
	}
	err = launch.Replanned(ctx, c.plans(), &c.programs, view.Run, view.State.Plans, c.settings(view.Program), &out)
	switch domain.CodeOf(err) {
	case domain.CodeInvalid, domain.CodeNotFound:
		return wire.Replanned{Failure: err.Error()}, nil
	}
	return out, err
}
