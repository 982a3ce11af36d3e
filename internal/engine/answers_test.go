package engine_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
)

const choosingPlan = `
id: choosing
nodes:
  ask:
    type: approval
    input:
      message: "Refund?"
      answers:
        - {id: full, label: Refund all, kind: approve}
        - {id: half, label: Refund half, kind: choice}
        - {id: never, label: Refuse, kind: reject}
  all: {type: set, input: "all, ${output.ask.answer}"}
  part: {type: set, input: "part, ${output.ask.answer}"}
edges:
  - {from: ask, to: part, condition: 'last.answer == "half"'}
  - {from: ask, to: all, condition: default}
`

// A plan declares its own answers. Conditions branch on the id of the given answer, and the record
// names it.
func TestAPlanDeclaresItsAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, want, status string }{
		{"full", `completed "all, full"`, "approved"},
		{"half", `completed "part, half"`, "approved"},
		{"never", "failed rejected", "rejected"},
	} {
		t.Run(tt.answer, func(t *testing.T) {
			t.Parallel()
			e := enginetest.Open(t, enginetest.NewRegistry())
			run := e.Run(choosingPlan, "null")
			e.Until(run.ID, domain.RunWaiting, domain.WaitApproval)
			p := requests(t, e.Store, run.ID)[0]
			if got := p.Answers(); len(got) != 3 || got[1] != (domain.Answer{ID: "half", Label: "Refund half", Kind: domain.AnswerChoice}) {
				t.Fatalf("the answers are %+v", got)
			}
			leads, err := e.Prediction(t.Context(), p.ID)
			if err != nil || len(leads) != 3 || leads[0].Next[0].Node != "all" ||
				leads[1].Next[0].Node != "part" || leads[2].Ends != domain.RunFailed {
				t.Errorf("the answers lead to %+v, %v", leads, err)
			}
			_, err = e.Decide(t.Context(), enginetest.Operator, domain.DecideRequest{Approval: p.ID, Answer: "approve"})
			if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `has no answer "approve"`) {
				t.Errorf("an answer that is not declared: %v", err)
			}
			got, err := e.Decide(
				t.Context(),
				enginetest.Operator,
				domain.DecideRequest{Approval: p.ID, Answer: tt.answer, Digest: p.Digest},
			)
			if err != nil || got.Answer != tt.answer || got.Status != tt.status {
				t.Fatalf("decided: %+v, %v", got, err)
			}
			r, err := e.Wait(t.Context(), run.ID)
			if err != nil {
				t.Fatal(err)
			}
			end := string(r.Status) + " " + string(r.Output)
			if r.Error != nil {
				end = string(r.Status) + " " + r.Error.Code
			}
			if end != tt.want {
				t.Errorf("the run is %s, want %s", end, tt.want)
			}
			kept, err := e.Store.Approval(t.Context(), p.ID)
			if err != nil || kept.Answer != tt.answer || len(kept.Choices) != 3 {
				t.Errorf("stored: %+v, %v", kept, err)
			}
		})
	}
}
