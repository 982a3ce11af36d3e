-- name: DraftInsert :exec
INSERT INTO drafts (public_id, request, actor, role, source, parent, revision, state, created_at)
VALUES (@public_id, @request, @actor, @role, @source, @parent, @revision, 'planning', @created_at);

-- name: DraftGet :one
SELECT * FROM drafts WHERE public_id = @public_id;

-- name: DraftNewest :many
SELECT * FROM drafts WHERE id > 0 ORDER BY id DESC LIMIT @max;

-- name: DraftOpen :many
SELECT * FROM drafts WHERE state IN ('planning', 'ready', 'failed') ORDER BY id DESC LIMIT @max;

-- name: DraftUnderWay :many
SELECT * FROM drafts WHERE state = 'planning' ORDER BY id;

-- name: DraftByVersion :one
SELECT * FROM drafts WHERE hash = @hash AND hash <> '' ORDER BY id DESC LIMIT 1;

-- name: DraftChildren :many
SELECT * FROM drafts WHERE parent = @parent AND parent <> '' ORDER BY id LIMIT 100;

-- name: DraftBegin :execrows
UPDATE drafts SET begun = begun + 1 WHERE public_id = @public_id AND state = 'planning';

-- name: DraftProgress :execrows
UPDATE drafts SET progress = @progress WHERE public_id = @public_id AND state = 'planning';

-- name: DraftEnd :execrows
UPDATE drafts SET state = @state, outcome = @outcome, hash = @hash, ended_at = @ended_at WHERE public_id = @public_id AND state = 'planning';

-- name: DraftDecide :execrows
UPDATE drafts SET state = @state WHERE public_id = @public_id AND state IN ('planning', 'ready', 'failed') AND state <> @state;

-- name: DraftChoose :exec
UPDATE drafts SET outcome = @outcome, hash = @hash WHERE public_id = @public_id;
