-- name: ApprovalPut :exec
INSERT INTO approvals (public_id, run_id, plan_key, node, visit, item, message, form, tool, arguments, digest, status, on_timeout, due_at, created_at, started_by,
                       decided_at, decided_by, comment, comment_text, entered, rev, agent, may_ask, label, answers, answer, assignee, due_key, seal)
VALUES (@public_id, @run_id, @plan_key, @node, @visit, @item, @message, @form, @tool, @arguments, @digest, @status, @on_timeout, @due_at, @created_at, @started_by,
        @decided_at, @decided_by, @comment, @comment_text, @entered, @rev, @agent, @may_ask, @label, @answers, @answer, @assignee, @due_key, @seal)
ON CONFLICT (public_id) DO UPDATE
SET status = excluded.status, decided_at = excluded.decided_at, decided_by = excluded.decided_by, comment = excluded.comment, comment_text = excluded.comment_text, entered = excluded.entered, answer = excluded.answer, seal = excluded.seal;

-- name: ApprovalGet :one
SELECT sqlc.embed(approvals), runs.public_id AS run FROM approvals JOIN runs ON runs.id = approvals.run_id
WHERE approvals.public_id = @public_id;

-- name: ApprovalAssign :execrows
UPDATE approvals SET assignee = @assignee, seal = @seal WHERE public_id = @public_id AND status = 'pending' AND assignee = @before;

-- name: ApprovalsPending :many
SELECT * FROM approvals WHERE status = 'pending' ORDER BY id;

-- name: ApprovalClose :exec
UPDATE approvals SET status = 'cancelled', decided_at = @decided_at, decided_by = @decided_by, comment = @comment, comment_text = @comment_text WHERE public_id = @public_id AND status = 'pending';

-- name: ApprovalCountPending :one
SELECT count(*) FROM (SELECT 1 FROM approvals WHERE status = 'pending' LIMIT 10000);

-- Retention deletes the request and the values that a person entered. Who decided,
-- when, and why stays. A request that is still pending is cancelled, because its
-- content is gone.
-- name: ApprovalPurge :exec
UPDATE approvals SET message = '', form = NULL, entered = NULL, decided_at = CASE WHEN status = 'pending' THEN created_at ELSE decided_at END,
    status = CASE WHEN status = 'pending' THEN 'cancelled' ELSE status END WHERE run_id = @run_id;
