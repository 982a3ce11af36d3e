package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// hold is what the engine knows of a database that was taken back to an earlier
// state (G15). A hold begins only before an engine does, so it is read once.
type hold struct {
	mu    sync.Mutex
	known bool
	on    bool
}

// held reports whether new runs wait for an operator.
func (e *Engine) held(ctx context.Context) (bool, error) {
	e.hold.mu.Lock()
	defer e.hold.mu.Unlock()
	if !e.hold.known {
		h, err := e.store.Hold(ctx)
		if err != nil {
			return false, err
		}
		e.hold.known, e.hold.on = true, h != nil
	}
	return e.hold.on, nil
}

// ReleaseHeld ends a hold: new runs are executed again, and every held run goes
// on. With a plan's key it lets only that plan's held runs go on, and the hold
// lasts. It returns how many runs it released once that is durable. Each run gets a
// journal row and an audit record of its own; what died midway is released by
// asking again.
func (e *Engine) ReleaseHeld(ctx context.Context, actor kairos.Actor, plan, reason string) (int, error) {
	if err := e.allow(ctx, actor, kairos.RoleOperator, "store.released", "", plan); err != nil {
		return 0, err
	}
	if e.isStopping() {
		return 0, e.notOpen()
	}
	ended := false
	if plan == "" {
		var err error
		if ended, err = e.store.EndHold(ctx, actor, reason); err != nil {
			return 0, err
		}
		e.hold.mu.Lock()
		e.hold.known, e.hold.on = true, false
		e.hold.mu.Unlock()
	}
	unfinished, err := e.store.Unfinished(ctx)
	if err != nil {
		return 0, err
	}
	unfinished = slices.DeleteFunc(unfinished, func(r kairos.Run) bool {
		return r.Status != kairos.RunWaiting || r.WaitReason != kairos.WaitHeld || plan != "" && r.PlanKey != plan && r.PlanID != plan
	})
	var mu sync.Mutex
	var done sync.WaitGroup
	var errs []error
	released := 0
	for i := range unfinished {
		done.Add(1)
		e.store.Enqueue([]kairos.Checkpoint{releaseOf(&unfinished[i], actor, reason, e.now())}, func(err error) {
			defer done.Done()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				released++
			case kairos.CodeOf(err) != kairos.CodeConflict: // else somebody acts on it right now
				errs = append(errs, err)
			}
		})
	}
	done.Wait()
	if !ended && released == 0 && len(errs) == 0 {
		return 0, kairos.Errorf(kairos.CodeConflict, "nothing is held")
	}
	for i := range unfinished {
		r := &unfinished[i]
		r.Status, r.WaitReason = kairos.RunQueued, ""
		r.LastSeq++
		e.changed(r.ID)
		if !e.opts.OwnRunsOnly {
			e.enqueue(r)
		}
	}
	return released, errors.Join(errs...)
}

// releaseOf is the checkpoint that releases a held run without taking it up.
func releaseOf(r *kairos.Run, actor kairos.Actor, reason string, at time.Time) kairos.Checkpoint {
	row := kairos.Entry{Kind: kairos.EntryVerb, Item: noItem, Decision: payload{Verb: "release"}.json(), Actor: actor.Name, Reason: reason,
		At: at}
	headline := ""
	return kairos.Checkpoint{Run: r.ID, Fence: r.LastSeq, Entries: []kairos.Entry{row},
		Patch: &kairos.RunPatch{Status: kairos.RunQueued, Headline: &headline},
		Audit: []kairos.AuditRecord{
			{Action: "run." + string(kairos.ActionRelease), Actor: actor.Name, Surface: actor.Surface, Request: actor.Request, Run: r.ID, Reason: reason},
			statusRecord(r.ID, kairos.RunQueued, "", "")}}
}
