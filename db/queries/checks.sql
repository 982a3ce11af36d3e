-- Checks read everything that is stored. Most of these statements are executed by
-- core.DB.EachRow, which is faster for millions of rows than the generated methods.

-- name: CheckRuns :many
SELECT r.public_id, coalesce(d.limits, '') AS limits, coalesce(d.labels, '') AS labels, coalesce(d.given_labels, '') AS given_labels,
  d.parent, d.concurrency, d.input, d.output
FROM runs AS r LEFT JOIN run_details AS d ON d.run_id = r.id WHERE r.id > @above AND r.id <= @upto ORDER BY r.id;

-- name: CheckJournalRuns :many
SELECT id, public_id, last_seq FROM runs WHERE id > @above AND id <= @upto AND purged_at = 0 ORDER BY id;

-- name: CheckSteps :many
SELECT run_id, seq, kind, node, visit, item, attempt, substep, status, final, effect, idem_key, input, output, decision, failure, input_tokens,
  output_tokens, cost, agent, due_at, ref, actor, reason, log, started_at, at, audit_seq, hash
FROM step_results WHERE run_id > @above AND run_id <= @upto ORDER BY run_id, seq;

-- name: CheckStepsOfRun :many
SELECT run_id, seq, kind, node, visit, item, attempt, substep, status, final, effect, idem_key, input, output, decision, failure, input_tokens,
  output_tokens, cost, agent, due_at, ref, actor, reason, log, started_at, at, audit_seq, hash
FROM step_results WHERE run_id = (SELECT id FROM runs WHERE public_id = @run) ORDER BY seq;

-- name: CheckPayloadRefs :many
SELECT r.public_id, s.seq, CAST(s.hash AS BLOB) AS hash FROM (
SELECT run_id, seq, unhex(substr(input, 2)) AS hash FROM step_results WHERE substr(input, 1, 1) = '@'
UNION ALL SELECT run_id, seq, unhex(substr(output, 2)) FROM step_results WHERE substr(output, 1, 1) = '@'
UNION ALL SELECT run_id, 0, unhex(substr(input, 2)) FROM run_details WHERE substr(input, 1, 1) = '@'
UNION ALL SELECT run_id, 0, unhex(substr(output, 2)) FROM run_details WHERE substr(output, 1, 1) = '@') AS s
JOIN runs AS r ON r.id = s.run_id
WHERE r.purged_at = 0 AND NOT EXISTS (SELECT 1 FROM payload_refs AS p WHERE p.run_id = s.run_id AND p.hash = s.hash) LIMIT 100;

-- name: CheckStates :one
SELECT (SELECT count(*) FROM approvals WHERE approvals.status = 'pending') + (SELECT count(*) FROM runs WHERE runs.ended_at = 0 AND runs.parent_run <> '')
  + (SELECT count(*) FROM runs WHERE runs.ended_at <> 0) AS examined;

-- name: CheckApprovals :many
SELECT a.run_id, r.public_id, a.public_id, a.status, a.node, a.visit, a.item, a.due_at, a.decided_by, a.comment
FROM approvals AS a JOIN runs AS r ON r.id = a.run_id WHERE a.run_id > @above AND a.run_id <= @upto AND r.purged_at = 0 ORDER BY a.run_id, a.id;

-- name: CheckApprovalSteps :many
SELECT run_id, ref, kind, node, visit, item, due_at, coalesce(decision, '') AS decision, coalesce(actor, '') AS actor, coalesce(reason, '') AS reason
FROM step_results WHERE run_id > @above AND run_id <= @upto AND ref IS NOT NULL AND kind IN ('wait', 'resolve') ORDER BY run_id, seq;

-- name: CheckMemory :many
SELECT m.id, r.public_id, m.scope, m.owner, m.session, m.input, r.actor, coalesce(d.session, '') AS of_run, coalesce(d.input, '') AS given
FROM memory AS m JOIN runs AS r ON r.id = m.run_id LEFT JOIN run_details AS d ON d.run_id = m.run_id WHERE m.id > @above ORDER BY m.id LIMIT @most;

-- name: CheckAuditEvents :many
SELECT seq, at, run_id, first_seq, run_seq, digest, action, actor, source, object, result, reason, detail, request, address, mac
FROM audit_events WHERE seq > @above ORDER BY seq LIMIT @most;

-- name: CheckStepHashes :many
SELECT id, run_id, audit_seq, hash FROM step_results WHERE id > @above ORDER BY id LIMIT @most;

-- name: CheckSeals :many
SELECT r.id, r.public_id, r.actor, r.origin, r.run_key, r.concurrency_key, r.parent_run, r.forked_from, r.rerun_of, d.session, d.labels,
  d.parent, d.concurrency, d.input, r.priority, r.fork_seq, r.start_at, r.purged_at, r.schedule, r.slot, r.undoes, r.profile FROM runs AS r JOIN run_details AS d ON d.run_id = r.id
WHERE r.id BETWEEN @low AND @high;

-- name: RowCounts :one
SELECT (SELECT count(*) FROM plans) AS plans, (SELECT count(*) FROM plan_versions) AS plan_versions, (SELECT count(*) FROM runs) AS runs,
  (SELECT count(*) FROM step_results) AS step_results, (SELECT count(*) FROM payloads) AS payloads, (SELECT count(*) FROM audit_events) AS audit_events,
  (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM tokens) AS tokens;

-- name: CheckLeftApprovals :many
SELECT r.public_id, CAST('it is ' || r.status || ', and its approval ' || a.public_id || ' is still open' AS TEXT) AS problem
FROM approvals AS a JOIN runs AS r ON r.id = a.run_id WHERE a.status = 'pending' AND r.ended_at <> 0 AND r.ended_at < @before;

-- name: CheckLeftChildren :many
SELECT r.public_id, CAST('it is ' || r.status || ', and its parent ' || p.public_id || ' has ' || p.status AS TEXT) AS problem
FROM runs AS r JOIN runs AS p ON p.public_id = r.parent_run WHERE r.parent_run <> '' AND r.ended_at = 0 AND p.ended_at <> 0 AND p.ended_at < @before;

-- name: CheckLeftPaused :many
SELECT r.public_id, CAST('it is ' || r.status || ', and paused' AS TEXT) AS problem FROM runs AS r WHERE r.ended_at <> 0 AND r.paused <> 0 AND r.ended_at < @before;
