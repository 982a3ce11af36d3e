package client_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A failure group is acknowledged, and the acknowledgment is withdrawn.
func TestFailureGroups(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator := d.as(t, domain.RoleOperator)
	d.engine.Save(`{id: fails, nodes: {a: {type: set, input: "${input.missing}"}}}`)
	run, err := operator.Start(t.Context(), domain.StartRequest{Plan: "fails", Input: domain.RawJSON(`"text"`)})
	if err != nil {
		t.Fatal(err)
	}
	settled(t, operator, run.ID)
	groups, err := operator.FailureGroups(t.Context(), 10)
	if err != nil || len(groups) != 1 || groups[0].Plan.Key != "fails" {
		t.Fatalf("%+v %v", groups, err)
	}
	ref := domain.FailureRef{PlanKey: groups[0].Plan.Key, Node: groups[0].Node, Code: groups[0].Code}
	if n, err := operator.AckFailures(t.Context(), ref, "known"); err != nil || n != 1 {
		t.Errorf("acknowledged %d, %v", n, err)
	}
	if n, err := operator.UnackFailures(t.Context(), ref); err != nil || n != 1 {
		t.Errorf("unacknowledged %d, %v", n, err)
	}
}
