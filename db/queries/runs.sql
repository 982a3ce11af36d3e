-- A run with an existing id is not inserted again.
-- name: RunInsert :execresult
INSERT INTO runs (public_id, tail, plan_id, version_id, status, wait_reason, attention, last_seq, steps, path, actor, origin, priority, run_key,
                  concurrency_key, parent_run, forked_from, fork_seq, rerun_of, undoes, start_at, created_at, schedule, slot, profile)
VALUES (@public_id, @tail, @plan_id, @version_id, @status, @wait_reason, @attention, @last_seq, @steps, @path, @actor, @origin, @priority, @run_key,
        @concurrency_key, @parent_run, @forked_from, @fork_seq, @rerun_of, @undoes, @start_at, @created_at, @schedule, @slot, @profile)
ON CONFLICT (public_id) DO NOTHING;

-- name: RunDetailInsert :exec
INSERT INTO run_details (run_id, input, session, limits, labels, parent, concurrency)
VALUES (@run_id, @input, @session, @limits, @labels, @parent, @concurrency);

-- name: RunLabelInsert :exec
INSERT INTO run_labels (key, value, run_id) VALUES (@key, @value, @run_id);

-- name: RunByPublicID :one
SELECT sqlc.embed(runs), sqlc.embed(run_details), plans.public_id AS plan_public_id, plans.key AS plan_key,
       plan_versions.number AS version, plan_versions.hash AS hash
FROM runs
JOIN run_details ON run_details.run_id = runs.id
JOIN plans ON plans.id = runs.plan_id
JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.public_id = @public_id;

-- A run without its details, which may be damaged.
-- name: RunBare :one
SELECT sqlc.embed(runs), plans.public_id AS plan_public_id, plans.key AS plan_key, plan_versions.number AS version, plan_versions.hash AS hash
FROM runs
JOIN plans ON plans.id = runs.plan_id
JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.public_id = @public_id;

-- Unfinished runs without a row of details.
-- name: RunUnfinishedBare :many
SELECT sqlc.embed(runs), plans.public_id AS plan_public_id, plans.key AS plan_key, plan_versions.number AS version, plan_versions.hash AS hash
FROM runs
JOIN plans ON plans.id = runs.plan_id
JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.ended_at = 0 AND NOT EXISTS (SELECT 1 FROM run_details WHERE run_details.run_id = runs.id)
ORDER BY runs.priority DESC, runs.id;

-- Programs that active runs execute.
-- name: RunningPrograms :many
SELECT DISTINCT plan_versions.hash AS hash, runs.profile AS profile
FROM runs
JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.deleted_at = 0 AND runs.status = 'running'
LIMIT @max;

-- name: RunByKey :one
SELECT public_id FROM runs WHERE run_key = @run_key;

-- name: RunRowID :one
SELECT id, status, wait_reason, attention FROM runs WHERE public_id = @public_id;

-- name: RunPurgedAt :one
SELECT purged_at FROM runs WHERE id = @id;

-- name: RunLast :one
SELECT cast(coalesce(max(id), 0) AS integer) AS id FROM runs;

-- Runs whose id begins with a prefix.
-- name: RunByPrefix :many
SELECT public_id FROM runs WHERE public_id >= @low AND public_id < @high ORDER BY public_id LIMIT 3;

-- Runs whose id ends with a tail; low and high are reversed.
-- name: RunByTail :many
SELECT public_id FROM runs WHERE tail >= @low AND tail < @high ORDER BY tail LIMIT 3;

-- Row ids by prefix and by reversed tail, for lists.
-- name: RunRowsByPrefix :many
SELECT id FROM runs WHERE public_id >= @low AND public_id < @high ORDER BY public_id LIMIT 200;

-- name: RunRowsByTail :many
SELECT id FROM runs WHERE tail >= @low AND tail < @high ORDER BY tail LIMIT 200;

-- name: RunUnfinished :many
SELECT sqlc.embed(runs), sqlc.embed(run_details), plans.public_id AS plan_public_id, plans.key AS plan_key,
       plan_versions.number AS version, plan_versions.hash AS hash
