-- name: SkillRunInsert :exec
INSERT INTO skill_runs (skill, bound, ms, tokens, at) VALUES (@skill, @bound, @ms, @tokens, @at);

-- Forgets all but the newest of a pair.
-- name: SkillRunTrim :exec
DELETE FROM skill_runs
WHERE id IN (SELECT s.id FROM skill_runs AS s WHERE s.skill = @skill AND s.bound = @bound ORDER BY s.id DESC LIMIT -1 OFFSET @keep);

-- name: SkillRunList :many
SELECT ms, tokens FROM skill_runs WHERE skill = @skill AND bound = @bound;
