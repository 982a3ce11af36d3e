-- name: AuditInsert :exec
INSERT INTO audit_events (seq, at, run_id, first_seq, run_seq, digest, action, actor, surface, object, result, reason, detail, mac)
VALUES (@seq, @at, @run_id, @first_seq, @run_seq, @digest, @action, @actor, @surface, @object, @result, @reason, @detail, @mac);

-- name: AuditLast :one
SELECT cast(coalesce(max(seq), 0) AS integer) AS seq FROM audit_events;

-- name: AuditLastMac :one
SELECT seq, mac FROM audit_events WHERE mac IS NOT NULL ORDER BY seq DESC LIMIT 1;

-- name: AuditAfter :many
SELECT sqlc.embed(audit_events), cast(coalesce(runs.public_id, '') AS text) AS run
FROM audit_events LEFT JOIN runs ON runs.id = audit_events.run_id
WHERE audit_events.seq > @after ORDER BY audit_events.seq LIMIT @max;

-- name: AuditAfterOfRun :many
SELECT sqlc.embed(audit_events), cast(runs.public_id AS text) AS run
FROM runs JOIN audit_events ON audit_events.run_id = runs.id
WHERE runs.public_id = @run AND audit_events.seq > @after ORDER BY audit_events.seq LIMIT @max;
