package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/kairosd/kairosd/internal/runstate"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

// ErrApprovalPending ends an attempt that cannot continue without an answer of a person. The visit waits, and
// its next attempt continues after the recorded sub-steps.
var ErrApprovalPending = errors.New("a person must answer first")

// CallToApprove is a call that needs the approval of a person: a tool and its exact arguments.
type CallToApprove struct {
	Tool string
	// Args are the arguments with unresolved secrets.
	Args any
}

// Gated is implemented by registries whose nodes may need a person's approval before they run.
type Gated interface {
	// Gate is called before an attempt. input has unresolved secrets. If Gate returns a question,
	// the attempt waits for the answer. An error fails the node.
	Gate(plan string, node *walk.ProgramNode, input any) (*CallToApprove, error)
}

// consentTo binds a question to its exact arguments.
func (s *setup) consentTo(n int, q CallToApprove) (runstate.ConsentRequest, error) {
	raw, err := jsonvalue.Encode(q.Args)
	if err != nil {
		f := &walk.Failure{Code: walk.CodeInvalidInput, Permanent: true, NoEffect: true}
		return runstate.ConsentRequest{}, f.WithMessage("arguments of %s: %s", q.Tool, err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s", q.Tool, raw))
	if secrets := s.Secrets; secrets != nil {
		if raw, err = jsonvalue.Encode(maskValue(secrets, q.Args)); err != nil {
			return runstate.ConsentRequest{}, runstate.InputFailure(q.Tool, err)
		}
	}
	return runstate.ConsentRequest{Substep: n, Tool: q.Tool, Digest: hex.EncodeToString(sum[:]), Args: raw}, nil
}

// approve is [Call.Approve].
func (t *attempt) approve(grants map[int]runstate.ConsentAnswer, n int, q CallToApprove) error {
	if n <= 0 {
		return errors.New("engine: sub-steps count from 1")
	}
	c, err := t.handlers.current().consentTo(n, q)
	if err != nil {
		return err
	}
	if g, ok := grants[n]; ok && g.Digest == c.Digest {
		if g.Approved {
			return nil
		}
		return g.Rejection(q.Tool)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, c)
	return fmt.Errorf("%s: %w", q.Tool, ErrApprovalPending)
}

// question returns the first question of the attempt by sub-step. The others follow when the
// attempt continues.
func (t *attempt) question() (first runstate.ConsentRequest, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.asked {
		if !ok || c.Substep < first.Substep {
			first, ok = c, true
		}
	}
	return first, ok
}