FROM runs
JOIN run_details ON run_details.run_id = runs.id
JOIN plans ON plans.id = runs.plan_id
JOIN plan_versions ON plan_versions.id = runs.version_id
WHERE runs.ended_at = 0
ORDER BY runs.priority DESC, runs.id;

-- name: RunActiveByConcurrency :many
SELECT public_id FROM runs
WHERE concurrency_key = @concurrency_key AND concurrency_key <> '' AND ended_at = 0
ORDER BY id;

-- A run's children, oldest first.
-- name: RunChildren :many
SELECT c.public_id FROM runs AS c WHERE c.parent_run = @run AND c.parent_run <> '' ORDER BY c.id LIMIT 500;

-- name: RunLiveChildren :many
SELECT c.public_id FROM runs AS c WHERE c.parent_run = @run AND c.parent_run <> '' AND c.ended_at = 0 ORDER BY c.id;

-- name: RunForks :many
SELECT c.public_id FROM runs AS c WHERE c.forked_from = @run AND c.forked_from <> '' ORDER BY c.id LIMIT 500;

-- The runs that undo steps of a run, oldest first.
-- name: RunUndos :many
SELECT c.public_id FROM runs AS c WHERE c.undoes = @run AND c.undoes <> '' ORDER BY c.id LIMIT 500;

-- name: RunReruns :many
SELECT c.public_id FROM runs AS c WHERE c.rerun_of = @run AND c.rerun_of <> '' ORDER BY c.id LIMIT 500;

-- Columns that may change without the status: no index contains them.
-- name: RunProgress :execrows
UPDATE runs
SET last_seq = @last_seq, steps = steps + @add_steps, path = @path, headline = @headline, message = @message, node = @node, error_code = @error_code, due_at = @due_at,
    input_tokens = input_tokens + @add_input_tokens, output_tokens = output_tokens + @add_output_tokens, cost = cost + @add_cost,
    crashes = @crashes, paused = @paused, started_at = @started_at, running_us = @running_us
WHERE id = @id AND last_seq = @fence;

-- name: RunAdvance :execrows
UPDATE runs
SET last_seq = @last_seq, steps = steps + @add_steps, path = @path, headline = @headline, message = @message, node = @node, error_code = @error_code, due_at = @due_at,
    input_tokens = input_tokens + @add_input_tokens, output_tokens = output_tokens + @add_output_tokens, cost = cost + @add_cost,
    crashes = @crashes, paused = @paused, started_at = @started_at, running_us = @running_us,
    status = @status, wait_reason = @wait_reason, attention = @attention, ended_at = @ended_at, fingerprint = @fingerprint
WHERE id = @id AND last_seq = @fence;

-- name: RunRepin :exec
UPDATE runs SET version_id = @version_id WHERE id = @id;

-- name: RunDelete :exec
UPDATE runs SET deleted_at = @deleted_at, attention = @attention WHERE id = @id;

-- Moves a run's journal position, unless another writer was first.
-- name: RunMove :execrows
UPDATE runs SET last_seq = @last_seq, steps = steps + @steps, path = @path WHERE id = @id AND last_seq = @before;

-- RunMove with the status message and the step that it names.
-- name: RunMoveMessage :execrows
UPDATE runs SET last_seq = @last_seq, steps = steps + @steps, path = @path, headline = @headline, message = @message, node = @node
WHERE id = @id AND last_seq = @before;

-- name: RunState :one
SELECT id, plan_id, status, wait_reason, attention, last_seq, path, headline, message, node, error_code, version_id, due_at, crashes, paused, started_at, ended_at,
       running_us, deleted_at, max_attempts, origin, fingerprint, parent_run
FROM runs WHERE runs.public_id = @public_id;

-- name: RunDetailOutput :exec
UPDATE run_details SET output = @output, error_message = @error_message, error_text = @error_text, error_node = @error_node WHERE run_id = @run_id;

-- name: RunDetailLimits :exec
UPDATE run_details SET limits = @limits WHERE run_id = @run_id;

-- Retention deletes the data that people entered and nodes returned.
-- name: RunPurge :execrows
UPDATE runs SET purged_at = @purged_at
WHERE id = @id AND purged_at = 0 AND status IN ('completed', 'failed', 'cancelled');

