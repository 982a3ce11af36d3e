package engine_test

import (
	"context"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/engine/enginetest/randomplan"
)

// Short names of the fixtures of random plans.
var (
	script           = randomplan.Result
	scripted         = randomplan.Effects
	scriptedRegistry = randomplan.Registry
	scriptedAnswer   = randomplan.Answer
	flakyFailure     = randomplan.Flaky
	kindOf           = randomplan.KindOf
	allPlans         = randomplan.Plans
	plans            = randomplan.Graph
	answerOf         = randomplan.AnswerOf
)

// toolPrefix begins the names of scripted types when they are tools of steps.
const toolPrefix = randomplan.ToolPrefix

// answerAll answers every open request of a run as its message states.
func answerAll(ctx context.Context, e *enginetest.Engine, run string) error {
	list, err := e.Store.Approvals(ctx, domain.ApprovalFilter{Run: run, Status: "pending"})
	if err != nil {
		return err
	}
	for _, p := range list.Items {
		_, err := e.Decide(
			ctx,
			enginetest.Operator,
			domain.DecideRequest{Approval: p.ID, Approve: p.Message == "approve", Digest: p.Digest},
		)
		if err != nil && domain.CodeOf(err) != domain.CodeConflict { // the previous answer may have ended the run
			return err
		}
	}
	return nil
}

// settleAnswering answers requests until a run has ended or waits for something else.
func settleAnswering(rt *rapid.T, e *enginetest.Engine, run string) domain.Run {
	r := e.Settle(run)
	for r.WaitReason == domain.WaitApproval {
		if err := answerAll(context.Background(), e, run); err != nil {
			rt.Fatal(err)
		}
		r = e.Settle(run)
	}
	return r
}
