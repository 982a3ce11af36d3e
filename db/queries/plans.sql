-- name: PlanByKey :one
SELECT * FROM plans WHERE key = @key;

-- name: PlanNamed :one
-- A key takes precedence over an id.
SELECT * FROM plans WHERE id = coalesce((SELECT k.id FROM plans AS k WHERE k.key = @name), (SELECT i.id FROM plans AS i WHERE i.public_id = @name));

-- name: PlanByPublicID :one
SELECT * FROM plans WHERE public_id = @public_id;

-- name: PlanInsert :one
INSERT INTO plans (public_id, key, name, description, latest, latest_hash, stage, created_at, updated_at)
VALUES (@public_id, @key, @name, @description, 1, @latest_hash, @stage, @created_at, @created_at)
RETURNING *;

-- name: PlanAdvance :exec
UPDATE plans
SET latest = @latest, latest_hash = @latest_hash, name = @name, description = @description, updated_at = @updated_at, archived_at = 0, stage = @stage
WHERE id = @id;

-- name: PlanAccept :exec
UPDATE plans SET stage = '', updated_at = @updated_at WHERE public_id = @public_id;

-- name: PlanFactsClear :exec
DELETE FROM plan_facts WHERE plan_id = @plan_id;

-- name: PlanFactAdd :exec
INSERT INTO plan_facts (plan_id, kind, value) VALUES (@plan_id, @kind, @value) ON CONFLICT DO NOTHING;

-- name: PlanFacts :many
SELECT kind, value FROM plan_facts WHERE plan_id = (SELECT id FROM plans WHERE key = @plan) ORDER BY kind, value;

-- name: PlanArchive :exec
UPDATE plans SET archived_at = @archived_at WHERE public_id = @public_id;

-- name: PlanPause :exec
UPDATE plans SET paused_at = @paused_at, paused_by = @paused_by, paused_reason = @paused_reason WHERE public_id = @public_id;

-- Newest first, from a position on.
-- name: PlanListOlder :many
SELECT * FROM plans
WHERE (archived_at <> 0) = @archived AND (paused_at <> 0 OR NOT cast(@paused AS integer)) AND (instr(lower(name), lower(cast(@text AS text))) > 0 OR instr(lower(key), lower(cast(@text AS text))) > 0)
  AND CASE cast(@stage AS text) WHEN '' THEN stage NOT IN ('trial', 'block') WHEN 'used' THEN stage = '' ELSE stage = @stage END
  AND NOT EXISTS (SELECT 1 FROM json_each(cast(@facts AS text)) AS f WHERE NOT EXISTS (SELECT 1 FROM plan_facts
                  WHERE plan_facts.plan_id = plans.id AND plan_facts.kind = json_extract(f.value, '$[0]') AND plan_facts.value = json_extract(f.value, '$[1]')))
  AND updated_at <= @updated_at AND (updated_at < @updated_at OR id < @id)
ORDER BY updated_at DESC, id DESC
LIMIT @max;

-- name: PlanListNewer :many
SELECT * FROM plans
WHERE (archived_at <> 0) = @archived AND (paused_at <> 0 OR NOT cast(@paused AS integer)) AND (instr(lower(name), lower(cast(@text AS text))) > 0 OR instr(lower(key), lower(cast(@text AS text))) > 0)
  AND CASE cast(@stage AS text) WHEN '' THEN stage NOT IN ('trial', 'block') WHEN 'used' THEN stage = '' ELSE stage = @stage END
  AND NOT EXISTS (SELECT 1 FROM json_each(cast(@facts AS text)) AS f WHERE NOT EXISTS (SELECT 1 FROM plan_facts
                  WHERE plan_facts.plan_id = plans.id AND plan_facts.kind = json_extract(f.value, '$[0]') AND plan_facts.value = json_extract(f.value, '$[1]')))
  AND updated_at >= @updated_at AND (updated_at > @updated_at OR id > @id)
ORDER BY updated_at ASC, id ASC
LIMIT @max;

-- name: VersionInsert :one
INSERT INTO plan_versions (plan_id, number, hash, semantics, kind, format, source, canonical, origin, by_person, parent_hash, reason, author, created_at)
VALUES (@plan_id, @number, @hash, @semantics, @kind, @format, @source, @canonical, @origin, @by_person, @parent_hash, @reason, @author, @created_at)
RETURNING id;

