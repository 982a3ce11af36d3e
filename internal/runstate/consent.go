package runstate

import (
	"fmt"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// CodeRejected: a person, or the time for an answer, refused a call.
const CodeRejected = planner.CodeRejected

// ConsentRequest is a question under way: that of the node's own call (n is 0), or of
// one sub-step of it.
type ConsentRequest struct {
	Substep      int
	Tool, Digest string
	Args         domain.RawJSON
}

// ConsentAnswer is a person's word on exactly one call: another digest is another call.
type ConsentAnswer struct {
	Digest      string
	Approved    bool
	AskedBack   bool // no answer: the person asks something first
	By, comment string
}

// Message is the question in one line, for lists.
func (c *ConsentRequest) Message(node string) string {
	args := ClipText(string(c.Args), 160)
	if c.Substep > 0 {
		return fmt.Sprintf("May the agent of step %s call %s with %s?", node, c.Tool, args)
	}
	return fmt.Sprintf("May %s be called with %s?", c.Tool, args)
}

// Rejection is what a refused call fails with: permanently, and before anything
// was done.
func (g ConsentAnswer) Rejection(tool string) *planner.Failure {
	if g.AskedBack {
		return &planner.Failure{Code: ActionAskedBack, Permanent: true, NoEffect: true,
			Message: fmt.Sprintf("the call of %s was not made: %s asks first: %s", tool, g.By, g.comment)}
	}
	f := &planner.Failure{Code: CodeRejected, Permanent: true, NoEffect: true, Message: fmt.Sprintf("the call of %s was rejected by %s", tool, g.By)}
	if g.comment != "" {
		f.Message += ": " + g.comment
	}
	return f
}

// asks takes up the row of a question.
func (s *State) asks(w *Step, e *domain.Entry, p Payload) {
	w.Consent = &ConsentRequest{Substep: e.Substep, Tool: p.Tool, Digest: p.Digest, Args: e.Input}
	// The failure of an earlier attempt is no reason to forget what this one did.
	w.Failure = nil
	if e.Substep == 0 {
		w.Attempt = e.Attempt - 1 // the attempt has not begun
	}
}

// answered takes up the answer to a question.
func (s *State) answered(w *Step, e *domain.Entry, action string) {
	c := w.Consent
	if w.Answers == nil {
		w.Answers = map[int]ConsentAnswer{}
	}
	w.Answers[c.Substep] = ConsentAnswer{Digest: c.Digest, Approved: action == "approved", AskedBack: action == ActionAskedBack, By: e.Actor, comment: e.Reason}
	w.Consent = nil
	s.move(w, PhaseReady)
}
