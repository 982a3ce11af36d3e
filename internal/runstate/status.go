package runstate

import (
	"cmp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// failedFinally returns the name of a finally step that failed, or "".
func failedFinally(s *State) string {
	for i := range s.Program.Nodes {
		if n := &s.Program.Nodes[i]; n.Finally && s.Walk.Continued(i) {
			return n.ID
		}
	}
	return ""
}

// CancelledMessage returns the status message of a cancelled run, and the node that it names. The
// message is empty unless a finally step failed.
func CancelledMessage(s *State) (message domain.Message, node string) {
	if node = failedFinally(s); node != "" {
		message = domain.Messagef("the finally step %s failed", node)
	}
	return message, node
}

// FailureMessage returns the status message of a failed run, and the node that it names. Example:
// "fetch failed after 3 of 3 attempts: 503 …".
func FailureMessage(s *State) (message domain.Message, node string) {
	message, node = failureMessage(s)
	if after := failedFinally(s); after != "" {
		message = domain.Messagef("%s; the finally step %s failed, too", message, after)
	}
	return message, node
}

func failureMessage(s *State) (message domain.Message, node string) {
	f := s.Walk.Outcome().Failure
	if f == nil {
		return domain.Messagef("failed"), ""
	}
	i, ok := s.Program.Index[f.Node]
	if !ok {
		return f.Localize(), f.Node
	}
	last := 0
	most, _ := s.Program.Nodes[i].Retries(f.Code)
	for k, p := range s.Carried {
		if k.Node == i {
			last = max(last, p.Attempt)
		}
	}
	if most > 1 && last > 0 && f.Code != walk.CodeRejected {
		return domain.Messagef("%s failed after %d of %d attempts: %s", f.Node, last, max(most, last), f), f.Node
	}
	return domain.Messagef("%s failed: %s", f.Node, f), f.Node
}

// CompletedMessage returns the status message of a completed run, and the node that it names. The
// message is empty unless steps failed and the run completed nevertheless.
func CompletedMessage(s *State) (message domain.Message, node string) {
	failed := 0
	for i := range s.Program.Nodes {
		if s.Walk.Continued(i) {
			failed++
			node = cmp.Or(node, s.Program.Nodes[i].ID)
		}
	}
	switch failed {
	case 0:
		return message, ""
	case 1:
		return domain.Messagef("1 step failed"), node
	}
	return domain.Messagef("%d steps failed", failed), node
}

// RetryMessage returns the status message of a run that waits for a retry, and the node. Example:
// "fetch will be tried again after 2 of 5 attempts: 503 …".
func RetryMessage(s *State, w domain.Wait) (message domain.Message, node string) {
	for _, k := range s.OpenSteps() {
		if n := s.Program.Nodes[k.Node]; n.ID == w.Node && k.Visit == w.Visit && k.Item == w.Item {
			most := n.MaxAttempts
			if k.Failure != nil {
				most, _ = n.Retries(k.Failure.Code)
			}
			return domain.Messagef("%s will be tried again after %d of %d attempts: %s", w.Node, k.Attempt, max(most, k.Attempt+1),
				waitText(w)), w.Node
		}
	}
	return WaitMessage(domain.WaitRetry, []domain.Wait{w})
}

// MostAttempts returns the largest number of attempts of a step that waits for a retry.
func MostAttempts(s *State) int {
	most := 0
	for _, w := range s.Open {
		if w.Phase == PhaseWaiting && w.Reason == domain.WaitRetry {
			most = max(most, w.Attempt)
		}
	}
	return most
}
