package engine_test

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// slowCall makes one model call, which the timeout of the step interrupts.
type slowCall struct{}

func (slowCall) Stepped() bool { return true }

func (slowCall) Handle(ctx context.Context, c *engine.Call) (engine.Result, error) {
	_, err := c.Substep(1, "model", "m", walk.EffectIdempotent, func() (any, domain.Usage, error) {
		<-ctx.Done()
		return nil, domain.Usage{}, context.Cause(ctx)
	})
	return engine.Result{}, err
}

// The timeout of a step is not a response of the call that it interrupts. A recorded response would be the
// result of the next attempt if kairosd crashed before the attempt ended.
func TestATimeoutIsNotTheResponseOfACall(t *testing.T) {
	t.Parallel()
	reg := enginetest.NewRegistry()
	reg.Add("slow", walk.EffectIdempotent, slowCall{})
	e := enginetest.Open(t, reg)
	run := e.Run(`{nodes: {a: {type: slow, timeout: 20ms}}}`, "").ID
	r := e.Settle(run)
	rows, err := e.Store.Journal(t.Context(), run, 0)
	if err != nil || r.Status != domain.RunFailed {
		t.Fatalf("%s %v", r.Status, err)
	}
	for _, row := range rows {
		if row.Kind == domain.EntrySubstep {
			t.Errorf("the call is recorded as %s: %+v", row.Status, row.Failure)
		}
		if row.Final && row.Failure.Code != walk.CodeTimeout {
			t.Errorf("the step failed with %s", row.Failure.Code)
		}
	}
}
