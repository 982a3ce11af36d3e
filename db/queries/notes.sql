-- name: NoteInsert :one
INSERT INTO run_notes (run_id, actor, text, at) VALUES (@run_id, @actor, @text, @at) RETURNING id;

-- name: NoteCount :one
SELECT count(*) FROM run_notes WHERE run_id = @run_id;

-- The notes of a run, in order.
-- name: NoteList :many
SELECT run_notes.* FROM run_notes JOIN runs ON runs.id = run_notes.run_id
WHERE runs.public_id = @run ORDER BY run_notes.id LIMIT @max;

-- The notes of runs since a time, newest first.
-- name: NoteRecent :many
SELECT run_notes.*, runs.public_id AS run, plans.key
FROM run_notes INDEXED BY run_notes_by_age JOIN runs ON runs.id = run_notes.run_id JOIN plans ON plans.id = runs.plan_id
WHERE run_notes.at >= @since AND runs.deleted_at = 0 ORDER BY run_notes.at DESC LIMIT @max;
