-- name: AuditInsert :exec
INSERT INTO audit_events (seq, at, run_id, first_seq, run_seq, digest, action, actor, source, object, result, reason, detail, request,
    address, mac)
VALUES (@seq, @at, @run_id, @first_seq, @run_seq, @digest, @action, @actor, @source, @object, @result, @reason, @detail, @request,
    @address, @mac);

-- AuditInsert for the record of a checkpoint.
-- name: AuditInsertCheckpoint :exec
INSERT INTO audit_events (seq, at, run_id, first_seq, run_seq, digest, action, actor, source, object, result, reason, detail, mac)
VALUES (@seq, @at, @run_id, @first_seq, @run_seq, @digest, 'checkpoint', 'system', 'engine', @object, 'ok', '', NULL, @mac);

-- name: AuditLast :one
SELECT cast(coalesce(max(seq), 0) AS integer) AS seq FROM audit_events;

-- name: AuditMac :one
SELECT mac FROM audit_events WHERE seq = @seq;

-- The hashes of the journal rows that an event covers.
-- name: StepHashes :many
SELECT hash FROM step_results WHERE run_id = @run_id AND seq >= @first AND seq <= @last ORDER BY seq;

-- name: AuditAfter :many
SELECT sqlc.embed(audit_events), cast(coalesce(runs.public_id, '') AS text) AS run
FROM audit_events LEFT JOIN runs ON runs.id = audit_events.run_id
WHERE audit_events.seq > @after ORDER BY audit_events.seq LIMIT @max;

-- Events that cover journal rows of a run, from a row on.
-- name: AuditOfSteps :many
SELECT sqlc.embed(audit_events)
FROM step_results JOIN audit_events ON audit_events.seq = step_results.audit_seq
WHERE step_results.run_id = @run_id AND step_results.seq > @after_step AND step_results.seq = audit_events.run_seq
ORDER BY step_results.seq LIMIT @max;

-- The other events of a run.
-- name: AuditOfRun :many
SELECT * FROM audit_events
WHERE run_id = cast(@run_id AS integer) AND run_id IS NOT NULL AND digest IS NULL AND seq > @after ORDER BY seq LIMIT @max;

-- The last event before a position that carries a link of the chain: the last
-- event of every transaction does, so that it is near.
-- name: AuditLinkBefore :one
SELECT seq, mac FROM audit_events WHERE mac IS NOT NULL AND seq < @seq ORDER BY seq DESC LIMIT 1;

-- The link that covers an event: its own, or the next one.
-- name: AuditLinkFrom :one
SELECT seq, mac FROM audit_events WHERE mac IS NOT NULL AND seq >= @seq ORDER BY seq ASC LIMIT 1;

-- Only events up to settings.audit_cut can be deleted.
-- name: AuditDelete :execrows
DELETE FROM audit_events WHERE seq IN (SELECT e.seq FROM audit_events AS e WHERE e.seq <= @upto ORDER BY e.seq LIMIT @max);

-- The newest event of an action that changes access. The other conditions are those
-- of the index.
-- name: AuditNewestOf :one
SELECT seq FROM audit_events
WHERE action = @action AND action <> 'checkpoint' AND action <> 'run.status' AND action <> 'run.created' AND result = 'ok'
ORDER BY seq DESC LIMIT 1;

-- Journal rows, of the newest 100,000, without their audit event.
-- name: StepsWithoutAudit :one
SELECT count(*) FROM (SELECT audit_seq FROM step_results ORDER BY id DESC LIMIT 100000) AS s
WHERE s.audit_seq > (SELECT coalesce(max(seq), 0) FROM audit_events);

-- Journal rows of a range that name another audit event.
-- name: StepsOfAnotherAudit :one
SELECT count(*) FROM step_results WHERE run_id = @run_id AND seq >= @first AND seq <= @last AND audit_seq <> @audit_seq;

-- The first event from a position on.
-- name: AuditFrom :one
SELECT seq, at FROM audit_events WHERE seq >= @seq ORDER BY seq LIMIT 1;

-- name: KeptEvents :many
SELECT seq, action, detail FROM audit_events
WHERE run_id = @run AND run_id IS NOT NULL AND digest IS NULL AND action IN ('run.created', 'run.status') ORDER BY seq;

-- name: KeptDigests :many
SELECT seq, first_seq, run_seq, digest FROM audit_events WHERE seq BETWEEN @low AND @high AND +run_id = @run AND digest IS NOT NULL ORDER BY seq;
