package store_test

import (
	"slices"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// A run with damaged input, settings, or details is still found, alone and in every list. The
// damage is named there and by the integrity check.
func TestARunWithDamagedDetailsIsListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string
		part      domain.RunPart
		listed    bool // lists also show the damage
	}{
		"input":   {`UPDATE run_details SET input = '{"a": 1'`, domain.PartInput, false},
		"value":   {`UPDATE run_details SET input = '@' || hex(zeroblob(32))`, domain.PartInput, false},
		"output":  {`UPDATE run_details SET output = '{]'`, domain.PartOutput, false},
		"limits":  {`PRAGMA ignore_check_constraints = 1; UPDATE run_details SET limits = '{"max'`, domain.PartLimits, true},
		"labels":  {`PRAGMA ignore_check_constraints = 1; UPDATE run_details SET labels = '["a"]'`, domain.PartLabels, true},
		"details": {`DELETE FROM run_details`, domain.PartDetails, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/kairos.db"
			s := storetest.OpenAt(t, path)
			r := storetest.Run(t, s, storetest.Plan(t, s, "id: p\nnodes: {a: {type: set, input: 1}}\n"), `{"a": 1}`)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			storetest.Alter(t, path, c.statement)
			s = storetest.OpenAt(t, path)
			has := func(r domain.Run) bool {
				return slices.ContainsFunc(r.Damaged, func(p domain.DamagedPart) bool { return p.Part == c.part && p.Message != "" })
			}
			got, err := s.Run(t.Context(), r.ID)
			if err != nil || !has(got) || (got.Corrupt() == nil) != (c.part == domain.PartOutput) || got.PlanKey != r.PlanKey {
				t.Errorf("the run: %+v, %v", got, err)
			}
			if got, err = s.FindRun(t.Context(), domain.ShortID(r.ID)); err != nil || !has(got) {
				t.Errorf("found: %+v, %v", got, err)
			}
			list, err := s.Runs(t.Context(), domain.RunFilter{})
			if err != nil || len(list.Items) != 1 || list.Items[0].ID != r.ID || has(list.Items[0]) != c.listed {
				t.Errorf("listed: %+v, %v", list.Items, err)
			}
			unfinished, err := s.Unfinished(t.Context())
			if err != nil || len(unfinished) != 1 || unfinished[0].ID != r.ID || has(unfinished[0]) != c.listed {
				t.Errorf("unfinished: %+v, %v", unfinished, err)
			}
			checks, err := recovery.Verify(t.Context(), s)
			if err != nil || !slices.ContainsFunc(checks, func(k domain.Check) bool { return slices.Contains(k.Runs, r.ID) }) {
				t.Errorf("the examination does not name it: %+v, %v", checks, err)
			}
		})
	}
}
