package control

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Maintenance of kairosd holds the runs: each workflow gets a signal when it begins, and when it ends. A workflow that is started
// in between gets it with its input.

// settingHeld is "on" while workflows may be held.
const settingHeld = "temporal.maintenance"

// maintainWait is the time after which kairosd announces maintenance in the background.
const maintainWait = 10 * time.Second

// Maintain begins or ends maintenance. It returns when the runs have the signal, or after maintainWait.
func (c *Control) Maintain(on bool) {
	c.mu.Lock()
	c.hold = wire.Hold{On: on, At: time.Now().UTC()}
	c.mu.Unlock()
	if c.store != nil { // it is open
		ctx, cancel := context.WithTimeout(c.base, maintainWait)
		defer cancel()
		err := c.announceHold(ctx)
		if err == nil {
			return
		}
		c.Log.Warn("Temporal: cannot announce maintenance; kairosd tries again", "err", err)
	}
	select {
	case c.held <- struct{}{}:
	default: // the change before this one was not announced yet
	}
}

func (c *Control) currentHold() wire.Hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hold
}

// announceHolds announces each change of maintenance, and the end of one that kairosd did not announce before it stopped.
func (c *Control) announceHolds() {
	c.retry("read whether runs are held", func() error {
		was, err := c.store.Setting(c.base, settingHeld)
		if err == nil && was == "on" && !c.engine.Maintaining() {
			c.Maintain(false)
		}
		return err
	})
	for {
		select {
		case <-c.held:
			c.retry("announce maintenance", func() error { return c.announceHold(c.base) })
		case <-c.base.Done():
			return
		}
	}
}

func (c *Control) announceHold(ctx context.Context) error {
	c.announcing.Lock()
	defer c.announcing.Unlock()
	h := c.currentHold()
	if h.On {
		if err := c.store.SetSetting(ctx, settingHeld, "on"); err != nil {
			return err
		}
	}
	unfinished, err := c.store.Unfinished(ctx)
	if err != nil {
		return err
	}
	err = c.each(ctx, len(unfinished), func(i int) error { return c.sendHold(ctx, unfinished[i].ID, h) })
	if err == nil && !h.On {
		err = c.store.SetSetting(ctx, settingHeld, "off")
	}
	return err
}

// sendHold announces maintenance to a run, unless it has no workflow.
func (c *Control) sendHold(ctx context.Context, run string, h wire.Hold) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	signed, err := wire.Sign(c.signingKey(), run, wire.HoldSignal, h, h.At)
	if err != nil {
		return err
	}
	err = c.Client.SignalWorkflow(ctx, run, "", wire.HoldSignal, signed)
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
		return nil
	}
	return err
}

// holdAgain announces maintenance to a workflow that was started with another state of it.
func (c *Control) holdAgain(run string, with wire.Hold) {
	if now := c.currentHold(); now.On != with.On {
		c.wg.Go(func() { c.retry("announce maintenance", func() error { return c.sendHold(c.base, run, now) }) })
	}
}
