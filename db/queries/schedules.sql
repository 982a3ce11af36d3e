-- name: ScheduleInsert :one
INSERT INTO schedules (public_id, key, plan_id, version, cron, zone, jitter, input, profile, labels, overlap, catch_up, next_at, due_at, actor, declared, created_at, updated_at)
VALUES (@public_id, @key, @plan_id, @version, @cron, @zone, @jitter, @input, @profile, @labels, @overlap, @catch_up, @next_at, @due_at, @actor, @declared, @created_at, @created_at)
RETURNING id;

-- name: ScheduleChange :exec
UPDATE schedules
SET plan_id = @plan_id, version = @version, cron = @cron, zone = @zone, jitter = @jitter, input = @input, profile = @profile, labels = @labels, overlap = @overlap,
    catch_up = @catch_up, next_at = @next_at, due_at = @due_at, actor = @actor, rev = rev + 1, updated_at = @updated_at
WHERE id = @id;

-- name: SchedulePause :exec
UPDATE schedules
SET paused_at = @paused_at, paused_by = @paused_by, paused_reason = @paused_reason, next_at = @next_at, due_at = @due_at, rev = rev + 1,
    updated_at = @updated_at
WHERE id = @id;

-- name: ScheduleDelete :exec
DELETE FROM schedules WHERE id = @id;

-- The schedule that a plan declares.
-- name: ScheduleDeclared :one
SELECT public_id FROM schedules WHERE plan_id = @plan_id AND declared <> 0;

-- A key takes precedence over an id.
-- name: ScheduleNamed :one
SELECT sqlc.embed(schedules), plans.public_id AS plan_public_id, plans.key AS plan_key,
       cast(plans.paused_at <> 0 OR plans.archived_at <> 0 AS integer) AS plan_stopped
FROM schedules JOIN plans ON plans.id = schedules.plan_id
WHERE schedules.id = coalesce((SELECT k.id FROM schedules AS k WHERE k.key = @name), (SELECT i.id FROM schedules AS i WHERE i.public_id = @name));

-- By key, from a position on.
-- name: ScheduleList :many
SELECT sqlc.embed(schedules), plans.public_id AS plan_public_id, plans.key AS plan_key,
       cast(plans.paused_at <> 0 OR plans.archived_at <> 0 AS integer) AS plan_stopped
FROM schedules JOIN plans ON plans.id = schedules.plan_id
WHERE schedules.key > @after AND instr(lower(schedules.key), lower(cast(@text AS text))) > 0
  AND (cast(@plan AS text) = '' OR plans.key = @plan OR plans.public_id = @plan)
  AND CASE cast(@state AS text)
        WHEN 'active' THEN schedules.paused_at = 0 AND plans.paused_at = 0 AND plans.archived_at = 0
        WHEN 'paused' THEN schedules.paused_at <> 0 OR plans.paused_at <> 0 OR plans.archived_at <> 0
        WHEN 'missed' THEN EXISTS (SELECT 1 FROM missed_slots AS m WHERE m.schedule_id = schedules.id AND m.decision = '')
        ELSE true END
ORDER BY schedules.key
LIMIT @max;

-- Active schedules whose next slot is due, the longest first.
-- name: ScheduleDue :many
SELECT sqlc.embed(schedules), plans.public_id AS plan_public_id, plans.key AS plan_key
FROM schedules JOIN plans ON plans.id = schedules.plan_id
WHERE schedules.due_at <> 0 AND schedules.paused_at = 0 AND schedules.due_at <= @until AND plans.paused_at = 0 AND plans.archived_at = 0
ORDER BY schedules.due_at
LIMIT @max;

-- name: ScheduleNextDue :one
SELECT cast(coalesce(min(due_at), 0) AS integer) AS due_at FROM schedules WHERE due_at <> 0 AND paused_at = 0 AND due_at > @now;

-- name: ScheduleAll :many
SELECT public_id, cron, zone, jitter, next_at FROM schedules WHERE paused_at = 0 ORDER BY id;

-- Moves to the next slot, unless another writer was first.
-- name: ScheduleMove :execrows
UPDATE schedules SET next_at = @next_at, due_at = @due_at WHERE id = @id AND next_at = @before;

-- Reserves a slot before its run is created.
-- name: ScheduleClaim :one
SELECT s.id, s.key, s.next_at, s.paused_at, p.paused_at AS plan_paused_at, p.archived_at AS plan_archived_at
FROM schedules AS s JOIN plans AS p ON p.id = s.plan_id
WHERE s.public_id = @public_id;

-- name: SlotGet :one
SELECT s.state, s.run_id, cast(coalesce(r.public_id, '') AS text) AS run
FROM schedule_slots AS s LEFT JOIN runs AS r ON r.id = s.run_id WHERE s.schedule_id = @schedule_id AND s.slot = @slot;

-- A slot that started no run can start one later.
-- name: SlotPut :execrows
INSERT INTO schedule_slots (schedule_id, slot, state, run_id, reason, at) VALUES (@schedule_id, @slot, @state, @run_id, @reason, @at)
ON CONFLICT (schedule_id, slot) DO UPDATE SET state = excluded.state, run_id = excluded.run_id, reason = excluded.reason, at = excluded.at
WHERE schedule_slots.run_id = 0;

-- Newest first.
-- name: SlotList :many
SELECT s.slot, s.state, s.reason, s.at, cast(coalesce(r.public_id, '') AS text) AS run, cast(coalesce(r.status, '') AS text) AS run_status
FROM schedule_slots AS s LEFT JOIN runs AS r ON r.id = s.run_id
WHERE s.schedule_id = (SELECT x.id FROM schedules AS x WHERE x.public_id = @schedule) AND s.slot < @before
ORDER BY s.slot DESC
LIMIT @max;

-- name: SlotsStarted :many
SELECT slot FROM schedule_slots
WHERE schedule_id = (SELECT x.id FROM schedules AS x WHERE x.public_id = @schedule) AND slot >= @low AND slot <= @high AND run_id <> 0
ORDER BY slot;

-- name: MissedInsert :exec
INSERT INTO missed_slots (public_id, schedule_id, first_slot, last_slot, slots, more, decision, decided_by, decided_at, created_at)
VALUES (@public_id, @schedule_id, @first_slot, @last_slot, @slots, @more, @decision, @decided_by, @decided_at, @created_at);

-- name: MissedOpen :one
SELECT * FROM missed_slots WHERE schedule_id = @schedule_id AND decision = '';

-- name: MissedExtend :exec
UPDATE missed_slots SET last_slot = @last_slot, slots = @slots, more = @more WHERE id = @id;

-- name: MissedDecide :exec
UPDATE missed_slots SET decision = @decision, decided_by = @decided_by, decided_at = @decided_at WHERE id = @id AND decision = '';

-- name: MissedList :many
SELECT * FROM missed_slots WHERE schedule_id = (SELECT x.id FROM schedules AS x WHERE x.public_id = @schedule) ORDER BY id DESC LIMIT @max;

-- Entries that wait for a decision, newest first.
