-- name: SpendAdd :exec
INSERT INTO spend (grain, slot, plan_id, agent, provider, model, calls, input_tokens, output_tokens, cost)
VALUES (@grain, @slot, @plan_id, @agent, @provider, @model, @calls, @input_tokens, @output_tokens, @cost)
ON CONFLICT (grain, slot, plan_id, agent, provider, model) DO UPDATE SET calls = calls + excluded.calls,
input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens, cost = cost + excluded.cost;

-- name: SpendLabelAdd :exec
INSERT INTO spend_labels (grain, slot, key, value, plan_id, agent, provider, model, calls, input_tokens, output_tokens, cost)
VALUES (@grain, @slot, @key, @value, @plan_id, @agent, @provider, @model, @calls, @input_tokens, @output_tokens, @cost)
ON CONFLICT (grain, slot, key, value, plan_id, agent, provider, model) DO UPDATE SET calls = calls + excluded.calls,
input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens, cost = cost + excluded.cost;

-- The slot of the newest row that a list of a number of rows leaves out. No row: it leaves out none.
-- name: SpendCut :one
SELECT slot FROM spend WHERE grain = @grain AND slot >= @since ORDER BY slot DESC LIMIT 1 OFFSET @max;

-- name: SpendLabelCut :one
SELECT slot FROM spend_labels WHERE grain = @grain AND slot >= @since ORDER BY slot DESC LIMIT 1 OFFSET @max;

-- Usage and cost of model calls since a slot, per plan, agent, provider, model, and period of a number of slots.
-- name: SpendList :many
SELECT plans.key, CAST(s.slot / @slots AS INTEGER) AS part, s.agent, s.provider, s.model, CAST(sum(s.calls) AS INTEGER) AS calls,
CAST(sum(s.input_tokens) AS INTEGER) AS input_tokens, CAST(sum(s.output_tokens) AS INTEGER) AS output_tokens, CAST(sum(s.cost) AS REAL) AS cost
FROM spend AS s CROSS JOIN plans ON plans.id = s.plan_id
WHERE s.grain = @grain AND s.slot >= @since
GROUP BY part, s.plan_id, s.agent, s.provider, s.model
LIMIT @max;

-- The same by label. An empty key means every key.
-- name: SpendLabelList :many
SELECT plans.key AS plan_key, CAST(s.slot / @slots AS INTEGER) AS part, s.key, s.value, s.agent, s.provider, s.model,
CAST(sum(s.calls) AS INTEGER) AS calls, CAST(sum(s.input_tokens) AS INTEGER) AS input_tokens,
CAST(sum(s.output_tokens) AS INTEGER) AS output_tokens, CAST(sum(s.cost) AS REAL) AS cost
FROM spend_labels AS s CROSS JOIN plans ON plans.id = s.plan_id
WHERE s.grain = @grain AND s.slot >= @since AND (cast(@name AS text) = '' OR s.key = @name)
GROUP BY part, s.key, s.value, s.plan_id, s.agent, s.provider, s.model
LIMIT @max;

-- Recorded usage from a slot to before another one. An empty plan, agent, or provider means any.
-- name: SpendSeed :one
SELECT CAST(total(s.calls) AS INTEGER) AS calls, CAST(total(s.input_tokens + s.output_tokens) AS REAL) AS tokens,
CAST(total(s.cost) AS REAL) AS cost
FROM spend AS s CROSS JOIN plans ON plans.id = s.plan_id
WHERE s.grain = @grain AND s.slot >= @since AND s.slot < @until AND (cast(@plan AS text) = '' OR plans.key = @plan)
AND (cast(@agent AS text) = '' OR s.agent = @agent) AND (cast(@provider AS text) = '' OR s.provider = @provider);

-- name: SpendLabelSeed :one
SELECT CAST(total(s.calls) AS INTEGER) AS calls, CAST(total(s.input_tokens + s.output_tokens) AS REAL) AS tokens,
CAST(total(s.cost) AS REAL) AS cost
FROM spend_labels AS s WHERE s.grain = @grain AND s.slot >= @since AND s.slot < @until AND s.key = @key AND s.value = @value;

-- name: SpendPrune :execrows
DELETE FROM spend WHERE (grain, slot, plan_id, agent, provider, model) IN (
    SELECT s.grain, s.slot, s.plan_id, s.agent, s.provider, s.model FROM spend AS s WHERE s.grain = @grain AND s.slot < @before LIMIT @max);

-- name: SpendLabelPrune :execrows
DELETE FROM spend_labels WHERE (grain, slot, key, value, plan_id, agent, provider, model) IN (
    SELECT s.grain, s.slot, s.key, s.value, s.plan_id, s.agent, s.provider, s.model
    FROM spend_labels AS s WHERE s.grain = @grain AND s.slot < @before LIMIT @max);

-- name: LabelsOfRun :many
SELECT key, value FROM run_labels WHERE run_id = @run_id;
