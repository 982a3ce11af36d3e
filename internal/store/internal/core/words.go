package core

import (
	"github.com/kairosd/kairosd/internal/domain"
)

const (
	DropWordsSQL = `DELETE FROM run_words WHERE rowid = ?`
	AddWordsSQL  = `INSERT INTO run_words (rowid, headline, labels)
SELECT id, substr(CASE WHEN status = 'failed' THEN headline ELSE '' END, 1, 2000),
  coalesce((SELECT group_concat(key || ' ' || value, ' ') FROM run_labels WHERE run_id = runs.id), '')
FROM runs WHERE (status = 'failed' AND headline <> '' OR EXISTS (SELECT 1 FROM run_labels WHERE run_id = runs.id))`
	MaxWords = 32
)

// Listed reports whether lists and counts of runs contain a run. They leave out dry runs, and runs of blocks that need
// no person. The constant unlisted of package query is the same rule.
func Listed(origin string, attention int64) bool {
	return origin != domain.OriginDry && (origin != domain.OriginBlock || attention != 0)
}

// NeedsAttention reports whether a run has failed or waits for a person, and is not deleted.
func NeedsAttention(status, reason string, deletedAt int64) bool {
	return deletedAt == 0 &&
		(status == string(domain.RunFailed) || status == string(domain.RunWaiting) && domain.WaitReason(reason).NeedsPerson())
}

// SettingNotified stores the number of the last audit event for which notifications were created.
const SettingNotified = "notify/told"
