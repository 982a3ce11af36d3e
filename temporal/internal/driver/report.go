package driver

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

const (
	// maxBatch is the greatest number of checkpoints in one report.
	maxBatch = 100
	// reportTimeout limits one attempt to report, and reportPause the time between two attempts. After reportLost without a heartbeat,
	// kairosd was killed during the attempt.
	reportTimeout = time.Minute
	reportLost    = 5 * time.Second
	reportPause   = time.Minute
)

// reporter sends checkpoints to kairosd, in order, until each is acknowledged.
type reporter struct {
	r       *runner
	pending []domain.Checkpoint
	sending bool
	created bool // the first report was acknowledged
	fence   int64
	// versions are those that kairosd's record may lack, if it was restored.
	versions []domain.Version
}

// done reports whether everything was acknowledged.
func (p *reporter) done() bool { return len(p.pending) == 0 && !p.sending }

func (p *reporter) add(c domain.Checkpoint) {
	c.Run, c.Fence = p.r.in.Run.ID, p.fence
	p.fence += int64(len(c.Entries))
	if p.r.in.Report {
		p.pending = append(p.pending, c)
	}
}

// control returns the context of activities that kairosd executes. They wait while it is down.
func (r *runner) control(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: reportTimeout, HeartbeatTimeout: reportLost,
		TaskQueue: r.in.Control, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: reportPause}})
}

// announce reports a run before its first step if it has a callback address, so that the record has the run when the address is used, or
// if it waits for its concurrency key. kairosd may refuse the run because of its key.
func (r *runner) announce() error {
	if r.in.Callback == "" && r.admitted || r.in.Known || !r.in.Report {
		return nil
	}
	var answer wire.Reported
	err := workflow.ExecuteActivity(r.control(r.ctx), wire.ReportActivity, r.reports.report(nil)).Get(r.ctx, &answer)
	r.reports.created = err == nil
	r.learn(answer)
	return err
}

// learn takes over what the answer to a report states.
func (r *runner) learn(answer wire.Reported) {
	if answer.Budgets != nil {
		r.in.Budgets = *answer.Budgets
	}
}

// report returns a report of checkpoints. The first one contains the run.
func (p *reporter) report(list []domain.Checkpoint) wire.Report {
	report := wire.Report{Checkpoints: list, Run: p.r.m.Run, Budgets: p.r.in.Budgets.Digest, Versions: p.versions}
	report.Run.Input, report.Run.Output = nil, nil // Created and a patch have them
	if !p.created && !p.r.in.Known {
		report.Created, report.Journal = &p.r.in.Run, p.r.in.Journal
		if v := p.r.in.Versions[p.r.in.Run.Hash]; v.Origin == domain.OriginBlock {
			report.Version = &v
		}
	}
	return report
}

// start starts to send reports.
func (p *reporter) start() {
	if !p.r.in.Report {
		return
	}
	workflow.Go(p.r.ctx, func(ctx workflow.Context) {
		ctx = p.r.control(ctx)
		for {
			if workflow.Await(ctx, func() bool { return len(p.pending) > 0 }) != nil {
				return
			}
			n := wire.Batch(p.pending, maxBatch)
			report := p.report(p.pending[:n:n])
			p.sending = true
			var answer wire.Reported
			err := workflow.ExecuteActivity(ctx, wire.ReportActivity, report).Get(ctx, &answer)
			p.sending = false
			p.r.learn(answer)
			if err != nil {
				// Only a report that kairosd refuses for good ends here. The run continues, and the record has a gap that
				// kairosd fills from the history.
				workflow.GetLogger(ctx).Error("kairosd refused a report", "run_id", p.r.m.Run.ID, "err", err)
			}
			p.pending, p.created, p.versions = p.pending[n:], true, p.versions[len(report.Versions):]
			if len(p.pending) == 0 {
				p.r.wake()
			}
		}
	})
}
