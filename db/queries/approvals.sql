-- name: ApprovalPut :exec
INSERT INTO approvals (public_id, run_id, plan_key, node, visit, item, message, form, tool, arguments, digest, status, on_timeout, due_at, created_at, started_by,
                       decided_at, decided_by, comment, entered, rev, agent, may_ask, label, yes_word, no_word, assignee, due_key)
VALUES (@public_id, @run_id, @plan_key, @node, @visit, @item, @message, @form, @tool, @arguments, @digest, @status, @on_timeout, @due_at, @created_at, @started_by,
        @decided_at, @decided_by, @comment, @entered, @rev, @agent, @may_ask, @label, @yes_word, @no_word, @assignee, @due_key)
ON CONFLICT (public_id) DO UPDATE
SET status = excluded.status, decided_at = excluded.decided_at, decided_by = excluded.decided_by, comment = excluded.comment, entered = excluded.entered;

-- name: ApprovalGet :one
SELECT sqlc.embed(approvals), runs.public_id AS run FROM approvals JOIN runs ON runs.id = approvals.run_id
WHERE approvals.public_id = @public_id;

-- name: ApprovalAssign :execrows
UPDATE approvals SET assignee = @assignee WHERE public_id = @public_id AND status = 'open' AND assignee = @before;

-- name: ApprovalListByRun :many
SELECT sqlc.embed(approvals), runs.public_id AS run FROM approvals JOIN runs ON runs.id = approvals.run_id
WHERE approvals.run_id = (SELECT id FROM runs AS r WHERE r.public_id = @run)
ORDER BY approvals.id DESC LIMIT 1000;

-- name: ApprovalCountOpen :one
SELECT count(*) FROM (SELECT 1 FROM approvals WHERE status = 'open' LIMIT 10000);

-- Retention takes away what was asked and what a person entered; who decided,
-- when and why stays.
-- name: ApprovalPurge :exec
UPDATE approvals SET message = '', form = NULL, entered = NULL WHERE run_id = @run_id;
