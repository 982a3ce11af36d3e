-- name: SignalInsert :exec
INSERT INTO signals (public_id, name, key, data, deliver, source, actor, status, size, created_at, expires_at)
VALUES (@public_id, @name, @key, @data, @deliver, @source, @actor, 'waiting', @size, @created_at, @expires_at);

-- Signals that no step waits for yet, and their size.
-- name: SignalEarly :one
SELECT count(*) AS signals, cast(coalesce(sum(size), 0) AS integer) AS size FROM signals WHERE status = 'waiting' AND expires_at > @now;

-- Signals with a name and key that may end a wait, oldest first.
-- name: SignalMatchable :many
SELECT id, public_id, deliver FROM signals WHERE status = 'waiting' AND name = @name AND key = @key AND expires_at > @now ORDER BY id LIMIT @max;

-- name: SignalCountMatchable :one
SELECT count(*) FROM signals WHERE status = 'waiting' AND name = @name AND key = @key AND expires_at > @now;

-- Names and keys of signals that may end a wait, at a start.
-- name: SignalNamesMatchable :many
SELECT DISTINCT w.name, w.key FROM signal_waits AS w
WHERE EXISTS (SELECT 1 FROM signals AS s WHERE s.status = 'waiting' AND s.name = w.name AND s.key = w.key AND s.expires_at > @now);

-- name: SignalGet :one
SELECT * FROM signals WHERE public_id = @public_id;

-- Newest first. A signal that has expired counts as unmatched, whatever its row has.
-- name: SignalList :many
SELECT * FROM signals
WHERE id < @before AND instr(lower(name), lower(cast(@text AS text))) > 0
  AND (cast(@status AS text) = '' OR @status = CASE
        WHEN status = 'waiting' AND deliver = 'all' AND EXISTS (SELECT 1 FROM signal_matches AS m WHERE m.signal_id = signals.id) THEN 'matched'
        WHEN status = 'waiting' AND expires_at <= @now THEN 'unmatched'
        ELSE status END)
ORDER BY id DESC
LIMIT @max;

-- name: SignalConsume :execrows
UPDATE signals SET status = 'matched' WHERE id = @id AND status = 'waiting';

-- name: SignalExpire :execrows
UPDATE signals SET status = CASE WHEN EXISTS (SELECT 1 FROM signal_matches AS m WHERE m.signal_id = signals.id) THEN 'matched' ELSE 'unmatched' END
WHERE status = 'waiting' AND expires_at <= @now
  AND NOT EXISTS (SELECT 1 FROM signal_waits AS w WHERE w.signal <> '' AND w.signal = signals.public_id);

-- name: SignalDelete :execrows
DELETE FROM signals WHERE id IN (SELECT s.id FROM signals AS s WHERE s.status <> 'waiting' AND s.created_at < @before LIMIT @max);

-- name: SignalMatchInsert :execrows
INSERT INTO signal_matches (signal_id, run_id, node, item, visit, at) VALUES (@signal_id, @run_id, @node, @item, @visit, @at)
ON CONFLICT DO NOTHING;

-- name: SignalMatched :one
SELECT count(*) FROM signal_matches AS m
WHERE m.signal_id = @signal_id AND m.run_id = (SELECT r.id FROM runs AS r WHERE r.public_id = @run) AND m.node = @node AND m.item = @item;

-- name: SignalMatches :many
SELECT m.node, m.item, m.visit, m.at, r.public_id AS run FROM signal_matches AS m JOIN runs AS r ON r.id = m.run_id
WHERE m.signal_id = @signal_id
ORDER BY m.run_id, m.node, m.item
LIMIT @max;

-- name: WaitInsert :exec
INSERT INTO signal_waits (id, run_id, name, key, node, visit, item, since, due_at)
VALUES (@id, @run_id, @name, @key, @node, @visit, @item, @since, @due_at);

-- name: WaitDelete :exec
DELETE FROM signal_waits WHERE id = @id;

-- name: WaitMatch :execrows
UPDATE signal_waits SET signal = @signal WHERE id = @id AND signal = '';

-- Waits whose signals are on their way, at a start.
-- name: WaitsMatched :many
SELECT w.id, w.name, w.key, w.node, w.visit, w.item, w.signal, r.public_id AS run FROM signal_waits AS w JOIN runs AS r ON r.id = w.run_id
WHERE w.signal <> ''
ORDER BY w.signal, w.id;

-- Waits for a signal, oldest first.
-- name: WaitMatchable :many
SELECT w.id, w.node, w.visit, w.item, w.since, w.due_at, r.public_id AS run FROM signal_waits AS w JOIN runs AS r ON r.id = w.run_id
WHERE w.name = @name AND w.key = @key
ORDER BY w.since, w.id
LIMIT @max;

-- name: WaitCount :one
SELECT count(*) FROM signal_waits WHERE name = @name AND key = @key;

-- Waits by name, key, and time, from a position on.
-- name: WaitList :many
SELECT w.id, w.name, w.key, w.node, w.visit, w.item, w.since, w.due_at, r.public_id AS run, p.key AS plan_key
FROM signal_waits AS w JOIN runs AS r ON r.id = w.run_id JOIN plans AS p ON p.id = r.plan_id
WHERE w.name >= @name AND (w.name > @name OR w.key > @key OR (w.key = @key AND (w.since > @since OR (w.since = @since AND w.id > @id))))
  AND instr(lower(w.name), lower(cast(@text AS text))) > 0
ORDER BY w.name, w.key, w.since, w.id
LIMIT @max;

-- name: CallbackInsert :execrows
INSERT INTO callbacks (run_id, signal, at) VALUES (@run_id, @signal, @at) ON CONFLICT DO NOTHING;
