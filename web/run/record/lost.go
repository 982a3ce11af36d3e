package record

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// NodeLost is the status of a step that was active at the damage of a journal, so that its end
// cannot be read.
const NodeLost domain.NodeStatus = "lost"

func lostStatus() kit.Status {
	return kit.Word("need", "i-doubt", locale.Mark("end unknown"), false)
}

// settleLost ends the active steps of a run whose journal is damaged. They are not running, and
// their outcome cannot be read.
func (b *Record) settleLost() {
	if b.Detail.Damage == nil {
		return
	}
	for _, st := range b.Steps {
		switch st.Status {
		case domain.NodeRunning, domain.NodeWaiting, domain.NodePending, "":
			st.Status = NodeLost
		}
		for i := range st.Attempts {
			if a := &st.Attempts[i]; a.Status == domain.NodeRunning {
				a.Status, a.Ended = NodeLost, a.Started
			}
		}
	}
}

// StepStatus returns the status of a step for display.
func StepStatus(s domain.NodeStatus) kit.Status {
	if s == NodeLost {
		return lostStatus()
	}
	return ui.StepStatus(s)
}
