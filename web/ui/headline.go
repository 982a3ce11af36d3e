package ui

import (
	"regexp"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// A headline is stored in English with times in UTC: lists sort and search it, and
// it is in the audit log. Pages say it in the reader's language and zone; what an error or a person said stays as it was said.

// stood is where a run stood when its headline was written. What a person asks is
// a headline, too: only the words of the same standing are the engine's.
type stood struct {
	status domain.RunStatus
	reason domain.WaitReason
}

// headlineForm is one sentence of the engine, and how pages say it.
type headlineForm struct {
	form *regexp.Regexp
	text string
}

func form(expr, text string) headlineForm {
	return headlineForm{regexp.MustCompile(`(?s)^` + expr + `$`), text}
}

const (
	formNode = `([A-Za-z0-9_-]+)`
	formTime = `(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))`
)

var headlineForms = map[stood][]headlineForm{
	{status: domain.RunFailed}: {
		form(formNode+` failed after (\d+) of (\d+) attempts: (.*)`, locale.Mark("%s failed after %s of %s attempts: %s")),
		form(formNode+` failed: (.*)`, locale.Mark("%s failed: %s")),
		form(`failed`, locale.Mark("failed")),
	},
	{status: domain.RunCompleted}: {
		form(`1 step failed`, locale.Mark("1 step failed")),
		form(`(\d+) steps failed`, locale.Mark("%s steps failed")),
	},
	{status: domain.RunCancelled}: {
		form(`cancelled; its journal is damaged`, locale.Mark("cancelled; its journal is damaged")),
		form(`cancelled; what it was started with is damaged`, locale.Mark("cancelled; what it was started with is damaged")),
	},
	{status: domain.RunRunning}: {
		form(formNode+` gives no sign of life since `+formTime, locale.Mark("%s gives no sign of life since %s")),
		form(formNode+` \(attempt (\d+)\)`, locale.Mark("%s (attempt %s)")),
	},
	{domain.RunWaiting, domain.WaitApproval}: {form(`approval of `+formNode, locale.Mark("approval of %s"))},
	{domain.RunWaiting, domain.WaitInDoubt}: {
		form(formNode+` called (.*), which may have had its effect; say whether it happened`, locale.Mark("%s called %s, which may have had its effect; say whether it happened")),
		form(formNode+` may have had its effect; say whether it happened`, locale.Mark("%s may have had its effect; say whether it happened")),
	},
	{domain.RunWaiting, domain.WaitRetry}: {
		form(formNode+` will be tried again after (\d+) of (\d+) attempts: (.*)`, locale.Mark("%s will be tried again after %s of %s attempts: %s")),
	},
	{domain.RunWaiting, domain.WaitTimer}:  {form(formNode+` waits until `+formTime, locale.Mark("%s waits until %s"))},
	{domain.RunWaiting, domain.WaitChild}:  {form(formNode+` waits for run (.*)`, locale.Mark("%s waits for run %s"))},
	{domain.RunWaiting, domain.WaitReplan}: {form(formNode+` failed; the rest is planned anew: (.*)`, locale.Mark("%s failed; the rest is planned anew: %s"))},
	{domain.RunWaiting, domain.WaitHeld}:   {form(`held since the database was taken back`, locale.Mark("held since the database was taken back"))},
	{domain.RunWaiting, domain.WaitPaused}: {form(`paused`, locale.Mark("paused"))},
	{domain.RunWaiting, domain.WaitQuarantined}: {
		form(`parked: kairosd died repeatedly while this run worked`, locale.Mark("parked: kairosd died repeatedly while this run worked")),
		form(`what the run was started with is damaged \((\w+)\); it cannot go on`, locale.Mark("what the run was started with is damaged (%s); it cannot go on")),
		form(`journal row (\d+) is damaged; the run can go on as a fork from its input`, locale.Mark("journal row %s is damaged; the run can go on as a fork from its input")),
		form(`journal row (\d+) is damaged; the run can go on as a fork from checkpoint (\d+ \(.*\))`, locale.Mark("journal row %s is damaged; the run can go on as a fork from checkpoint %s")),
	},
}

// HeadlineOf is a stored headline in the reader's language and zone; status and reason
// are where the run stood.
func (c *Context) HeadlineOf(status domain.RunStatus, reason domain.WaitReason, text string) string {
	if status != domain.RunWaiting {
		reason = ""
	}
	for _, f := range headlineForms[stood{status, reason}] {
		m := f.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		args := make([]any, len(m)-1)
		for i, s := range m[1:] {
			args[i] = kit.Visible(s)
			if at, err := time.Parse(time.RFC3339, s); err == nil {
				args[i] = c.Time(at).Text
			}
		}
		return c.T(f.text, args...)
	}
	if reason == domain.WaitBudget {
		return c.Said(text)
	}
	return kit.Visible(text)
}
