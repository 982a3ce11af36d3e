-- name: StepList :many
SELECT step_results.* FROM step_results JOIN runs ON runs.id = step_results.run_id
WHERE runs.public_id = @run AND step_results.seq > @after
ORDER BY step_results.seq
LIMIT @max;

-- name: StepRange :many
SELECT * FROM step_results WHERE run_id = @run_id AND seq >= @first AND seq <= @last ORDER BY seq;

-- The audit event that stands for a row.
-- name: StepAuditSeq :one
SELECT audit_seq FROM step_results WHERE run_id = @run_id AND seq = @seq;

-- name: PayloadInsert :exec
INSERT OR IGNORE INTO payloads (hash, size, encoding, data, created_at) VALUES (@hash, @size, @encoding, @data, @created_at);

-- name: PayloadGet :one
SELECT size, encoding, data FROM payloads WHERE hash = @hash;

-- name: HandoffInsert :exec
INSERT INTO handoffs (public_id, run_id, seq, from_agent, to_agent, node, reason, context, at)
VALUES (@public_id, @run_id, @seq, @from_agent, @to_agent, @node, @reason, @context, @at);

-- name: HandoffList :many
SELECT handoffs.* FROM handoffs JOIN runs ON runs.id = handoffs.run_id
WHERE runs.public_id = @run ORDER BY handoffs.id LIMIT 1000;
