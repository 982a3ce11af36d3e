package filter_test

import (
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/filter"
)

func TestItemsAreFilteredByTheirFields(t *testing.T) {
	t.Parallel()
	note := domain.Note{Actor: "marta", Text: "The customer agreed", Plan: domain.PlanRef{Key: "invoice"}}
	tool := domain.ToolInfo{Name: "http", State: "ready"}
	for q, want := range map[string]bool{"": true, "actor:marta": true, "actor:MARTA": true, "actor:otto": false, "actor:otto,marta": true,
		"-actor:otto": true, "-actor:marta": false, "customer": true, "supplier": false, "actor:marta customer": true,
		"plan:invoice": true, "plan:ledger": false, `text:"the customer agreed"`: true} {
		f, problem := filter.ParseItems(q, note)
		if problem != nil {
			t.Fatal(problem)
		}
		if got, err := f.Match(note); err != nil || got != want {
			t.Errorf("%q matches: %v, %v", q, got, err)
		}
	}
	if f, problem := filter.ParseItems("status:ready", tool); problem != nil {
		t.Error(problem)
	} else if got, err := f.Match(tool); !got || err != nil {
		t.Errorf("status: %v, %v", got, err)
	}
	for _, q := range []string{"colour:red", "actor:"} {
		if _, problem := filter.ParseItems(q, note); problem == nil {
			t.Errorf("%q is accepted", q)
		}
	}
}