-- name: RunDetailPurge :exec
UPDATE run_details SET input = NULL, output = NULL WHERE run_id = @run_id;

-- Final runs of all plans with one status that still have a journal, the oldest
-- end first.
-- name: RunEnded :many
SELECT id, public_id, plan_id, ended_at, last_seq FROM runs INDEXED BY runs_by_end
WHERE status = @status AND ended_at <> 0 AND purged_at = 0 AND (ended_at, id) > (cast(@after_end AS integer), cast(@after_id AS integer))
ORDER BY ended_at, id LIMIT @max;

-- How many runs of one status ended since a time, counted up to a number.
-- name: RunEndedSince :one
SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_by_end
WHERE runs.status = @status AND runs.ended_at <> 0 AND runs.ended_at >= @since AND runs.deleted_at = 0
  AND NOT (runs.origin = 'dry' OR runs.origin = 'block' AND runs.attention = 0) LIMIT @max);

-- Final runs of one plan with one status that ended before a time and still have
-- a journal, the oldest end first.
-- name: RunEndedOfPlan :many
SELECT id, public_id, plan_id, ended_at, last_seq FROM runs
WHERE plan_id = @plan_id AND status = @status AND ended_at <> 0 AND purged_at = 0
  AND ended_at < @before AND (ended_at, id) > (cast(@after_end AS integer), cast(@after_id AS integer))
ORDER BY ended_at, id LIMIT @max;

-- When the newest runs of a plan with one status ended that still have a journal.
-- name: RunNewestEnds :many
SELECT ended_at FROM runs
WHERE plan_id = @plan_id AND status = @status AND ended_at <> 0 AND purged_at = 0
ORDER BY ended_at DESC LIMIT @max;

-- Why a run must be kept: it is pinned, or an unfinished parent needs it. 0: it can be deleted.
-- name: RunKept :one
SELECT cast(EXISTS (SELECT 1 FROM run_labels WHERE run_labels.run_id = r.id AND run_labels.key = 'pin')
  OR r.parent_run <> '' AND EXISTS (SELECT 1 FROM runs AS p WHERE p.public_id = r.parent_run AND p.ended_at = 0) AS integer)
FROM runs AS r WHERE r.id = @id;

-- The size of the runs of each plan.
-- name: RunTotals :many
SELECT plan_id, count(*) AS runs, cast(coalesce(sum(purged_at <> 0), 0) AS integer) AS purged,
       cast(coalesce(sum(CASE WHEN purged_at = 0 THEN last_seq ELSE 0 END), 0) AS integer) AS steps
FROM runs GROUP BY plan_id;

-- name: RunCountAdd :exec
INSERT INTO run_counts (status, wait_reason, n) VALUES (@status, @wait_reason, @n)
ON CONFLICT (status, wait_reason) DO UPDATE SET n = n + excluded.n;

-- name: RunCountList :many
SELECT status, wait_reason, n FROM run_counts;

-- Unfinished runs that a hold applies to. Quarantined ones do not execute anyway.
-- name: RunHoldable :many
SELECT id, public_id, status, wait_reason, attention, last_seq, deleted_at, origin FROM runs
WHERE ended_at = 0 AND wait_reason <> 'quarantined' AND wait_reason <> 'held'
ORDER BY priority DESC, id;

-- name: RunHold :exec
UPDATE runs SET status = 'waiting', wait_reason = 'held', attention = @attention, headline = 'held since the database was reset to an earlier state',
    message = '["held since the database was reset to an earlier state"]' WHERE id = @id;

-- name: RunMaxAttempts :exec
UPDATE runs SET max_attempts = @max_attempts WHERE id = @id;

-- name: RunUsePut :exec
INSERT OR IGNORE INTO run_uses (kind, name, run_id) VALUES (@kind, @name, @run_id);

-- The agents, tools, and providers of a run, by kind and name.
-- name: RunUses :many
SELECT kind, name FROM run_uses WHERE run_id = (SELECT id FROM runs WHERE public_id = @run) ORDER BY kind, name;

-- Labels that people gave a run.
-- name: RunGivenLabels :one
SELECT runs.id, run_details.given_labels FROM runs JOIN run_details ON run_details.run_id = runs.id WHERE runs.public_id = @public_id;

