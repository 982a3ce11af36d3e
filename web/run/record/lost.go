package record

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// NodeLost is the state of a step that the rows before the damage of a journal leave open.
const NodeLost domain.NodeStatus = "lost"

func lostStatus() kit.Status {
	return kit.Word("need", "i-doubt", locale.Mark("end unknown"), false)
}

// settleLost ends the steps of a damaged run that were in progress: none of them is at work,
// and how they ended cannot be read.
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

// StepStatus is a step's state as operators read it.
func StepStatus(s domain.NodeStatus) kit.Status {
	if s == NodeLost {
		return lostStatus()
	}
	return ui.StepStatus(s)
}
