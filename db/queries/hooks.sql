-- name: HookInsert :exec
INSERT INTO hooks (public_id, key, plan_id, version, scheme, secret, files, settle, filter, input, signal, signal_key, profile, labels, actor, created_at, updated_at)
VALUES (@public_id, @key, @plan_id, @version, @scheme, @secret, @files, @settle, @filter, @input, @signal, @signal_key, @profile, @labels, @actor, @created_at, @created_at);

-- name: HookChange :exec
UPDATE hooks
SET plan_id = @plan_id, version = @version, scheme = @scheme, secret = @secret, files = @files, settle = @settle, filter = @filter,
    input = @input, signal = @signal, signal_key = @signal_key, profile = @profile, labels = @labels, paused_at = @paused_at, paused_by = @paused_by, paused_reason = @paused_reason,
    actor = @actor, rev = rev + 1, updated_at = @updated_at
WHERE public_id = @public_id;

-- name: HookDelete :exec
DELETE FROM hooks WHERE public_id = @public_id;

-- A key takes precedence over an id.
-- name: HookNamed :one
SELECT sqlc.embed(hooks), cast(coalesce(p.public_id, '') AS text) AS plan_public_id, cast(coalesce(p.key, '') AS text) AS plan_key
FROM hooks LEFT JOIN plans AS p ON p.id = hooks.plan_id
WHERE hooks.id = coalesce((SELECT k.id FROM hooks AS k WHERE k.key = @name), (SELECT i.id FROM hooks AS i WHERE i.public_id = @name));

-- By key, from a position on.
-- name: HookList :many
SELECT sqlc.embed(hooks), cast(coalesce(p.public_id, '') AS text) AS plan_public_id, cast(coalesce(p.key, '') AS text) AS plan_key
FROM hooks LEFT JOIN plans AS p ON p.id = hooks.plan_id
WHERE hooks.key > @after AND instr(lower(hooks.key), lower(cast(@text AS text))) > 0
ORDER BY hooks.key
LIMIT @max;

-- Hooks that watch files.
-- name: HookWatching :many
SELECT sqlc.embed(hooks), cast(coalesce(p.public_id, '') AS text) AS plan_public_id, cast(coalesce(p.key, '') AS text) AS plan_key
FROM hooks LEFT JOIN plans AS p ON p.id = hooks.plan_id
WHERE hooks.scheme = 'files' AND hooks.paused_at = 0
ORDER BY hooks.key;

-- name: HookFileInsert :exec
INSERT INTO hook_files (hook_id, event) VALUES (@hook_id, @event) ON CONFLICT DO UPDATE SET gone_at = 0;

-- name: HookFileMark :exec
UPDATE hook_files SET gone_at = @gone_at
WHERE hook_id = (SELECT x.id FROM hooks AS x WHERE x.public_id = @hook) AND event = @event;

-- Files that exist, as far as it is known.
-- name: HookFileList :many
SELECT f.event FROM hook_files AS f
WHERE f.gone_at = 0 AND f.hook_id = (SELECT x.id FROM hooks AS x WHERE x.public_id = @hook);

-- name: HookFileCount :one
SELECT count(*) FROM hook_files AS f
WHERE f.hook_id = (SELECT x.id FROM hooks AS x WHERE x.public_id = @hook) AND f.event = @event;

-- name: HookFileDelete :execrows
DELETE FROM hook_files WHERE (hook_id, event) IN
    (SELECT f.hook_id, f.event FROM hook_files AS f WHERE f.gone_at <> 0 AND f.gone_at < @before LIMIT @max);

-- name: HookDeliveryInsert :execlastid
INSERT INTO hook_deliveries (public_id, hook_id, key, event, state, reason, message, size, remote, verified, run_id, signal, replay_of, received_at)
VALUES (@public_id, @hook_id, @key, @event, @state, @reason, @message, @size, @remote, @verified, @run_id, @signal, @replay_of, @received_at);

-- name: HookContentInsert :exec
INSERT INTO hook_contents (delivery_id, headers, body) VALUES (@delivery_id, @headers, @body);

-- The accepted delivery with a key.
-- name: HookDeliveryAccepted :one
SELECT d.public_id, d.signal, cast(coalesce(r.public_id, '') AS text) AS run
FROM hook_deliveries AS d LEFT JOIN runs AS r ON r.id = d.run_id
WHERE d.hook_id = @hook_id AND d.key = @key AND d.state = 'accepted';

-- name: HookDeliveryGet :one
SELECT sqlc.embed(d), sqlc.embed(c), h.public_id AS hook_public_id, h.key AS hook_key, cast(coalesce(r.public_id, '') AS text) AS run
FROM hook_deliveries AS d JOIN hook_contents AS c ON c.delivery_id = d.id JOIN hooks AS h ON h.id = d.hook_id LEFT JOIN runs AS r ON r.id = d.run_id
WHERE d.public_id = @public_id;

-- Newest first.
-- name: HookDeliveryList :many
SELECT sqlc.embed(d), h.public_id AS hook_public_id, h.key AS hook_key, cast(coalesce(r.public_id, '') AS text) AS run
FROM hook_deliveries AS d JOIN hooks AS h ON h.id = d.hook_id LEFT JOIN runs AS r ON r.id = d.run_id
WHERE d.hook_id = (SELECT x.id FROM hooks AS x WHERE x.public_id = @hook) AND d.id < @before
  AND (cast(@state AS text) = '' OR d.state = @state)
ORDER BY d.id DESC
LIMIT @max;

-- The delivery that started a run.
-- name: HookDeliveryOfRun :one
SELECT d.public_id FROM hook_deliveries AS d
WHERE d.state = 'accepted' AND d.run_id <> 0 AND d.run_id = (SELECT r.id FROM runs AS r WHERE r.public_id = @run)
LIMIT 1;

-- Verified deliveries with a state, oldest first: the first of each event, unless the event was accepted.
-- name: HookReplayable :many
SELECT d.public_id, d.received_at
FROM hook_deliveries AS d
WHERE d.hook_id = (SELECT x.id FROM hooks AS x WHERE x.public_id = @hook) AND d.state = @state AND d.verified = 1 AND d.replay_of = ''
  AND d.received_at >= @since
  AND (d.state = 'accepted' OR NOT EXISTS (SELECT 1 FROM hook_deliveries AS a
       WHERE a.hook_id = d.hook_id AND a.event = d.event AND a.state = 'accepted' AND (d.event <> '' OR a.replay_of = d.public_id)))
  AND (d.event = '' OR NOT EXISTS (SELECT 1 FROM hook_deliveries AS e
       WHERE e.hook_id = d.hook_id AND e.event = d.event AND e.state = d.state AND e.id < d.id AND e.verified = 1 AND e.received_at >= @since))
ORDER BY d.id
LIMIT @max;

-- name: HookDeliveryDelete :execrows
DELETE FROM hook_deliveries WHERE id IN (SELECT d.id FROM hook_deliveries AS d WHERE d.received_at < @before LIMIT @max);
