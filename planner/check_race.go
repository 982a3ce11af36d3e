package planner

import (
	"slices"

	"github.com/kairosd/kairosd/planner/internal/source"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/message"
	"github.com/kairosd/kairosd/planner/walk"
)

// enterRace makes the steps of a race the needs of its step.
func enterRace(k *compiler, s *spec) {
	at := s.tree.Get("race")
	if at == nil {
		return
	}
	report := func(at *source.Tree, advice message.Message, format string, args ...any) {
		k.broken = true
		k.r.Error(at, s.ID, "race.form", advice, format, args...)
	}
	switch {
	case len(s.Needs) > 0:
		report(s.tree.Get("needs"), message.New("keep one of them"), "step %s has needs and a race", jsonvalue.Quote(s.ID))
	case s.When != "" || s.After != "":
		report(s.tree.Get("when"), message.New("write it on a step that needs this one"), "a race cannot have a when")
	case s.finally:
		report(at, message.New("write needs: instead"), "a finally step cannot be a race")
	case len(s.Race) == 0 && at.Kind != source.List: // reported already
		k.broken = true
		return
	case len(s.Race) < 2:
		report(at, message.New("name at least two steps"), "a race of fewer than two steps")
	}
	s.Needs, s.names = s.Race, map[string]string{"needs": "race"}
}

// checkRaces reports steps that cannot take part in a race.
func checkRaces(k *compiler) {
	for i := range k.p.Nodes {
		if k.p.Nodes[i].When != walk.WhenFirst || k.p.Nodes[i].Finally {
			continue
		}
		for _, j := range k.p.Nodes[i].Needs {
			if why, advice := unfitForRace(k, j); !why.IsZero() {
				k.broken = true
				k.r.Error(k.specs[j].tree, k.specs[j].ID, "race.step", advice, "step %s cannot take part in a race: %s",
					jsonvalue.Quote(k.specs[j].ID), why)
			}
		}
	}
}

// unfitForRace returns why a step cannot take part in a race.
func unfitForRace(k *compiler, j int) (why, advice message.Message) {
	n := &k.p.Nodes[j]
	acts := n.OnError != walk.OnErrorFail || slices.ContainsFunc(n.Rules, func(r walk.ErrorRule) bool {
		return r.Edge >= 0 || r.OnError != ""
	})
	subplan := message.New("put the steps into another plan, and write a step of type plan")
	switch {
	case len(n.Out) > 0 || n.Incoming > 0:
		return message.New("it has edges"), subplan
	case len(n.Dependents) > 1:
		return message.New("another step needs it"), message.New("let that step need the race")
	case n.When == walk.WhenFirst:
		return message.New("it is a race"), message.New("name its steps here")
	case n.Foreach != nil:
		return message.New("it has foreach"), subplan
	case acts:
		return message.New("it has on_error"), message.New("remove it: after a failure, the race continues with the other steps")
	}
	return why, advice
}
