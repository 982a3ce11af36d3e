package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A pause lasts until it is ended. It survives the process and new versions. A filter lists only
// paused plans.
func TestAPauseHoldsAfterARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s := storetest.OpenAt(t, path)
	v := storetest.Plan(t, s, twoNodes)
	storetest.Pause(t, s, v.PlanID, &domain.Disablement{Since: time.Now(), By: "otto", Reason: "it floods the bank"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storetest.OpenAt(t, path)
	p, err := s.Plan(t.Context(), v.PlanID)
	if err != nil || p.Paused == nil || p.Paused.By != "otto" || p.Paused.Reason != "it floods the bank" || p.Paused.Since.IsZero() {
		t.Fatalf("%+v %v", p, err)
	}
	for text, want := range map[string]int{"": 1, p.Key[:1]: 1, "no such plan": 0} {
		list, err := s.Plans(t.Context(), domain.PlanFilter{Paused: true, Text: text})
		if err != nil || len(list.Items) != want {
			t.Errorf("%q: %+v %v", text, list.Items, err)
		}
	}
	list, err := s.Plans(t.Context(), domain.PlanFilter{Paused: true, Facts: []domain.PlanFact{{Kind: domain.FactOwner, Value: "nobody"}}})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("of nobody: %+v %v", list.Items, err)
	}
	if list, err = s.Plans(t.Context(), domain.PlanFilter{}); err != nil || len(list.Items) != 1 || list.Items[0].Paused == nil {
		t.Errorf("all plans: %+v %v", list.Items, err)
	}
}
