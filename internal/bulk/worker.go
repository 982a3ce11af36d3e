package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// worker carries one bulk act out.
type worker struct {
	s     *Service
	b     kairos.Bulk
	actor kairos.Actor
	// open are runs that were acted on and are not over yet; same counts those
	// that failed as before since the last one that did not.
	open []kairos.BulkItem
	same int
	// trials counts canaries that failed as before while a provider or a tool was
	// waited for.
	trials int
}

// run acts on what is pending and says how the bulk act ended.
func (w *worker) run(ctx context.Context) (kairos.BulkState, string, error) {
	if err := w.due(ctx); err != nil {
		return "", "", err
	}
	first := true
	for after := int64(0); ; {
		items, err := w.s.Store.BulkItems(ctx, w.b.ID, after, 200)
		if err != nil {
			return "", "", err
		}
		if len(items) == 0 {
			break
		}
		for _, it := range items {
			after = it.Position
			if it.State == "acted" && w.b.State == kairos.BulkCanary { // the process ended while the canary was under way
				if note, err := w.canary(ctx, it); note != "" || err != nil {
					return kairos.BulkStopped, note, err
				}
				continue
			}
			if it.State != "pending" {
				continue
			}
			if !first && w.b.State != kairos.BulkCanary {
				if err := w.pace(ctx); err != nil {
					return "", "", err
				}
			}
			first = false
			if err := w.due(ctx); err != nil {
				return "", "", err
			}
			if note, err := w.looked(ctx); note != "" || err != nil {
				return kairos.BulkStopped, note, err
			}
			acted, err := w.act(ctx, &it)
			if err != nil {
				return "", "", err
			}
			if acted && w.b.State == kairos.BulkCanary && w.waits() && w.trials < maxTrials {
				if again, err := w.again(ctx, it); err != nil {
					return "", "", err
				} else if again {
					continue
				}
			}
			if acted && w.b.State == kairos.BulkCanary {
				if note, err := w.canary(ctx, it); note != "" || err != nil {
					return kairos.BulkStopped, note, err
				}
			}
		}
	}
	return kairos.BulkDone, "", nil
}

// maxTrials is how many canaries may fail before an act that waits for a provider
// or a tool gives up: it is not the provider then.
const maxTrials = 20

// due waits until the act may go on: for its time, and until its provider and its
// tool take calls. A circuit that is half open does: the next run is the trial.
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

// waits reports whether the act goes on only while somebody takes calls.
func (w *worker) waits() bool { return w.b.Provider != "" || w.b.Tool != "" }

