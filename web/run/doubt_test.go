package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// doubtStory is a run with a call whose response was lost. Only the intent row of the call contains
// its idempotency key.
func doubtStory(t *testing.T) *story {
	t.Helper()
	s := tell(t, "01jr8k2mf0s0000000007qd1", `
id: pay
nodes:
  charge: {type: http, effect: unsafe, input: {method: POST, url: "https://bank.example"}}
`)
	charge := domain.Entry{Node: "charge", Item: -1, Effect: "unsafe", StartedAt: storyStart.Add(time.Second)}
	begun := charge
	begun.Kind, begun.Status, begun.IdempotencyKey = domain.EntryIntent, domain.NodeRunning, "key-of-the-charge"
	s.row(time.Second, begun)
	lost := charge
	lost.Kind, lost.Status = domain.EntryResult, domain.NodeInDoubt
	lost.Failure = &domain.Failure{Code: "interrupted", Message: "kairosd crashed while it ran"}
	s.row(3*time.Second, lost)
	s.run.Status, s.run.WaitReason = domain.RunWaiting, domain.WaitInDoubt
	return s
}

// The idempotency key of a call in doubt, which users need to find the call in the other system, is
// shown even after a crash.
func TestAnAttemptInDoubtShowsItsKey(t *testing.T) {
	t.Parallel()
	page := (&storyServer{runs: []*story{doubtStory(t)}}).look(t, "/runs/01jr8k2mf0s0000000007qd1?step=1")
	if !strings.Contains(page, "key-of-the-charge</code>") {
		t.Errorf("the key is missing:\n%s", webtest.Text(page))
	}
}

// After a user resolves a call in doubt, the timeline still shows the call and the wait for the
// user.
func TestAResolvedDoubtStaysOnTheTimeline(t *testing.T) {
	t.Parallel()
	for _, status := range []domain.NodeStatus{domain.NodeCompleted, domain.NodeSkipped, domain.NodeFailed} {
		s := doubtStory(t)
		s.row(9*time.Second, domain.Entry{Kind: domain.EntryResolve, Node: "charge", Item: -1, Reason: "the bank has it"})
		s.row(9*time.Second, domain.Entry{Kind: domain.EntryResult, Node: "charge", Item: -1, Status: status, Final: true})
		s.run.WaitReason = ""
		s.ends(10*time.Second, domain.RunCompleted)
		_, row, _ := strings.Cut((&storyServer{runs: []*story{s}}).look(t, "/runs/"+s.run.ID), `class="timeline`)
		row, _, _ = strings.Cut(row, "</table>")
		if !strings.Contains(row, `class="g-doubt"`) || !strings.Contains(row, `class="g-human"`) ||
			!strings.Contains(row, "was in doubt") {
			t.Errorf("resolved as %s, the doubt is not shown:\n%s", status, row)
		}
	}
}
