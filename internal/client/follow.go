package client

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// lateEvents is how long Follow waits for the last events of a run that has settled.
const lateEvents = 2 * time.Second

// Follow calls each with every event of a run, from its beginning, until the run is final or waits
// for a person. It returns the run in that state. If the API rejects the stream, Follow polls the
// run instead.
func (c *Client) Follow(ctx context.Context, run string, each func(domain.Event)) (apitypes.RunDetail, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := c.Subscribe(ctx, 0, run)
	if err != nil {
		return apitypes.RunDetail{}, err
	}
	return follow(ctx, events, func() (apitypes.RunDetail, error) { return c.View(ctx, run) }, each)
}

// follow reads the run when an event contains a status in which it may settle, and also after some
// time, because events may be missing.
func follow(ctx context.Context, events <-chan domain.Event, look func() (apitypes.RunDetail, error),
	each func(domain.Event)) (view apitypes.RunDetail, err error) {
	settledNow := false
	seen, status := int64(0), domain.RunStatus("")
	var late <-chan time.Time
	pause := pollLeast
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		ask := false
		select {
		case e, ok := <-events:
			if !ok {
				events = nil // rejected, or the context has ended
				break
			}
			each(e)
			seen = max(seen, e.RunSeq)
			if e.Type == "run_status" {
				text, _ := e.Data["status"].(string)
				status = domain.RunStatus(text)
				ask = status.Final() || status == domain.RunWaiting
			}
		case <-timer.C:
			ask = true
		case <-late:
			return view, nil
		case <-ctx.Done():
			return view, context.Cause(ctx)
		}
		if ask && !settledNow {
			if view, err = look(); err != nil {
				return view, err
			}
			if settled(view.Domain()) {
				settledNow, late = true, time.After(lateEvents)
			}
			pause = min(2*pause, pollMost)
			timer.Reset(pause)
		}
		if r := view.Domain(); settledNow && (events == nil || seen >= r.LastSeq && status == r.Status) {
			return view, ctx.Err()
		}
	}
}
