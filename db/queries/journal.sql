-- name: StepInsert :exec
INSERT INTO step_results (run_id, seq, kind, node, visit, item, attempt, substep, status, final, effect, idem_key, input, output,
    decision, failure, input_tokens, output_tokens, cost, agent, due_at, ref, actor, reason, log, started_at, at, audit_seq, hash)
VALUES (@run_id, @seq, @kind, @node, @visit, @item, @attempt, @substep, @status, @final, @effect, @idem_key, @input, @output, @decision,
    @failure, @input_tokens, @output_tokens, @cost, @agent, @due_at, @ref, @actor, @reason, @log, @started_at, @at, @audit_seq, @hash);

-- StepInsert for rows with only the usual columns, because a constant costs less
-- than binding an argument.
-- name: StepInsertPlain :exec
INSERT INTO step_results (run_id, seq, kind, node, visit, item, attempt, substep, status, final, effect, idem_key, input, output, decision,
    failure, input_tokens, output_tokens, cost, agent, due_at, ref, actor, reason, log, started_at, at, audit_seq, hash)
VALUES (@run_id, @seq, @kind, @node, @visit, @item, @attempt, 0, @status, @final, @effect, @idem_key, @input, @output, @decision,
    NULL, 0, 0, 0.0, NULL, 0, NULL, NULL, NULL, NULL, @started_at, @at, @audit_seq, @hash);

-- name: StepList :many
SELECT step_results.* FROM step_results JOIN runs ON runs.id = step_results.run_id
WHERE runs.public_id = @run AND step_results.seq > @after
ORDER BY step_results.seq
LIMIT @max;

-- name: StepRange :many
SELECT * FROM step_results WHERE run_id = @run_id AND seq >= @first AND seq <= @last ORDER BY seq;

-- The audit event that covers a row.
-- name: StepAuditSeq :one
SELECT audit_seq FROM step_results WHERE run_id = @run_id AND seq = @seq;

-- name: PayloadInsert :exec
INSERT INTO payloads (hash, size, encoding, data, created_at) VALUES (@hash, @size, @encoding, @data, @created_at)
ON CONFLICT (hash) DO UPDATE SET created_at = excluded.created_at;

-- name: PayloadRefInsert :exec
INSERT OR IGNORE INTO payload_refs (run_id, hash) VALUES (@run_id, @hash);

-- name: PayloadRefDelete :exec
DELETE FROM payload_refs WHERE run_id = @run_id;

-- Payloads of a run that no other run needs.
-- name: PayloadOnlyOf :many
SELECT payload_refs.hash FROM payload_refs
WHERE payload_refs.run_id = @run_id
  AND NOT EXISTS (SELECT 1 FROM payload_refs AS o WHERE o.hash = payload_refs.hash AND o.run_id <> payload_refs.run_id);

-- Payloads that were stored before a checkpoint that did not follow.
-- name: PayloadOrphans :many
SELECT payloads.id, payloads.hash FROM payloads
WHERE payloads.id > @after AND payloads.created_at < @before AND NOT EXISTS (SELECT 1 FROM payload_refs WHERE payload_refs.hash = payloads.hash)
ORDER BY payloads.id LIMIT @max;

-- name: PayloadDelete :execrows
DELETE FROM payloads
WHERE payloads.hash = @hash AND payloads.created_at < @before AND NOT EXISTS (SELECT 1 FROM payload_refs WHERE payload_refs.hash = payloads.hash);

-- Retention: the run must be marked as purged first.
-- name: StepDelete :execrows
DELETE FROM step_results WHERE id IN (SELECT s.id FROM step_results AS s WHERE s.run_id = @run_id ORDER BY s.seq LIMIT @max);

-- name: HandoffDelete :exec
DELETE FROM handoffs WHERE run_id = @run_id;

-- name: MessageInsert :exec
INSERT INTO messages (public_id, run_id, seq, node, visit, item, correlation, from_agent, to_agent, type, payload, priority, ttl_ms, retry_count, requires_ack, plan_context, at)
VALUES (@public_id, @run_id, @seq, @node, @visit, @item, @correlation, @from_agent, @to_agent, @type, @payload, @priority, @ttl_ms, @retry_count, @requires_ack, @plan_context, @at)
ON CONFLICT (public_id) DO NOTHING;

-- name: MessageList :many
SELECT messages.* FROM messages JOIN runs ON runs.id = messages.run_id
WHERE runs.public_id = @run AND messages.id > @after ORDER BY messages.id LIMIT @max;

-- name: MessageDelete :exec
DELETE FROM messages WHERE run_id = @run_id;

-- name: MemoryInsert :exec
INSERT INTO memory (run_id, scope, owner, session, input, output, at) VALUES (@run_id, @scope, @owner, @session, @input, @output, @at)
ON CONFLICT (run_id) DO NOTHING;

-- name: MemoryLatest :many
SELECT memory.*, runs.public_id AS run FROM memory JOIN runs ON runs.id = memory.run_id
WHERE memory.scope = @scope AND memory.id < @before ORDER BY memory.id DESC LIMIT @max;

-- name: MemoryDelete :exec
DELETE FROM memory WHERE run_id = @run_id;

-- name: MemorySessionAfter :one
SELECT session FROM memory WHERE owner = @owner AND session > @after ORDER BY session LIMIT 1;

-- name: MemoryCount :one
SELECT count(*) FROM memory WHERE scope = @scope;

-- name: MemoryForget :execrows
DELETE FROM memory WHERE scope = @scope;

-- name: PayloadGet :one
SELECT size, encoding, data FROM payloads WHERE hash = @hash;

-- name: HandoffInsert :exec
INSERT INTO handoffs (public_id, run_id, seq, from_agent, to_agent, node, reason, context, at)
VALUES (@public_id, @run_id, @seq, @from_agent, @to_agent, @node, @reason, @context, @at);

-- name: HandoffList :many
SELECT handoffs.* FROM handoffs JOIN runs ON runs.id = handoffs.run_id
WHERE runs.public_id = @run ORDER BY handoffs.id LIMIT 1000;

-- Payloads in the order in which they were stored, without their values.
-- name: PayloadScan :many
SELECT id, hash FROM payloads WHERE id > @after ORDER BY id LIMIT @max;

-- The size of large values per plan.
-- name: PayloadTotals :many
SELECT runs.plan_id, cast(coalesce(sum(length(payloads.data)), 0) AS integer) AS bytes
FROM payload_refs JOIN payloads ON payloads.hash = payload_refs.hash JOIN runs ON runs.id = payload_refs.run_id
GROUP BY runs.plan_id;

-- name: PayloadBytes :one
SELECT cast(coalesce(sum(length(data)), 0) AS integer) FROM payloads;

-- name: MemoryByID :one
SELECT memory.*, runs.public_id AS run FROM memory JOIN runs ON runs.id = memory.run_id WHERE memory.id = @id;

-- name: HandoffLast :one
SELECT cast(coalesce(max(id), 0) AS integer) FROM handoffs;

-- The first handoff from a position on.
-- name: HandoffFrom :one
SELECT id, at FROM handoffs WHERE id >= @id ORDER BY id LIMIT 1;
