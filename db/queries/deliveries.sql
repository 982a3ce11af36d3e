-- The actions of people and the daemon after a time, in order, without checkpoints.
-- name: DeliveryEvents :many
SELECT e.seq, e.at, e.action, e.result, e.reason, cast(coalesce(e.detail, '') AS text) AS detail, cast(coalesce(r.public_id, '') AS text) AS run
FROM audit_events AS e INDEXED BY audit_events_of_people
LEFT JOIN runs AS r ON r.id = e.run_id
WHERE e.seq > @after AND e.action <> 'checkpoint'
ORDER BY e.seq
LIMIT @max;

-- The newest message with this fingerprint that is not older than a time.
-- name: DeliveryByDedupKey :one
SELECT id FROM deliveries WHERE channel = @channel AND dedup_key = @dedup_key AND created_at > @since ORDER BY created_at DESC LIMIT 1;

-- name: DeliveryMore :exec
UPDATE deliveries SET repeats = repeats + 1 WHERE id = @id;

-- name: DeliveryInsert :execrows
INSERT OR IGNORE INTO deliveries (id, channel, kind, seq, dedup_key, repeats, body, status, attempts, due_at, created_at, ended_at, error)
VALUES (@id, @channel, @kind, @seq, @dedup_key, 0, @body, 'pending', 0, @due_at, @created_at, 0, '');

-- name: DeliveryDue :many
SELECT * FROM deliveries WHERE status = 'pending' AND due_at <= @now ORDER BY due_at LIMIT @max;

-- name: DeliveryNext :one
SELECT cast(coalesce(min(due_at), 0) AS integer) FROM deliveries WHERE status = 'pending';

-- name: DeliveryUpdate :execrows
UPDATE deliveries SET status = @status, attempts = @attempts, due_at = @due_at, ended_at = @ended_at, error = @error WHERE id = @id;

-- name: DeliveryList :many
SELECT * FROM deliveries WHERE channel = @channel ORDER BY created_at DESC, id DESC LIMIT @max;

-- Messages with repetitions whose quiet time is over.
-- name: DeliveryWithMore :many
SELECT * FROM deliveries WHERE repeats > 0 AND created_at <= @before ORDER BY created_at LIMIT @max;

-- name: DeliveryNoMore :execrows
UPDATE deliveries SET repeats = 0 WHERE id = @id AND repeats = @repeats;

-- name: DeliveryPrune :exec
DELETE FROM deliveries WHERE status <> 'pending' AND repeats = 0 AND created_at < @before;
