-- name: BulkInsert :one
INSERT INTO bulks (public_id, action, query, reason, actor, role, source, canary, rate, labels, not_before, provider, tool, state, total, created_at)
VALUES (@public_id, @action, @query, @reason, @actor, @role, @source, @canary, @rate, @labels, @not_before, @provider, @tool, @state, @total, @created_at)
RETURNING id;

-- name: BulkItemInsert :exec
INSERT INTO bulk_items (bulk_id, position, run, rev, node, code, state) VALUES (@bulk_id, @position, @run, @rev, @node, @code, 'pending');

-- name: BulkGet :one
SELECT * FROM bulks WHERE public_id = @public_id;

-- name: BulkNewest :many
SELECT * FROM bulks WHERE id > 0 ORDER BY id DESC LIMIT @max;

-- name: BulkUnderWay :many
SELECT * FROM bulks WHERE ended_at = 0 ORDER BY id;

-- name: BulkItemList :many
SELECT * FROM bulk_items WHERE bulk_id = (SELECT id FROM bulks WHERE public_id = @bulk) AND position > @after ORDER BY position LIMIT @max;

-- name: BulkItemListIn :many
SELECT * FROM bulk_items INDEXED BY bulk_items_in
WHERE bulk_id = (SELECT id FROM bulks WHERE public_id = @bulk) AND bulk_items.state = @state AND position > @after
ORDER BY position LIMIT @max;

-- name: BulkItemSettle :execrows
UPDATE bulk_items SET state = @state, result = @result, detail = @detail, message = @message, at = @at
WHERE bulk_id = (SELECT id FROM bulks WHERE public_id = @bulk) AND position = @position AND state = 'pending';

-- name: BulkCount :exec
UPDATE bulks SET acted = acted + @acted, refused = refused + @refused WHERE public_id = @public_id;

-- name: BulkMove :execrows
UPDATE bulks SET state = @state, note = @note, ended_at = @ended_at WHERE public_id = @public_id AND ended_at = 0;

-- name: SavedViewPut :exec
INSERT INTO saved_views (owner, name, query, created_at) VALUES (@owner, @name, @query, @created_at)
ON CONFLICT (owner, name) DO UPDATE SET query = excluded.query;

-- name: SavedViewDelete :one
DELETE FROM saved_views WHERE owner = @owner AND name = @name RETURNING query;

-- name: SavedViewList :many
SELECT owner, name, query FROM saved_views WHERE owner IN ('', @owner) ORDER BY owner, name LIMIT 100;