-- name: RunGiveLabels :exec
UPDATE run_details SET given_labels = @given_labels WHERE run_id = @run_id;

-- name: RunLabelDrop :exec
DELETE FROM run_labels WHERE run_id = @run_id AND key = @key;

-- name: RunToAck :one
SELECT id, status, attention, deleted_at, ended_at FROM runs WHERE public_id = @public_id;

-- The first run from a position on.
-- name: RunFrom :one
SELECT id, created_at FROM runs WHERE id >= @id ORDER BY id LIMIT 1;

-- Unfinished runs that name a stored value.
-- name: UnfinishedRunsOfPayload :many
SELECT r.public_id FROM payload_refs AS p JOIN runs AS r ON r.id = p.run_id WHERE p.hash = @hash AND r.ended_at = 0 LIMIT @max;

-- The different values of an indexed column are found by jumping from one to the next:
-- as many rows are read as there are values, not as there are runs.

-- name: RunErrorsKnown :many
WITH RECURSIVE v (x) AS (
  SELECT min(error_code) FROM runs INDEXED BY runs_by_error WHERE deleted_at = 0 AND error_code <> ''
  UNION ALL SELECT (SELECT min(error_code) FROM runs INDEXED BY runs_by_error WHERE deleted_at = 0 AND error_code <> '' AND error_code > x) FROM v WHERE x IS NOT NULL
) SELECT CAST(x AS TEXT) AS x FROM v WHERE x IS NOT NULL LIMIT @most;

-- name: RunActorsKnown :many
WITH RECURSIVE v (x) AS (
  SELECT min(actor) FROM runs INDEXED BY runs_by_actor WHERE deleted_at = 0
  UNION ALL SELECT (SELECT min(actor) FROM runs INDEXED BY runs_by_actor WHERE deleted_at = 0 AND actor > x) FROM v WHERE x IS NOT NULL
) SELECT CAST(x AS TEXT) AS x FROM v WHERE x IS NOT NULL LIMIT @most;

-- name: RunUsesKnown :many
WITH RECURSIVE v (x) AS (
  SELECT min(name) FROM run_uses WHERE run_uses.kind = @kind
  UNION ALL SELECT (SELECT min(name) FROM run_uses WHERE run_uses.kind = @kind AND name > x) FROM v WHERE x IS NOT NULL
) SELECT CAST(x AS TEXT) AS x FROM v WHERE x IS NOT NULL LIMIT @most;

-- name: RunCountsClear :exec
DELETE FROM run_counts;

-- name: RunCountsFill :exec
-- The reasons are those of countOf.
INSERT INTO run_counts (status, wait_reason, n)
SELECT status, CASE WHEN status = 'failed' AND attention = 0 THEN 'acknowledged' WHEN status = 'running' AND attention = 1 THEN 'silent'
  WHEN wait_reason = 'retry' AND attention = 1 THEN 'stubborn' ELSE wait_reason END, count(*)
FROM runs WHERE deleted_at = 0 AND NOT (origin = 'dry' OR origin = 'block' AND attention = 0) GROUP BY 1, 2;

-- name: RunCountsCheck :many
SELECT status, wait_reason, CAST(sum(counted) AS INTEGER) AS counted, CAST(sum(found) AS INTEGER) AS found FROM (
SELECT status, wait_reason, n AS counted, 0 AS found FROM run_counts
UNION ALL SELECT status, CASE WHEN status = 'failed' AND attention = 0 THEN 'acknowledged' WHEN status = 'running' AND attention = 1 THEN 'silent'
  WHEN wait_reason = 'retry' AND attention = 1 THEN 'stubborn' ELSE wait_reason END, 0, count(*)
FROM runs WHERE deleted_at = 0 AND NOT (origin = 'dry' OR origin = 'block' AND attention = 0) GROUP BY 1, 2)
GROUP BY status, wait_reason;

-- name: RunCountsText :one
SELECT CAST(coalesce(group_concat(status || ' ' || wait_reason || ' ' || n, ', '), '') AS TEXT) AS counted
FROM (SELECT status, wait_reason, n FROM run_counts WHERE n <> 0 ORDER BY status, wait_reason);