// refused reports whether what the act waits for takes no calls now.
func (w *worker) refused(ctx context.Context) (bool, error) {
	if w.b.Provider != "" && slices.ContainsFunc(w.s.providers(), func(p kairos.ProviderInfo) bool { return p.Name == w.b.Provider && p.Refuses() }) {
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

// again reports whether the canary failed as before, so that the provider or the
// tool is not what it was taken for: the next run is the canary, once calls are taken again.
func (w *worker) again(ctx context.Context, it kairos.BulkItem) (bool, error) {
	waiting, cancel := context.WithTimeout(ctx, w.s.CanaryWait)
	defer cancel()
	run, err := w.s.Engine.Wait(waiting, result(it).run())
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || run.Status != kairos.RunFailed || !sameFailure(it, run) {
		return false, nil // what canary says of it
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

// act does it to one run and records what became of it. A run that has moved on
// since the preview is left alone: nobody has seen what would happen to it.
func (w *worker) act(ctx context.Context, it *kairos.BulkItem) (bool, error) {
	reason := "bulk " + kairos.ShortID(w.b.ID)
	if w.b.Reason != "" {
		reason += ": " + w.b.Reason
	}
	if w.b.Action == kairos.ActionAck || w.b.Action == kairos.ActionLabel {
		return w.mark(ctx, it)
	}
	req := kairos.VerbRequest{Run: it.Run, Action: w.b.Action, Reason: reason}
	if w.b.Action != kairos.ActionRerun { // a rerun changes nothing of the run
		req.Rev = it.Rev
	}
	run, err := w.s.Engine.Act(ctx, w.actor, req)
	if ctx.Err() != nil && err != nil {
		return false, ctx.Err()
	}
	it.State, it.At = "acted", w.s.Now()
	if err != nil {
		e, ok := errors.AsType[*kairos.Error](err)
		if !ok || e.Code == kairos.CodeUnavailable || e.Code == kairos.CodeNoSpace || e.Code == kairos.CodeInternal {
			return false, fmt.Errorf("%s run %s: %w", w.b.Action, it.Run, err)
		}
		it.State, it.Detail = "refused", e.Message
	} else if w.b.Action == kairos.ActionRerun {
		it.Result = run.ID
	}
	if err := w.s.Store.SettleBulkItem(context.WithoutCancel(ctx), w.b.ID, *it); err != nil {
		return false, err
	}
	if it.State == "acted" && w.watches() {
		w.open = append(w.open, *it)
	}
	return it.State == "acted", nil
}

// mark takes note of a run, or labels it: nothing of the run itself changes.
func (w *worker) mark(ctx context.Context, it *kairos.BulkItem) (bool, error) {
	var err error
	if w.b.Action == kairos.ActionAck {
		err = w.s.Store.AckRun(ctx, w.actor, it.Run, w.b.Reason)
	} else {
		err = w.s.Store.LabelRun(ctx, w.actor, it.Run, w.b.Labels, w.b.Reason)
	}
	it.State, it.At = "acted", w.s.Now()
	switch code := kairos.CodeOf(err); code {
	case "":
	case kairos.CodeConflict, kairos.CodeNotFound:
		e, _ := errors.AsType[*kairos.Error](err)
		it.State, it.Detail = "refused", e.Message
	default:
		return false, fmt.Errorf("%s run %s: %w", w.b.Action, it.Run, err)
	}
	return it.State == "acted", w.s.Store.SettleBulkItem(context.WithoutCancel(ctx), w.b.ID, *it)
}

// watches reports whether what becomes of the runs matters.
func (w *worker) watches() bool {
	return w.b.Action == kairos.ActionResume || w.b.Action == kairos.ActionRerun
}

func (it result) run() string {
	if it.Result != "" {
		return it.Result
	}
	return it.Run
}

type result kairos.BulkItem

// canary waits for the first run's end. The note says why the rest is not acted
// on; empty: it is.
func (w *worker) canary(ctx context.Context, it kairos.BulkItem) (string, error) {
	if w.watches() {
		waiting, cancel := context.WithTimeout(ctx, w.s.CanaryWait)
		run, err := w.s.Engine.Wait(waiting, result(it).run())
		cancel()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && waiting.Err() == nil:
			return "", err
		case err == nil && run.Status == kairos.RunFailed:
			w.open = nil
			how := "failed"
			if sameFailure(it, run) {
				how = "failed the same way"
			}
			note := fmt.Sprintf("the canary %s %s: %s", kairos.ShortID(run.ID), how, run.Headline)
			return w.s.explained(ctx, note, w.b.Action, run)
		case err == nil && run.Status == kairos.RunCancelled:
			return fmt.Sprintf("the canary %s was cancelled", kairos.ShortID(run.ID)), nil
		}
	}
	moved, err := w.s.Store.MoveBulk(ctx, w.b.ID, kairos.BulkRunning, "", kairos.System)
	if err != nil {
		return "", err
	}
	if !moved {
		return "", errStopped
	}
	w.b.State = kairos.BulkRunning
	return "", nil
}

// looked looks at what became of runs that were acted on. The note says why the
// rest is left alone.
func (w *worker) looked(ctx context.Context) (string, error) {
	var why string
	var last kairos.Run
	for i := 0; i < len(w.open) && i < 50; i++ {
		it := w.open[i]
		run, err := w.s.Store.Run(ctx, result(it).run())
		if kairos.CodeOf(err) == kairos.CodeNotFound {
			continue
		} else if err != nil {
			return "", err
		}
		switch {
		case run.Status == kairos.RunFailed && sameFailure(it, run):
			w.same++
			last = run
			why = fmt.Sprintf("%d runs in a row failed the same way again, the last one %s: %s", w.same, kairos.ShortID(run.ID), run.Headline)
		case run.Status == kairos.RunCompleted:
			w.same = 0
		case !run.Status.Final():
			continue
		}
		w.open = slices.Delete(w.open, i, i+1)
		i--
	}
	if w.same >= w.s.SameFailures {
		return w.s.explained(ctx, why, w.b.Action, last)
	}
	return "", nil
}

// sameFailure reports whether a run failed as it had before.
func sameFailure(it kairos.BulkItem, run kairos.Run) bool {
	return run.Error != nil && run.Error.Node == it.Node && run.Error.Code == it.Code
}
