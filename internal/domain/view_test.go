package domain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

func TestDetailHoldsTheWholeContract(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(domain.ViewDetail(domain.RunDetail{Run: domain.Run{ID: "r1", PlanKey: "p", Version: 3, LastSeq: 9,
		Status: domain.RunWaiting, WaitReason: domain.WaitApproval, Limits: domain.Limits{MaxDuration: time.Hour}}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"runId", "status", "waitReason", "waits", "output", "outputs", "path", "error", "usage",
		"plan", "version", "createdAt", "rev", "input"} {
		if _, ok := got[k]; !ok {
			t.Errorf("%q is missing in %s", k, text)
		}
	}
	if got["waitReason"] != "approval" || got["limits"].(map[string]any)["maxDuration"] != "1h0m0s" {
		t.Errorf("got %s", text)
	}
}

func TestLimitsOnTheWire(t *testing.T) {
	t.Parallel()
	l := domain.Limits{MaxSteps: 5, MaxDuration: 90 * time.Second, MaxTokens: 7, MaxCost: 0.5}
	if got, err := domain.ViewLimits(l).Limits(); err != nil || got != l {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []domain.LimitsView{{MaxDuration: "soon"}, {MaxDuration: "-1s"}, {MaxSteps: -1}, {MaxCost: -0.1}} {
		if _, err := bad.Limits(); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%+v is accepted (%v)", bad, err)
		}
	}
}

func TestDecisionsOf(t *testing.T) {
	t.Parallel()
	e := done("a", 1, `1`)
	e.Seq, e.Decision = 2, domain.RawJSON(`{"edge":1,"to":"b","evaluated":[{"to":"b","condition":"last == 1","result":"true","saw":"1"}]}`)
	got, err := json.Marshal(domain.DecisionsOf([]domain.Entry{{Kind: domain.EntryIntent}, e, done("b", 1, `2`)}))
	want := `[{"seq":2,"node":"a","visit":1,"item":-1,"at":"0001-01-01T00:00:00Z","edge":1,"to":"b",` +
		`"evaluated":[{"to":"b","condition":"last == 1","result":"true","saw":"1"}]}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}
