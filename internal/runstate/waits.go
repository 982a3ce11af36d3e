package runstate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// RequestMessage returns the message in the recorded input of an approval.
func RequestMessage(raw domain.RawJSON) string {
	v, err := Decode(raw)
	if err != nil {
		return ""
	}
	return FormMessage(v)
}

// FormMessage returns the message in the input of an approval.
func FormMessage(input any) string {
	switch v := input.(type) {
	case string:
		return v
	case map[string]any:
		if v["message"] != nil {
			return jsonvalue.Text(v["message"])
		}
	}
	return ""
}

// Waits returns what the run waits for, by precedence.
func (s *State) Waits() []domain.Wait {
	var list []domain.Wait
	flag := func(on bool, r domain.WaitReason, message string) {
		if on {
			list = append(list, domain.Wait{Item: NoItem, Reason: r, Message: message})
		}
	}
	flag(s.Quarantined, domain.WaitQuarantined, "")
	flag(s.Held, domain.WaitHeld, "")
	flag(s.Paused, domain.WaitPaused, "")
	if b := s.Budget; b != nil {
		w := domain.Wait{Item: NoItem, Reason: domain.WaitBudget, Since: b.since, Code: b.Code, Message: b.String(), Text: b.Message}
		if b.Shared != nil {
			w.Budget, w.Due = b.Shared.Key, b.Shared.Until
		}
		list = append(list, w)
	}
	for _, w := range s.OpenSteps() {
		wait := domain.Wait{Node: s.Program.Nodes[w.Node].ID, Visit: w.Visit, Item: w.Item, Since: w.Since}
		switch w.Phase {
		case PhaseInDoubt:
			wait.Reason, wait.Calls = domain.WaitInDoubt, w.OpenCalls()
		case PhaseWaiting:
			wait.Reason, wait.Due = w.Reason, w.Due
			switch w.Reason {
			case domain.WaitApproval:
				wait.Approval = w.Ref
				wait.Message = RequestMessage(w.Input)
				if c := w.Consent; c != nil {
					wait.Message = c.Message(wait.Node)
				}
			case domain.WaitChild:
				wait.Child = w.Ref
			case domain.WaitSignal:
				wait.Event, wait.Key = signalOf(walk.RunOf(s.Walk), w)
			}
		default:
			continue
		}
		if w.Failure != nil && wait.Message == "" {
			wait.Message, wait.Text = w.Failure.Message, w.Failure.Localize()
		}
		list = append(list, wait)
	}
	for _, k := range s.UnresolvedDoubts() {
		list = append(list, domain.Wait{Node: s.Program.Nodes[k.Node].ID, Visit: k.Visit, Item: k.Item,
			Reason: domain.WaitInDoubt, Since: s.Doubts[k].Since, Calls: s.Doubts[k].Calls})
	}
	slices.SortStableFunc(list, func(a, b domain.Wait) int {
		return cmp.Compare(slices.Index(domain.WaitReasons, a.Reason), slices.Index(domain.WaitReasons, b.Reason))
	})
	return list
}

// UnresolvedDoubts returns attempts in doubt of cancelled steps that were not resolved, by node,
// visit, and item.
func (s *State) UnresolvedDoubts() []StepKey {
	var list []StepKey
	for k, d := range s.Doubts {
		if d.Resolution == nil {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b StepKey) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.Item, b.Item))
	})
	return list
}

// NextDue returns the time at which the earliest wait ends automatically, or zero. It ignores waits
// for which quiet returns true.
func (s *State) NextDue(quiet func(*Step) bool) time.Time {
	var due time.Time
	for _, w := range s.Open {
		if w.Phase == PhaseWaiting && !w.Due.IsZero() && (due.IsZero() || w.Due.Before(due)) && !quiet(w) {
			due = w.Due
		}
	}
	return due
}

// UnneededChildren returns the child runs that no step waits for.
func (s *State) UnneededChildren(children []string) []string {
	return slices.DeleteFunc(slices.Clone(children), func(id string) bool {
		for _, w := range s.Open {
			if w.Phase == PhaseWaiting && w.Reason == domain.WaitChild && w.Ref == id {
				return true
			}
		}
		return false
	})
}

// HasWait reports whether a step waits for the reason.
func (s *State) HasWait(reason domain.WaitReason) bool {
	for _, w := range s.Open {
		if w.Phase == PhaseWaiting && w.Reason == reason {
			return true
		}
	}
	return false
}

// WaitingFor returns the step that waits for an approval or child run, or nil.
func (s *State) WaitingFor(ref string) *Step {
	for _, w := range s.Open {
		if w.Phase == PhaseWaiting && w.Ref == ref {
			return w
		}
	}
	return nil
}

// ClipText cuts s after n bytes and adds an ellipsis.
func ClipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// ToolNames lists the tools of calls, each once.
func ToolNames(calls []domain.OpenCall) string {
	var names []string
	for _, c := range calls {
		if !slices.Contains(names, c.Tool) {
			names = append(names, c.Tool)
		}
	}
	return strings.Join(names, ", ")
}

// WaitMessage returns the status message of a run that waits for the reason, and the node that it
// names. waits holds all waits of the run, with that one first.
func WaitMessage(reason domain.WaitReason, waits []domain.Wait) (message domain.Message, node string) {
	w := waits[0]
	node = w.Node
	switch reason {
	case domain.WaitApproval:
		if w.Message == "" {
			return domain.Messagef("approval of %s", node), node
		}
		return domain.Verbatim(w.Message), node
	case domain.WaitInDoubt:
		if len(w.Calls) > 0 {
			return domain.Messagef("%s called %s, which may have had its effect; check whether it happened", node, ToolNames(w.Calls)), node
		}
		return domain.Messagef("%s may have had its effect; state whether it happened", node), node
	case domain.WaitRetry:
		return domain.Messagef("%s will be tried again: %s", node, waitText(w)), node
	case domain.WaitTimer:
		return domain.Messagef("%s waits until %s", node, w.Due), node
	case domain.WaitChild:
		return domain.Messagef("%s waits for run %s", node, domain.ShortID(w.Child)), node
	case domain.WaitSignal:
		return domain.Messagef("%s waits for the signal %s", node, w.Event), node
	case domain.WaitReplan:
		return domain.Messagef("%s failed; replanning the rest: %s", node, waitText(w)), node
	case domain.WaitBudget:
		return waitText(w), node
	case domain.WaitHeld:
		return domain.Messagef("held since the database was reset to an earlier state"), node
	case domain.WaitQuarantined:
		return domain.Messagef("quarantined: kairosd crashed repeatedly while this run was active"), node
	case domain.WaitPaused:
		return domain.Messagef("paused"), node
	}
	return domain.Verbatim(string(reason)), node
}

// waitText returns the message of a wait.
func waitText(w domain.Wait) domain.Message {
	if w.Text.IsZero() {
		return domain.Verbatim(w.Message)
	}
	return w.Text
}
