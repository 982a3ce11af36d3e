package store

import (
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store/internal/core"
	"github.com/kairosd/kairosd/internal/store/internal/dbsqlc"
)

// measure stores a measurement of a skill, and deletes the oldest ones beyond the limit.
func (w *writer) measure(m domain.SkillRun) error {
	err := w.q.SkillRunInsert(w.ctx, dbsqlc.SkillRunInsertParams{Skill: m.Skill, Bound: m.Bound,
		Ms: max(m.Time.Milliseconds(), 0), Tokens: max(m.Tokens, 0), At: core.Micros(m.At)})
	if err != nil {
		return err
	}
	return w.q.SkillRunTrim(w.ctx, m.Skill, m.Bound, domain.MaxSkillRuns)
}
