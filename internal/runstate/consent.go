package runstate

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
)

// CodeRejected is the failure code of a call that a person rejected, or did not approve in time.
const CodeRejected = walk.CodeRejected

// ConsentRequest is a call that needs the approval of a person: the call of the node (Substep is
// 0), or of a sub-step. Digest binds the answer to its exact arguments.
type ConsentRequest struct {
	Substep      int
	Tool, Digest string
	Args         domain.RawJSON
}

// ConsentAnswer is the answer to a consent request. It applies only to a call with the same digest.
type ConsentAnswer struct {
	Digest           string
	Approved         bool
	ChangesRequested bool // the person requested changes instead of deciding
	Expired          bool // no answer in time
	By, Comment      string
}

// Message returns the request as one line for lists.
func (c *ConsentRequest) Message(node string) string {
	args := ClipText(string(c.Args), 160)
	if c.Substep > 0 {
		return fmt.Sprintf("May the agent of step %s call %s with %s?", node, c.Tool, args)
	}
	return fmt.Sprintf("May %s be called with %s?", c.Tool, args)
}

// Rejection returns the failure of a rejected call. It is permanent, and nothing was done.
func (g ConsentAnswer) Rejection(tool string) *walk.Failure {
	if g.ChangesRequested {
		return (&walk.Failure{Code: ActionChangesRequested, Permanent: true, NoEffect: true}).
			WithMessage("%s was not called: %s requests changes: %s", tool, g.By, g.Comment)
	}
	f := &walk.Failure{Code: CodeRejected, Permanent: true, NoEffect: true}
	if g.Expired {
		return f.WithMessage("the call of %s was rejected by %s: no answer in time", tool, g.By)
	}
	if g.Comment != "" {
		return f.WithMessage("the call of %s was rejected by %s: %s", tool, g.By, g.Comment)
	}
	return f.WithMessage("the call of %s was rejected by %s", tool, g.By)
}

// asks applies the row of a consent request.
func (w *Step) asks(e *domain.Entry, p WaitDecision) {
	w.Consent = &ConsentRequest{Substep: e.Substep, Tool: p.Tool, Digest: p.Digest, Args: e.Input}
	// Failure belongs to an earlier attempt.
	w.Failure = nil
	if e.Substep == 0 {
		w.Attempt = e.Attempt - 1 // the attempt has not begun
	}
}

// answered applies the answer to a consent request.
func (s *State) answered(w *Step, e *domain.Entry, action string) {
	c := w.Consent
	if w.Answers == nil {
		w.Answers = map[int]ConsentAnswer{}
	}
	w.Answers[c.Substep] = ConsentAnswer{
		Digest: c.Digest, Approved: action == ActionApproved, ChangesRequested: action == ActionChangesRequested,
		Expired: action == ActionExpired, By: e.Actor, Comment: e.Reason}
	w.Consent = nil
	s.move(w, PhaseReady)
}
