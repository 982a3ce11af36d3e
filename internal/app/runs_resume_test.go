package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/domain"
)

// The first matching state decides the effect of a resume.
func TestTheFirstMatchingStateDecidesAResume(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 31, 6, 0, 0, 0, time.UTC)
	waits := func(reasons ...domain.WaitReason) (list []domain.Wait) {
		for _, r := range reasons {
			list = append(list, domain.Wait{Node: "pay", Reason: r, Approval: "a1"})
		}
		return list
	}
	waiting := func(r domain.WaitReason) domain.Run {
		return domain.Run{ID: "7qx2", Status: domain.RunWaiting, WaitReason: r}
	}
	paused := waiting(domain.WaitPaused)
	paused.Paused = true
	scheduled := domain.Run{ID: "7qx2", Status: domain.RunQueued, StartAt: now.Add(time.Hour)}
	for _, c := range []struct {
		name         string
		run          domain.Run
		waits        []domain.Wait
		release, now bool
		want         domain.Action
		refusal      string // part of the error or of its suggestion
	}{
		{name: "failed", run: domain.Run{Status: domain.RunFailed}, want: domain.ActionResume},
		{name: "cancelled", run: domain.Run{Status: domain.RunCancelled}, want: domain.ActionResume},
		{name: "interrupted", run: domain.Run{Status: domain.RunRunning}, want: domain.ActionResume},
		{name: "in doubt", run: waiting(domain.WaitInDoubt), waits: waits(domain.WaitInDoubt),
			refusal: "step pay of run 7qx2 is in doubt"},
		{name: "paused and in doubt", run: paused,
			waits: waits(domain.WaitPaused, domain.WaitInDoubt), refusal: "step pay of run 7qx2 is in doubt"},
		{name: "approval", run: waiting(domain.WaitApproval), waits: waits(domain.WaitApproval), refusal: "approval a1"},
		{name: "held", run: waiting(domain.WaitHeld), waits: waits(domain.WaitHeld), refusal: "set release"},
		{name: "held, released", run: waiting(domain.WaitHeld), waits: waits(domain.WaitHeld), release: true, want: domain.ActionRelease},
		{name: "held with an approval, released", run: waiting(domain.WaitHeld), waits: waits(domain.WaitHeld, domain.WaitApproval),
			release: true,
			want:    domain.ActionRelease},
		{name: "quarantined", run: waiting(domain.WaitQuarantined), refusal: "set release"},
		{name: "failed, released", run: domain.Run{ID: "7qx2", Status: domain.RunFailed}, release: true,
			refusal: "neither quarantined nor held"},
		{name: "paused", run: paused, waits: waits(domain.WaitPaused), want: domain.ActionUnpause},
		{name: "budget", run: waiting(domain.WaitBudget), waits: waits(domain.WaitBudget), want: domain.ActionResume},
		{name: "retry", run: waiting(domain.WaitRetry), waits: waits(domain.WaitRetry), want: domain.ActionRetryNow},
		{name: "scheduled", run: scheduled, refusal: "set startNow"},
		{name: "scheduled, now", run: scheduled, now: true, want: domain.ActionStartNow},
		{name: "failed, now", run: domain.Run{ID: "7qx2", Status: domain.RunFailed}, now: true, refusal: "is not scheduled"},
	} {
		got, err := app.ResumeAction(c.run, c.waits, c.release, c.now, now)
		text := ""
		if err != nil {
			text = err.Error()
			if e, ok := err.(*domain.Error); ok {
				text += " " + e.Suggestion
			}
		}
		if got != c.want || !strings.Contains(text, c.refusal) || (c.refusal == "") != (err == nil) {
			t.Errorf("%s: %q %q, want %q %q", c.name, got, text, c.want, c.refusal)
		}
	}
}
