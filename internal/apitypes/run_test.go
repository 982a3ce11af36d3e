package apitypes_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

func TestDetailHoldsTheWholeContract(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(apitypes.DetailOf(domain.RunDetail{Run: domain.Run{ID: "r1", PlanKey: "p", Version: 3, LastSeq: 9,
		Status: domain.RunWaiting, WaitReason: domain.WaitApproval, Limits: domain.Limits{MaxDuration: time.Hour}}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"id", "status", "waitReason", "waits", "output", "outputs", "path", "error", "usage",
		"plan", "createdAt", "rev", "input"} {
		if _, ok := got[k]; !ok {
			t.Errorf("%q is missing in %s", k, text)
		}
	}
	if got["waitReason"] != "approval" || got["limits"].(map[string]any)["maxDurationMs"] != 3600000.0 {
		t.Errorf("got %s", text)
	}
}
