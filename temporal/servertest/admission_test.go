package servertest

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// Runs with one concurrency key run one after the other, also after kairosd was killed. A cancelled run that is resumed waits,
// too, and a newer run can cancel the oldest one.
func TestRunsWaitForTheirConcurrencyKey(t *testing.T) {
	s := startServer(t)
	k := s.kairosd()
	s.worker(s.config())
	const plan = `
id: till
concurrency: {key: till, on_conflict: queue}
nodes: {ask: {type: approval, input: {message: "Go on?"}}}
`
	v := k.save(plan)
	first := k.begin(v)
	k.until(first.ID, domain.RunWaiting, domain.WaitApproval)
	second, third := k.begin(v), k.begin(v)
	k.kill()
	k.up()
	k.act(second.ID, domain.ActionCancel)
	k.approve(first.ID)
	k.until(first.ID, domain.RunCompleted, "")
	k.until(third.ID, domain.RunWaiting, domain.WaitApproval)
	k.act(second.ID, domain.ActionResume)
	k.until(second.ID, domain.RunQueued, "")
	k.kill()
	k.up()
	k.until(second.ID, domain.RunQueued, "")
	k.approve(third.ID)
	k.until(third.ID, domain.RunCompleted, "")
	k.until(second.ID, domain.RunWaiting, domain.WaitApproval)
	newest := k.begin(k.save(strings.ReplaceAll(plan, "queue", "cancel_oldest")))
	k.until(second.ID, domain.RunCancelled, "")
	k.until(newest.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(newest.ID)
	k.until(newest.ID, domain.RunCompleted, "")
}
