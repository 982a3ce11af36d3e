package engine

// Maintain stops or resumes the start of nodes in all runs. Running nodes finish. Runs can still be
// created, read, decided, and cancelled, and due timers start nothing. The state is not durable:
// the caller stores it and sets it after a restart, before Open.
func (e *Engine) Maintain(on bool) {
	if e.maintenance.Swap(on) == on {
		return
	}
	e.sched.hand(e.sched.setClosed(on))
	if on {
		return
	}
	e.runs.wakeAll()
}

// Maintaining reports whether no node may start.
func (e *Engine) Maintaining() bool { return e.maintenance.Load() }
