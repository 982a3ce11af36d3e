package web

import (
	"github.com/kairosd/kairosd/internal/domain"
)

// pauseRun pauses a run, or lets it go on. Neither asks back (level 0), so both
// may be asked for twice, and of a run that has gone on since its page was made: what it
// did meanwhile is no reason to refuse them.
func (r *request) pauseRun(req domain.VerbRequest) error {
	req.Rev = 0
	run, err := r.s.Engine.Act(r.ctx, r.who.actor(), req)
	if domain.CodeOf(err) == domain.CodeConflict {
		now, unread := r.s.Reader.FindRun(r.ctx, req.Run)
		if unread == nil && !now.Status.Final() && now.Paused == (req.Action == domain.ActionPause) {
			run, err = now, nil // it is so already
		}
	}
	if err != nil {
		return err
	}
	return r.to(r.runAt(run.ID, nil))
}
