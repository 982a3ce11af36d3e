package store_test

import (
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// Medians cover the newest runs of a skill with its current tool or agent. Other runs do not count,
// and the number of stored measurements is limited.
func TestSkillMedians(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	v := storetest.Plan(t, s, twoNodes)
	run := storetest.Run(t, s, v, "")
	seq := int64(0)
	measure := func(skill, bound string, ms, tokens int64) {
		t.Helper()
		now := time.Now().UTC()
		err := s.Commit(
			t.Context(),
			domain.Checkpoint{Run: run.ID, Fence: seq, Entries: []domain.Entry{{Kind: domain.EntryAction, Item: -1, At: now}},
				SkillRuns: []domain.SkillRun{
					{Skill: skill, Bound: bound, Time: time.Duration(ms) * time.Millisecond, Tokens: tokens, At: now},
				}},
		)
		if err != nil {
			t.Fatal(err)
		}
		seq++
	}
	medians := func(want domain.SkillMedians) {
		t.Helper()
		got, err := s.SkillMedians(t.Context(), "write", "ana")
		if err != nil || got != want {
			t.Fatalf("got %+v %v, want %+v", got, err, want)
		}
	}
	medians(domain.SkillMedians{})
	for _, ms := range []int64{300, 100, 9000} {
		measure("write", "ana", ms, ms/10)
	}
	measure("write", "bot", 1, 1)
	measure("read", "ana", 1, 1)
	medians(domain.SkillMedians{Runs: 3, Time: 300 * time.Millisecond, Tokens: 30})
	measure("write", "ana", 500, 10)
	medians(domain.SkillMedians{Runs: 4, Time: 400 * time.Millisecond, Tokens: 20})
	for range domain.MaxSkillRuns {
		measure("write", "ana", 7, 7)
	}
	medians(domain.SkillMedians{Runs: domain.MaxSkillRuns, Time: 7 * time.Millisecond, Tokens: 7})
}
