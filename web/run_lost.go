package web

import (
	"slices"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/view"
)

// This file is about the steps of a damaged run that the rows before the damage
// leave open, or do not know at all. None of them is at work: each is shown by what
// is known of it, and that is where it was last heard of.

// nodeLost is the state of a step of which nobody knows how it ended.
const nodeLost domain.NodeStatus = "lost"

func lostStatus() view.Status {
	return word("need", "i-doubt", locale.Mark("end unknown"), false)
}

// settleLost gives the steps of a damaged run the states that are known, and adds
// those of which only rows behind the damage tell.
func (b *runPage) settleLost() {
	d := b.d.Damage
	if d == nil {
		return
	}
	for _, st := range b.steps {
		switch st.status {
		case domain.NodeRunning, domain.NodeWaiting, domain.NodePending, "":
			st.lose(domain.LostStep{Node: st.node, Visit: st.visit, Item: st.item, Status: st.status})
		}
	}
	heard := b.d.Run.CreatedAt // where the rows that can be trusted end
	if n := len(b.d.Journal); n > 0 {
		heard = b.d.Journal[n-1].At
	}
	for _, s := range d.Steps {
		k := visitKey{s.Node, s.Visit, s.Item}
		i := slices.IndexFunc(b.steps, func(st *step) bool { return st.key() == k })
		if i < 0 {
			i = len(b.steps)
			b.steps = append(b.steps, &step{node: s.Node, visit: s.Visit, item: s.Item, seq: s.Row, number: i + 1, started: heard, ended: heard})
		}
		b.steps[i].lose(s)
	}
}

// lose makes a step what a row behind the damage says of it, or nothing that can be
// trusted.
func (st *step) lose(s domain.LostStep) {
	st.lost = &s
	switch s.Status {
	case "", domain.NodePending, domain.NodeRunning, domain.NodeWaiting, domain.NodeInDoubt:
		st.status = nodeLost
	default:
		st.status = s.Status
	}
	for i := range st.attempts {
		if a := &st.attempts[i]; a.status == domain.NodeRunning {
			a.status, a.ended = nodeLost, a.started
		}
	}
}

// lostNote says in a few words what is known of a step that the damage took.
func (b *runPage) lostNote(s *domain.LostStep) string {
	whole := b.d.Damage != nil && len(b.d.Damage.Parts) > 0 // its journal is
	switch s.Status {
	case "":
		return b.t("row %d, which would tell, is damaged", s.Row)
	case domain.NodePending, domain.NodeRunning, domain.NodeInDoubt:
		if whole {
			return b.t("it had begun; the run is put aside")
		}
		return b.t("it had begun; what followed is damaged")
	case domain.NodeWaiting:
		if whole {
			return b.t("it waited; the run is put aside")
		}
		return b.t("it waited; what followed is damaged")
	}
	return b.t("by row %d, behind the damage", s.Row)
}

// lostValue stands in place of what a step was given or gave.
func (b *runPage) lostValue(st *step) string {
	if st.status != nodeLost {
		return b.t("Row %d, behind the damage, has it; nothing from there is shown.", st.lost.Row)
	}
	return b.t("Not known: %s.", b.lostNote(st.lost))
}
