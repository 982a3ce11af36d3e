package record

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
)

// Reason returns a wait reason in the user's language.
func (r *Request) Reason(w domain.WaitReason) string { return r.T(reasonWords[w]) }

var reasonWords = map[domain.WaitReason]string{domain.WaitQuarantined: locale.Mark("quarantined"), domain.WaitHeld: locale.Mark("held"),
	domain.WaitPaused: locale.Mark("paused"), domain.WaitInDoubt: locale.Mark("in doubt"), domain.WaitBudget: locale.Mark("budget"),
	domain.WaitApproval: locale.Mark("approval"), domain.WaitReplan: locale.Mark("replan"), domain.WaitChild: locale.Mark("child run"),
	domain.WaitRetry: locale.Mark("retry"), domain.WaitTimer: locale.Mark("timer"),
	domain.WaitSignal: locale.Mark("signal")}
