package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// worker executes one bulk operation.
type worker struct {
	s     *Service
	b     domain.Bulk
	actor domain.Actor
	// continued: an earlier process began the operation, and may have acted on the first pending
	// run without recording that.
	continued bool
	// open contains runs that were acted on and have not ended, least recently checked first. same
	// counts the consecutive runs that failed as before. lookAtAll is true until this process has
	// checked every open run once.
	open      []domain.BulkItem
	same      int
	lookAtAll bool
	// trials counts canaries that failed as before while the operation waited for a provider or a
	// tool.
	trials int
}

// run acts on the pending runs and returns how the operation ended.
func (w *worker) run(ctx context.Context) (domain.BulkState, string, error) {
	if err := w.due(ctx); err != nil {
		return "", "", err
	}
	first := true
	for after := int64(0); ; {
		items, err := w.s.Store.BulkItems(ctx, domain.BulkItemFilter{Bulk: w.b.ID, After: after, Limit: 200})
		if err != nil {
			return "", "", err
		}
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			after = it.Position
			if it.State == "acted" && w.watches() { // by an earlier process
				w.open = append(w.open, it)
			}
			if it.State == "acted" && w.b.State == domain.BulkCanary { // the process ended while the canary was running
				if note, err := w.canary(ctx, it); note != "" || err != nil {
					return domain.BulkStopped, note, err
				}
				continue
			}
			if it.State != "pending" {
				continue
			}
			if !first && w.b.State != domain.BulkCanary {
				if err := w.pace(ctx); err != nil {
					return "", "", err
				}
			}
			first = false
			if err := w.due(ctx); err != nil {
				return "", "", err
			}
			if note, err := w.looked(ctx); note != "" || err != nil {
				return domain.BulkStopped, note, err
			}
			acted, err := w.act(ctx, &it)
			if err != nil {
				return "", "", err
			}
			if acted && w.b.State == domain.BulkCanary && w.waits() && w.trials < maxTrials {
				if again, err := w.again(ctx, it); err != nil {
					return "", "", err
				} else if again {
					continue
				}
			}
			if acted && w.b.State == domain.BulkCanary {
				if note, err := w.canary(ctx, it); note != "" || err != nil {
					return domain.BulkStopped, note, err
				}
			}
		}
	}
	return domain.BulkDone, "", nil
}

// maxTrials is how many canaries may fail before an operation that waits for a provider or a tool
// stops: then the provider or tool is not the cause.
const maxTrials = 20

