package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/query"
)

// BenchmarkSearch measures requests that no index serves and that find nothing, so that each reads
// the largest number of rows. The slowest of them decides query.Rows. With KAIROS_MILLION_DIR, it
// measures the store that `make million` made.
func BenchmarkSearch(b *testing.B) {
	dir := os.Getenv(millionDir)
	made := dir != ""
	if !made {
		dir = b.TempDir()
	}
	s, err := store.Open(b.Context(), filepath.Join(dir, "kairos.db"), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if !made {
		fill(b, s, 2*query.Rows)
	}
	runs := func(f domain.RunFilter) func() error {
		return func() error { _, err := s.Runs(b.Context(), f); return err }
	}
	for _, c := range []struct {
		name string
		ask  func() error
	}{
		{"Cost", runs(domain.RunFilter{MinCost: 1e9})},
		{"TwoStatuses", runs(domain.RunFilter{MinCost: 1e9, Statuses: []domain.RunStatus{domain.RunCompleted, domain.RunFailed}})},
		{"Label", runs(domain.RunFilter{Labels: map[string]string{"env": "prod"}, MinCost: 1e9})},
		{"NotOfAgent", runs(domain.RunFilter{MinCost: 1e9, Exclude: domain.RunExclusion{Agents: []string{"writer"}}})},
		{"Words", runs(domain.RunFilter{Text: "booking", MinCost: 1e9})},
		{"NoWord", runs(domain.RunFilter{Text: "zebra"})},
		{"NoPhrase", runs(domain.RunFilter{Text: "prod booking"})},
		{"Count", func() error { _, _, err := s.RunsCount(b.Context(), domain.RunFilter{MinCost: 1e9}, 1000); return err }},
		{"Longest", func() error { _, _, err := s.SortedRuns(b.Context(), domain.RunFilter{}, domain.SortTook); return err }},
		{"Steps", func() error { _, err := s.Steps(b.Context(), domain.StepFilter{MinAttempt: 1000}); return err }},
		{"SlowestSteps", func() error { _, err := s.Steps(b.Context(), domain.StepFilter{Slowest: true}); return err }},
		{"FailedSteps", func() error {
			_, err := s.Steps(b.Context(), domain.StepFilter{Statuses: []domain.NodeStatus{domain.NodeFailed}, MinAttempt: 1000})
			return err
		}},
		{"Flow", func() error { _, err := s.PlanFlow(b.Context(), "plan-00", 0, time.Time{}); return err }},
		{"Audit", func() error {
			_, err := s.AuditEvents(b.Context(), domain.AuditFilter{Action: store.ActionCheckpoint, Objects: []string{"none"}})
			return err
		}},
		{"AuditOfPeople", func() error {
			_, err := s.AuditEvents(b.Context(), domain.AuditFilter{Objects: []string{"none"}})
			return err
		}},
		{"Handoffs", func() error { _, err := s.HandoffsOf(b.Context(), domain.HandoffFilter{Plan: "none"}); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := c.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