-- Versions of replans have numbers, too, but are never a plan's latest version.
-- name: VersionLast :one
SELECT cast(coalesce(max(number), 0) AS integer) FROM plan_versions WHERE plan_id = @plan_id;

-- name: VersionByHash :one
SELECT sqlc.embed(plan_versions), plans.public_id AS plan_public_id, plans.key AS plan_key
FROM plan_versions JOIN plans ON plans.id = plan_versions.plan_id
WHERE plan_versions.hash = @hash;

-- The version without its documents: read whenever a run is created.
-- name: VersionOfRun :one
SELECT v.id, v.plan_id, v.number, p.public_id, p.key FROM plan_versions AS v JOIN plans AS p ON p.id = v.plan_id WHERE v.hash = @hash;

-- name: VersionByNumber :one
SELECT sqlc.embed(plan_versions), plans.public_id AS plan_public_id, plans.key AS plan_key
FROM plan_versions JOIN plans ON plans.id = plan_versions.plan_id
WHERE plans.public_id = @plan_public_id AND plan_versions.number = @number;

-- Newest first, without the documents.
-- name: VersionList :many
SELECT plan_versions.id, plan_versions.number, plan_versions.hash, plan_versions.semantics, plan_versions.kind, plan_versions.format,
       plan_versions.origin, plan_versions.by_person, plan_versions.parent_hash, plan_versions.reason, plan_versions.author,
       plan_versions.created_at, plans.public_id AS plan_public_id, plans.key AS plan_key
FROM plan_versions JOIN plans ON plans.id = plan_versions.plan_id
WHERE plans.public_id = @plan_public_id
ORDER BY plan_versions.number DESC;

-- name: PlanNames :many
SELECT id, public_id, key FROM plans ORDER BY id;

-- The outcomes of the newest runs of a plan. A run that undoes another one makes other calls.
-- name: RunsOfPlan :many
SELECT public_id, status, wait_reason, created_at, ended_at FROM runs INDEXED BY runs_by_plan
WHERE deleted_at = 0 AND plan_id = (SELECT id FROM plans WHERE key = @plan) AND origin <> 'dry' AND undoes = '' ORDER BY id DESC LIMIT @max;

-- When the queued runs of a plan may start.
-- name: RunsQueuedOfPlan :many
SELECT public_id, start_at FROM runs INDEXED BY runs_by_plan_status
WHERE deleted_at = 0 AND plan_id = (SELECT id FROM plans WHERE key = @plan) AND status = 'queued' AND started_at = 0 AND origin <> 'dry' ORDER BY id DESC LIMIT @max;

-- The number of active runs of each version of a plan.
-- name: VersionsUnderWay :many
SELECT version_id, count(*) AS n FROM runs INDEXED BY runs_by_plan_status
WHERE deleted_at = 0 AND status IN ('queued', 'running', 'waiting') AND origin <> 'dry' AND plan_id = (SELECT p.id FROM plans AS p WHERE p.public_id = @plan_public_id)
GROUP BY version_id;

-- Plans whose newest version contains a text.
-- name: PlansWithText :many
SELECT plans.key FROM plans JOIN plan_versions ON plan_versions.hash = plans.latest_hash
WHERE plans.archived_at = 0 AND instr(cast(plan_versions.canonical AS text), cast(@text AS text)) > 0 ORDER BY plans.id LIMIT @max;

-- name: VersionName :one
SELECT plans.key, plan_versions.number FROM plan_versions JOIN plans ON plans.id = plan_versions.plan_id WHERE plan_versions.id = @id;

-- Versions never change, so those up to a counted one are counted only once.
-- name: PlannedTotals :one
SELECT count(*) AS plans, cast(coalesce(sum(json_array_length(canonical, '$.steps')), 0) AS integer) AS steps,
       cast(coalesce(sum(coalesce(json_extract(canonical, '$.metadata.confidence'), 0) > 0), 0) AS integer) AS sure,
       cast(coalesce(sum(json_extract(canonical, '$.metadata.confidence')), 0) AS real) AS confidence, cast(coalesce(max(id), 0) AS integer) AS newest
FROM plan_versions WHERE id > @after AND origin = 'planner' AND kind = 'steps';

-- name: PlannedRuns :one
SELECT count(*) AS ended, cast(coalesce(sum(status = 'completed'), 0) AS integer) AS completed
FROM runs WHERE ended_at <> 0 AND purged_at = 0
  AND plan_id IN (SELECT v.plan_id FROM plan_versions AS v WHERE v.origin = 'planner' AND v.kind = 'steps');