// due waits until the operation may continue: until its start time, and until its provider and
// tool accept calls. A half-open circuit accepts one: the next run is the trial.
func (w *worker) due(ctx context.Context) error {
	if wait := w.b.NotBefore.Sub(w.s.Now()); !w.b.NotBefore.IsZero() && wait > 0 {
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
	for {
		refuses, err := w.refused(ctx)
		if err != nil || !refuses {
			return cmp.Or(err, ctx.Err())
		}
		if err := sleep(ctx, w.s.ProviderWait); err != nil {
			return err
		}
	}
}

// waits reports whether the operation waits for a provider or a tool.
func (w *worker) waits() bool { return w.b.Provider != "" || w.b.Tool != "" }

// refused reports whether that provider or tool refuses calls now.
func (w *worker) refused(ctx context.Context) (bool, error) {
	if w.b.Provider != "" &&
		slices.ContainsFunc(w.s.providers(), func(p domain.ProviderInfo) bool { return p.Name == w.b.Provider && p.Refuses() }) {
		return true, nil
	}
	return w.s.refuses(ctx, w.b.Tool)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// again reports whether the canary failed as before, so that the provider or the tool is still
// unavailable: the next run is the canary once calls are accepted again.
func (w *worker) again(ctx context.Context, it domain.BulkItem) (bool, error) {
	waiting, cancel := context.WithTimeout(ctx, w.s.CanaryWait)
	defer cancel()
	run, err := w.s.Engine.Wait(waiting, result(it).run())
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || run.Status != domain.RunFailed || !sameFailure(it, run) {
		return false, nil // the note of the canary
	}
	w.trials++
	w.open = nil
	if err := sleep(ctx, w.s.ProviderWait); err != nil {
		return false, err
	}
	return true, w.due(ctx)
}

// pace keeps the rate.
func (w *worker) pace(ctx context.Context) error {
	if w.b.Rate <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(time.Minute / time.Duration(w.b.Rate))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// act acts on one run and records the outcome. A run that has changed since the preview is
// skipped, because its preview is out of date.
func (w *worker) act(ctx context.Context, it *domain.BulkItem) (bool, error) {
	reason := "bulk " + domain.ShortID(w.b.ID)
	if w.b.Reason != "" {
		reason += ": " + w.b.Reason
	}
	if w.continued {
		done, err := w.carriedOut(ctx, it.Run)
		if err != nil {
			return false, err
		}
		if w.continued = done; done { //seed:bulk-done
			it.State, it.At = "acted", w.s.Now()
			return true, w.settle(ctx, it)
		}
	}
	if w.marks() {
		return w.mark(ctx, it)
	}
	switch w.b.Action {
	case domain.ActionBackfill:
		return w.backfill(ctx, it)
	case domain.ActionReplay:
		return w.replay(ctx, it)
	}
	req := domain.ActionRequest{Run: it.Run, Action: w.b.Action, Reason: reason}
	if w.b.Action == domain.ActionRerun { // does not change the run
		req.Key = fmt.Sprintf("bulk-%s-%d", w.b.ID, it.Position) //seed:bulk-key
	} else {
		req.Rev = it.Rev
	}
	run, err := w.s.Engine.Act(ctx, w.actor, req)
	if ctx.Err() != nil && err != nil {
		return false, ctx.Err()
	}
	it.State, it.At = "acted", w.s.Now()
	if err != nil {
		e, ok := errors.AsType[*domain.Error](err)
		if !ok || e.Code == domain.CodeUnavailable || e.Code == domain.CodeNoSpace || e.Code == domain.CodeInternal {
			return false, fmt.Errorf("%s run %s: %w", w.b.Action, it.Run, err)
		}
		it.State, it.Detail, it.Message = "refused", e.Message, e.Localize()
	} else if w.b.Action == domain.ActionRerun {
		it.Result = run.ID
	}
	return it.State == "acted", w.settle(ctx, it)
}

// settle records the outcome for one run.
func (w *worker) settle(ctx context.Context, it *domain.BulkItem) error {
	if err := w.s.Store.SettleBulkItem(context.WithoutCancel(ctx), w.b.ID, *it); err != nil {
		return err
	}
	if it.State == "acted" && w.watches() {
		w.open = append(w.open, *it)
	}
	return nil
}

// carriedOut reports whether an earlier process acted on the run for this operation. An action and
// its audit record commit together; the operation records the outcome later. A rerun finds its run
// by its key instead, a backfill by its slot, and a replay by its delivery.
func (w *worker) carriedOut(ctx context.Context, run string) (bool, error) {
	if w.b.Action == domain.ActionRerun || w.b.Action == domain.ActionBackfill || w.b.Action == domain.ActionReplay {
		return false, nil
	}
	f := domain.AuditFilter{
		Action:   "run." + string(w.b.Action),
		Run:      run,
		Result:   "ok",
		Requests: []string{w.b.ID},
		Page:     domain.Page{Limit: 1},
	}
	if w.marks() {
		f.Run, f.Object = "", "run:"+run
	}
	list, err := w.s.Store.AuditEvents(ctx, f)
	return len(list.Items) > 0, err
}

// marks reports whether the operation does not change the run itself.
func (w *worker) marks() bool {
	return w.b.Action == domain.ActionAcknowledge || w.b.Action == domain.ActionLabel
}

// mark acknowledges or labels a run: the run itself does not change.
func (w *worker) mark(ctx context.Context, it *domain.BulkItem) (bool, error) {
	var err error
	if w.b.Action == domain.ActionAcknowledge {
		err = w.s.Store.AckRun(ctx, w.actor, it.Run, w.b.Reason)
	} else {
		err = w.s.Store.LabelRun(ctx, w.actor, it.Run, w.b.Labels, w.b.Reason)
	}
	it.State, it.At = "acted", w.s.Now()
	switch code := domain.CodeOf(err); code {
	case "":
	case domain.CodeConflict, domain.CodeNotFound:
		e, _ := errors.AsType[*domain.Error](err)
		it.State, it.Detail, it.Message = "refused", e.Message, e.Localize()
	default:
		return false, fmt.Errorf("%s run %s: %w", w.b.Action, it.Run, err)
	}
	return it.State == "acted", w.settle(ctx, it)
}

// watches reports whether the operation follows the outcome of the runs.
func (w *worker) watches() bool {
	return w.b.Action == domain.ActionResume || w.b.Action == domain.ActionRerun || w.b.Action == domain.ActionBackfill
}

func (it result) run() string {
	if it.Result != "" {
		return it.Result
	}
	return it.Run
}

type result domain.BulkItem

// canary waits for the end of the first run. The note is why the other runs are skipped; empty:
// they are not.
func (w *worker) canary(ctx context.Context, it domain.BulkItem) (string, error) {
	if w.watches() {
		waiting, cancel := context.WithTimeout(ctx, w.s.CanaryWait)
		run, err := w.s.Engine.Wait(waiting, result(it).run())
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && waiting.Err() == nil:
			return "", err
		case err == nil && run.Status == domain.RunFailed:
			w.open = nil
			how := "failed"
			if w.b.Action != domain.ActionBackfill && sameFailure(it, run) {
				how = "failed the same way"
			}
			note := fmt.Sprintf("the canary %s %s: %s", domain.ShortID(run.ID), how, run.Headline)
			return w.s.explained(ctx, note, w.b.Action, run)
		case err == nil && run.Status == domain.RunCancelled:
			return fmt.Sprintf("the canary %s was cancelled", domain.ShortID(run.ID)), nil
		}
	}
	moved, err := w.s.Store.MoveBulk(ctx, w.b.ID, domain.BulkRunning, "", domain.System)
	if err != nil {
		return "", err
	}
	if !moved {
		return "", errStopped
	}
	w.b.State = domain.BulkRunning
	return "", nil
}

// lookAt is how many open runs are checked before each action. Each check continues after the
// previous one, so that runs that wait for approvals do not hide the others.
const lookAt = 50

// looked checks runs that were acted on. The note is why the remaining runs are skipped.
func (w *worker) looked(ctx context.Context) (string, error) {
	n := min(len(w.open), lookAt)
	if w.lookAtAll {
		n, w.lookAtAll = len(w.open), false
	}
	type ending struct {
		item domain.BulkItem
		run  domain.Run
	}
	var ended []ending
	for range n {
		it := w.open[0]
		w.open = w.open[1:]
		run, err := w.s.Store.Run(ctx, result(it).run())
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
		case err != nil:
			return "", err
		case run.Status.Final():
			ended = append(ended, ending{it, run})
		default:
			w.open = append(w.open, it) //seed:bulk-open
		}
	}
	slices.SortStableFunc(ended, func(a, b ending) int { return a.run.EndedAt.Compare(b.run.EndedAt) })
	for _, e := range ended {
		switch {
		case e.run.Status == domain.RunCompleted:
			w.same = 0
		case e.run.Status == domain.RunFailed && (w.b.Action == domain.ActionBackfill || sameFailure(e.item, e.run)):
			if w.same++; w.same >= w.s.SameFailures {
				format := "%d consecutive runs failed the same way again, the last one %s: %s"
				if w.b.Action == domain.ActionBackfill {
					format = "%d consecutive runs failed, the last one %s: %s"
				}
				why := fmt.Sprintf(
					format,
					w.same,
					domain.ShortID(e.run.ID),
					e.run.Headline,
				)
				return w.s.explained(ctx, why, w.b.Action, e.run)
			}
		}
	}
	return "", nil
}

// sameFailure reports whether a run failed as it did before.
func sameFailure(it domain.BulkItem, run domain.Run) bool {
	return run.Error != nil && run.Error.Node == it.Node && run.Error.Code == it.Code
}
