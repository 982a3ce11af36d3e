package engine_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner/walk"
)

// A run whose plan uses a tool that is no longer configured can be read. Resuming it fails with an
// error that names the tool.
func TestARunOfAnIncompatiblePlanCanBeRead(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(
		t,
		enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo).Handle("gone", walk.EffectIdempotent, echo),
	)
	run := e.Run(
		`{nodes: {a: {type: gone, input: 1}, b: {type: approval, input: {message: "go on?"}}, c: {type: gone, input: 2}}, edges: [{from: a, to: b}, {from: b, to: c}]}`,
		"",
	)
	e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
	e.Close()
	e = enginetest.OpenOn(
		t,
		e.Store,
		enginetest.NewRegistry().Handle("echo", walk.EffectIdempotent, echo),
		engine.Options{OwnRunsOnly: true},
	)
	p, err := e.Program(t.Context(), run.ProgramRef)
	if err != nil || len(p.Nodes) != 3 {
		t.Fatalf("the plan cannot be looked at: %v", err)
	}
	d, err := e.Detail(t.Context(), run.ID)
	if err != nil || len(d.Journal) == 0 || len(d.Waits) != 1 || d.Waits[0].Node != "b" {
		t.Errorf("detail %+v, %v", d.Waits, err)
	}
	if _, err := e.Preview(t.Context(), enginetest.Operator, domain.ActionRequest{Run: run.ID, Action: domain.ActionResume}); domain.CodeOf(
		err,
	) != domain.CodeInvalid {
		t.Errorf("preview of a resume: %v", err)
	}
	if _, err := e.Start(t.Context(), enginetest.Operator, domain.StartRequest{Hash: run.Hash}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("start: %v", err)
	}
}
