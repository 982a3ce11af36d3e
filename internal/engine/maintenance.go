package engine

// Maintain lets no node start any more, or lets them start again. What runs
// finishes; runs can be created, looked at, decided and cancelled meanwhile, and
// timers that fall due start nothing. It is not durable: the caller keeps
// the state and sets it again after a restart, before Open.
func (e *Engine) Maintain(on bool) {
	if e.maintenance.Swap(on) == on {
		return
	}
	e.sched.hand(e.sched.shut(on))
	if on {
		return
	}
	e.runs.nudge()
}

// Maintaining reports whether nodes may not start.
func (e *Engine) Maintaining() bool { return e.maintenance.Load() }
