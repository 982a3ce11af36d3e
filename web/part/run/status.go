// Package run contains what several sections show of runs.
package run

import (
	"regexp"
	"strconv"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// Status returns the status of a run with details: until when it is scheduled, when it is retried,
// or what it waits for.
func Status(c *ui.Context, run domain.Run) kit.Status {
	st := ui.RunStatus(run.Status, run.WaitReason)
	switch {
	case run.Status == domain.RunQueued && run.StartAt.After(c.Site.Now()):
		st = kit.Word("idle", "i-clock", locale.Mark("Scheduled"), false)
		st.Detail = c.Time(run.StartAt).Text
	case run.Status != domain.RunWaiting:
	case run.WaitReason == domain.WaitRetry && !run.DueAt.IsZero():
		st.Detail = c.Ago(c.Site.Now().Sub(run.DueAt))
		if m := triedForm.FindStringSubmatch(run.Headline); m != nil {
			if made, err := strconv.Atoi(m[1]); err == nil {
				st.Detail = c.T("%s of %s, %s", strconv.Itoa(made+1), m[2], st.Detail)
			}
		}
	case run.WaitReason == domain.WaitTimer:
		st.Detail = c.T("timer")
	case run.WaitReason == domain.WaitChild:
		st.Detail = c.T("child run")
	case run.WaitReason == domain.WaitSignal:
		st.Detail = c.T("signal")
	}
	return st
}

// triedForm matches the part of a status message with the number of attempts.
var triedForm = regexp.MustCompile(`^[A-Za-z0-9_-]+ will be tried again after (\d+) of (\d+) attempts: `)

// Headline returns the status message of a run, in the user's language and time zone.
func Headline(c *ui.Context, run domain.Run) string {
	if run.StatusMessage.IsZero() { // free text without a message is not translated
		return kit.Escape(run.Headline)
	}
	return c.Message(run.StatusMessage)
}

// Scheduled reports whether the run waits for its start time.
func Scheduled(c *ui.Context, run domain.Run) bool {
	return run.Status == domain.RunQueued && run.StartedAt.IsZero() && run.StartAt.After(c.Site.Now())
}
