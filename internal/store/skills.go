package store

import (
	"context"
	"slices"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// measure keeps what a skill took, and forgets the oldest beyond the bound.
func (w *writer) measure(m domain.SkillRun) error {
	err := w.q.SkillRunInsert(w.ctx, dbsqlc.SkillRunInsertParams{Skill: m.Skill, Bound: m.Bound,
		Ms: max(m.Time.Milliseconds(), 0), Tokens: max(m.Tokens, 0), At: core.Micros(m.At)})
	if err != nil {
		return err
	}
	return w.q.SkillRunTrim(w.ctx, m.Skill, m.Bound, domain.MaxSkillRuns)
}

// SkillMedians gives the medians of what a skill took, by the tool or agent that
// it is bound to now.
func (s *Store) SkillMedians(ctx context.Context, skill, bound string) (domain.SkillMedians, error) {
	rows, err := s.q.SkillRunList(ctx, skill, bound)
	if err != nil {
		return domain.SkillMedians{}, core.Translate(err, "read runs of skill "+skill)
	}
	ms, tokens := make([]int64, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		ms[i], tokens[i] = r.Ms, r.Tokens
	}
	return domain.SkillMedians{Runs: len(rows), Time: time.Duration(median(ms)) * time.Millisecond, Tokens: median(tokens)}, nil
}

// median is the middle value, or the mean of the two in the middle; 0 of none.
func median(list []int64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	mid := len(list) / 2
	if len(list)%2 == 1 {
		return list[mid]
	}
	return list[mid-1] + (list[mid]-list[mid-1])/2
}
