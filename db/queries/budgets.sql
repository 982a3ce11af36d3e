-- name: BudgetInsert :one
INSERT INTO budgets (public_id, key, scope, period, zone, unit, soft, degrade, hard, degrade_to, actor, created_at, updated_at)
VALUES (@public_id, @key, @scope, @period, @zone, @unit, @soft, @degrade, @hard, @degrade_to, @actor, @created_at, @created_at)
RETURNING id;

-- name: BudgetChange :exec
UPDATE budgets SET soft = @soft, degrade = @degrade, hard = @hard, degrade_to = @degrade_to, actor = @actor, rev = rev + 1,
    updated_at = @updated_at
WHERE public_id = @public_id;

-- name: BudgetTouch :exec
UPDATE budgets SET rev = rev + 1, updated_at = @updated_at WHERE id = @id;

-- name: BudgetDelete :exec
DELETE FROM budgets WHERE public_id = @public_id;

-- name: BudgetCount :one
SELECT count(*) FROM budgets;

-- A key takes precedence over an id.
-- name: BudgetNamed :one
SELECT sqlc.embed(budgets), (SELECT count(*) FROM budget_waits AS w WHERE w.budget_id = budgets.id) AS waiting
FROM budgets
WHERE budgets.id = coalesce((SELECT k.id FROM budgets AS k WHERE k.key = @name), (SELECT i.id FROM budgets AS i WHERE i.public_id = @name));

-- name: BudgetList :many
SELECT sqlc.embed(budgets), (SELECT count(*) FROM budget_waits AS w WHERE w.budget_id = budgets.id) AS waiting
FROM budgets ORDER BY budgets.key LIMIT @max;

-- Windows of a budget, newest first.
-- name: BudgetWindows :many
SELECT * FROM budget_windows WHERE budget_id = @budget_id ORDER BY start_at DESC LIMIT @max;

-- name: BudgetWindowGet :one
SELECT * FROM budget_windows WHERE budget_id = @budget_id AND start_at = @start_at;

-- name: BudgetWindowAdd :exec
INSERT INTO budget_windows (budget_id, start_at, end_at, calls, used, estimated)
VALUES (@budget_id, @start_at, @end_at, @calls, @used, @estimated)
ON CONFLICT (budget_id, start_at) DO UPDATE
SET calls = calls + excluded.calls, used = used + excluded.used, estimated = estimated + excluded.estimated;

-- name: BudgetWindowRaise :exec
INSERT INTO budget_windows (budget_id, start_at, end_at, extra) VALUES (@budget_id, @start_at, @end_at, @extra)
ON CONFLICT (budget_id, start_at) DO UPDATE SET extra = extra + excluded.extra;

-- Records when lines were reached. 0 leaves a line as it is.
-- name: BudgetWindowReached :exec
INSERT INTO budget_windows (budget_id, start_at, end_at, soft_at, degrade_at, hard_at)
VALUES (@budget_id, @start_at, @end_at, @soft_at, @degrade_at, @hard_at)
ON CONFLICT (budget_id, start_at) DO UPDATE SET
    soft_at = CASE WHEN soft_at = 0 THEN excluded.soft_at ELSE soft_at END,
    degrade_at = CASE WHEN degrade_at = 0 THEN excluded.degrade_at ELSE degrade_at END,
    hard_at = CASE WHEN hard_at = 0 THEN excluded.hard_at ELSE hard_at END;

-- Reserves an amount for a call. A budget that was deleted is skipped. A call whose reservation is repeated has the newest one.
-- name: BudgetHoldInsert :exec
INSERT INTO budget_holds (call, budget_id, start_at, end_at, amount)
SELECT cast(@call AS text), budgets.id, cast(@start_at AS integer), cast(@end_at AS integer), cast(@amount AS real)
FROM budgets WHERE budgets.public_id = @budget
ON CONFLICT (call, budget_id) DO UPDATE SET start_at = excluded.start_at, end_at = excluded.end_at, amount = excluded.amount;

-- name: BudgetHoldsTake :many
DELETE FROM budget_holds WHERE call = @call RETURNING budget_id, start_at, end_at, amount;

-- Holds of calls in flight, at a start.
-- name: BudgetHoldList :many
SELECT h.call, b.public_id AS budget, h.start_at, h.end_at, h.amount
FROM budget_holds AS h JOIN budgets AS b ON b.id = h.budget_id ORDER BY h.call, b.public_id LIMIT @max;

-- Calls in flight, at a start.
-- name: BudgetCallsInFlight :many
SELECT DISTINCT call FROM budget_holds LIMIT @max;

-- name: BudgetRow :one
SELECT * FROM budgets WHERE id = @id;

-- name: BudgetWaitPut :exec
INSERT INTO budget_waits (run_id, budget_id, since, start_at, end_at, least)
SELECT cast(@run_id AS integer), budgets.id, cast(@since AS integer), cast(@start_at AS integer), cast(@end_at AS integer), cast(@least AS real)
FROM budgets WHERE budgets.public_id = @budget
ON CONFLICT (run_id) DO UPDATE SET budget_id = excluded.budget_id, since = excluded.since, start_at = excluded.start_at,
    end_at = excluded.end_at, least = excluded.least;

-- name: BudgetWaitDelete :exec
DELETE FROM budget_waits WHERE run_id = @run_id;

-- Runs that wait for a budget, oldest first.
-- name: BudgetWaiters :many
SELECT r.public_id AS run, p.key AS plan_key, w.since, w.start_at, w.end_at, w.least
FROM budget_waits AS w JOIN runs AS r ON r.id = w.run_id JOIN plans AS p ON p.id = r.plan_id
WHERE w.budget_id = (SELECT b.id FROM budgets AS b WHERE b.public_id = @budget)
ORDER BY w.run_id LIMIT @max;

-- Windows that are no longer kept: those of hours and of days that ended before a time.
-- name: BudgetWindowPrune :execrows
DELETE FROM budget_windows WHERE (budget_id, start_at) IN (
    SELECT w.budget_id, w.start_at FROM budgets AS b CROSS JOIN budget_windows AS w ON w.budget_id = b.id
    WHERE w.end_at < CASE b.period WHEN 'hour' THEN @hours WHEN 'day' THEN @days ELSE 0 END LIMIT @max);
