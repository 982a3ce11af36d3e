-- name: FailureGroups :many
SELECT r.plan_id, r.node, r.error_code, r.fingerprint, count(*) AS runs, CAST(min(r.ended_at) AS INTEGER) AS first_at, CAST(max(r.ended_at) AS INTEGER) AS last_at
FROM runs AS r INDEXED BY runs_failed_by_fingerprint
WHERE r.attention = 1 AND r.status = 'failed' AND r.deleted_at = 0
GROUP BY r.plan_id, r.node, r.error_code, r.fingerprint
ORDER BY last_at DESC LIMIT @max;

-- name: FailureGroupNewest :one
SELECT runs.public_id, runs.headline, runs.message, plan_versions.number, plans.key, plans.public_id AS plan_public_id
FROM runs INDEXED BY runs_failed_by_fingerprint
JOIN plans ON plans.id = runs.plan_id JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.attention = 1 AND runs.status = 'failed' AND runs.deleted_at = 0 AND runs.plan_id = @plan_id AND runs.node = @node AND runs.error_code = @error_code AND runs.fingerprint = @fingerprint
ORDER BY runs.id DESC LIMIT 1;

-- The first run of a failure group.
-- name: FailureGroupFirst :one
SELECT runs.id, runs.created_at, plan_versions.number, runs.plan_id
FROM runs INDEXED BY runs_failed_by_fingerprint JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.attention = 1 AND runs.status = 'failed' AND runs.deleted_at = 0
AND runs.plan_id = (SELECT plans.id FROM plans WHERE plans.key = @plan) AND runs.node = @node AND runs.error_code = @error_code AND runs.fingerprint = @fingerprint
ORDER BY runs.id LIMIT 1;

-- The last run of a plan before another that succeeded.
-- name: RunGoodBefore :one
SELECT runs.public_id, runs.created_at, plan_versions.number
FROM runs INDEXED BY runs_by_plan_status JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.deleted_at = 0 AND runs.plan_id = @plan_id AND runs.status = 'completed' AND runs.undoes = '' AND runs.id < @before
ORDER BY runs.id DESC LIMIT 1;

-- When the newest runs of a failure group failed, newest run first.
-- name: FailureGroupTimes :many
SELECT runs.ended_at FROM runs INDEXED BY runs_failed_by_fingerprint
WHERE runs.attention = 1 AND runs.status = 'failed' AND runs.deleted_at = 0
AND runs.plan_id = (SELECT plans.id FROM plans WHERE plans.key = @plan) AND runs.node = @node AND runs.error_code = @error_code AND runs.fingerprint = @fingerprint
ORDER BY runs.id DESC LIMIT @max;

-- The notes of a failure group, and of all failures with its code: at most two.
-- name: FailureAcks :many
SELECT * FROM failure_acks WHERE plan_id = @plan_id AND node = @node AND error_code = @error_code AND (fingerprint = @fingerprint OR fingerprint = '');

-- name: FailureAckPut :exec
INSERT INTO failure_acks (plan_id, node, error_code, fingerprint, headline, message, actor, note, runs, at)
VALUES (@plan_id, @node, @error_code, @fingerprint, @headline, @message, @actor, @note, @runs, @at)
ON CONFLICT (plan_id, node, error_code, fingerprint) DO UPDATE SET headline = excluded.headline, message = excluded.message, actor = excluded.actor, note = excluded.note, runs = excluded.runs, at = excluded.at;

-- name: FailureAckDelete :exec
DELETE FROM failure_acks WHERE plan_id = @plan_id AND node = @node AND error_code = @error_code AND fingerprint >= @fingerprint AND fingerprint <= @fingerprint_last;

-- Failures acknowledged since a time, newest first.
-- name: FailureAckList :many
SELECT failure_acks.*, plans.key, plans.public_id AS plan_public_id
FROM failure_acks INDEXED BY failure_acks_by_age JOIN plans ON plans.id = failure_acks.plan_id
WHERE failure_acks.at >= @since ORDER BY failure_acks.at DESC LIMIT @max;

-- Failed runs that failed alike and need attention; and those that did. Both ends
-- of alike are the same, or take all in.
-- name: FailureAckRuns :many
SELECT runs.id, runs.ended_at FROM runs INDEXED BY runs_failed_by_fingerprint
WHERE runs.attention = 1 AND runs.status = 'failed' AND runs.deleted_at = 0 AND runs.plan_id = @plan_id AND runs.node = @node AND runs.error_code = @error_code
AND runs.fingerprint >= @fingerprint AND runs.fingerprint <= @fingerprint_last;

-- name: FailureUnackRuns :many
SELECT runs.id, runs.ended_at FROM runs INDEXED BY runs_by_plan_status
WHERE runs.deleted_at = 0 AND runs.plan_id = @plan_id AND runs.status = 'failed' AND runs.attention = 0 AND runs.node = @node AND runs.error_code = @error_code
  AND runs.fingerprint >= @fingerprint AND runs.fingerprint <= @fingerprint_last AND runs.origin <> 'dry'
ORDER BY runs.id;

-- Runs that were resumed or deleted since they were listed stay as they are.
-- name: RunAttention :execrows
UPDATE runs SET attention = @attention WHERE id = @id AND status = 'failed' AND ended_at = @ended_at AND attention <> @attention AND deleted_at = 0;

-- name: OutcomeAdd :exec
INSERT INTO run_outcomes (plan_id, slot, status, version_id, n) VALUES (@plan_id, @slot, @status, @version_id, @n)
ON CONFLICT (plan_id, slot, status, version_id) DO UPDATE SET n = n + excluded.n;

-- How runs ended since a slot, per plan, slot and status.
-- name: OutcomeList :many
SELECT plans.key, run_outcomes.slot, run_outcomes.status, run_outcomes.n
FROM plans CROSS JOIN run_outcomes ON run_outcomes.plan_id = plans.id AND run_outcomes.slot >= @since
LIMIT @max;

-- How runs of one plan ended since a slot.
-- name: OutcomeOfPlan :one
SELECT CAST(total(CASE status WHEN 'completed' THEN n END) AS INTEGER) AS completed, CAST(total(CASE status WHEN 'failed' THEN n END) AS INTEGER) AS failed,
CAST(total(CASE status WHEN 'cancelled' THEN n END) AS INTEGER) AS cancelled FROM run_outcomes
WHERE plan_id = (SELECT id FROM plans WHERE key = @plan) AND slot >= @since;

-- How runs of each version of a plan ended since a slot.
-- name: OutcomeOfVersions :many
SELECT version_id, status, n FROM run_outcomes
WHERE plan_id = (SELECT id FROM plans WHERE public_id = @plan_public_id) AND slot >= @since ORDER BY slot, status;

-- name: PreferenceGet :one
SELECT value FROM preferences WHERE owner = @owner AND key = @key;

-- name: PreferencePut :exec
INSERT INTO preferences (owner, key, value) VALUES (@owner, @key, @value)
ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value;
