package run

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/kit"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

// nodeLost is the state of a step that the rows before the damage of a journal leave open.
const nodeLost domain.NodeStatus = "lost"

func lostStatus() kit.Status {
	return kit.Word("need", "i-doubt", locale.Mark("end unknown"), false)
}

// settleLost ends the steps of a damaged run that were in progress: none of them is at work,
// and how they ended cannot be read.
func (b *record) settleLost() {
	if b.d.Damage == nil {
		return
	}
	for _, st := range b.steps {
		switch st.status {
		case domain.NodeRunning, domain.NodeWaiting, domain.NodePending, "":
			st.status = nodeLost
		}
		for i := range st.attempts {
			if a := &st.attempts[i]; a.status == domain.NodeRunning {
				a.status, a.ended = nodeLost, a.started
			}
		}
	}
}

// stepStatus is a step's state as operators read it.
func stepStatus(s domain.NodeStatus) kit.Status {
	if s == nodeLost {
		return lostStatus()
	}
	return ui.StepStatus(s)
}
