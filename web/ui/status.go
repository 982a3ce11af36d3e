package ui

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
)

// RunStatus returns the status of a run as pages show it.
func RunStatus(s domain.RunStatus, reason domain.WaitReason) kit.Status {
	switch s {
	case domain.RunQueued:
		return kit.Word("idle", "i-queued", locale.Mark("Queued"), false)
	case domain.RunRunning:
		return kit.Word("now", "i-now", locale.Mark("Running"), false)
	case domain.RunCompleted:
		return kit.Word("ok", "i-ok", locale.Mark("Completed"), true)
	case domain.RunFailed:
		return kit.Word("fail", "i-fail", locale.Mark("Failed"), true)
	case domain.RunCancelled:
		return kit.Word("idle", "i-cancel", locale.Mark("Cancelled"), true)
	}
	switch reason {
	case domain.WaitApproval:
		return kit.Word("need", "i-need", locale.Mark("Waiting for approval"), false)
	case domain.WaitBudget, domain.WaitReplan, domain.WaitHeld, domain.WaitQuarantined:
		return kit.Word("need", "i-need", locale.Mark("Action required"), false)
	case domain.WaitInDoubt:
		return kit.Word("doubt", "i-doubt", locale.Mark("In doubt"), false)
	case domain.WaitPaused:
		return kit.Word("idle", "i-pause", locale.Mark("Paused"), false)
	case domain.WaitRetry:
		return kit.Word("need", "i-retry", locale.Mark("Retrying"), false)
	}
	return kit.Word("idle", "i-wait", locale.Mark("Waiting"), false)
}

// StepStatus returns the status of a step as pages show it.
func StepStatus(s domain.NodeStatus) kit.Status {
	switch s {
	case domain.NodeRunning:
		return kit.Word("now", "i-now", locale.Mark("running"), false)
	case domain.NodeCompleted:
		return kit.Word("ok", "i-ok", locale.Mark("completed"), true)
	case domain.NodeFailed:
		return kit.Word("fail", "i-fail", locale.Mark("failed"), true)
	case domain.NodeSkipped:
		return kit.Word("idle", "i-skip", locale.Mark("skipped"), true)
	case domain.NodeCancelled:
		return kit.Word("idle", "i-cancel", locale.Mark("cancelled"), true)
	case domain.NodeInDoubt:
		return kit.Word("doubt", "i-doubt", locale.Mark("in doubt"), false)
	case domain.NodeWaiting:
		return kit.Word("idle", "i-wait", locale.Mark("waiting"), false)
	}
	return kit.Word("idle", "i-queued", locale.Mark("not started"), false)
}

// MaxReason is the maximum length of the reason for an action, in bytes.
const MaxReason = 500
