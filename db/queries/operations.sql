-- name: OperationGet :one
SELECT digest, object FROM operations WHERE principal = @principal AND operation = @operation AND key = @key;

-- name: OperationInsert :exec
INSERT INTO operations (principal, operation, key, digest, object, created_at)
VALUES (@principal, @operation, @key, @digest, @object, @created_at)
ON CONFLICT DO NOTHING;

-- name: OperationsDeleteBefore :exec
DELETE FROM operations WHERE created_at < @before;
