-- name: UserInsert :exec
INSERT INTO users (id, name, role, password_hash, disabled, created_at, last_seen_at, settings, issuer, subject, seal)
VALUES (@id, @name, @role, @password_hash, @disabled, @created_at, @last_seen_at, @settings, @issuer, @subject, @seal);

-- name: UserGet :one
SELECT * FROM users WHERE id = @id_or_name OR name = @id_or_name;

-- name: UserByIdentity :one
SELECT * FROM users WHERE issuer = @issuer AND subject = @subject AND subject <> '';

-- name: UserList :many
SELECT * FROM users ORDER BY name;

-- name: UserUpdate :execrows
UPDATE users SET role = @role, password_hash = @password_hash, disabled = @disabled, last_seen_at = @last_seen_at, settings = @settings,
    issuer = @issuer, subject = @subject, seal = @seal WHERE id = @id;

-- name: UserSeals :many
SELECT id, seal FROM users ORDER BY id;

-- name: UserCount :one
SELECT count(*) FROM users;

-- name: SessionInsert :exec
INSERT INTO sessions (id_hash, user_id, created_at, seen_at, expires_at, address, agent, seal)
VALUES (@id_hash, @user_id, @created_at, @seen_at, @expires_at, @address, @agent, @seal);

-- name: SessionGet :one
SELECT * FROM sessions WHERE id_hash = @id_hash;

-- name: SessionList :many
SELECT * FROM sessions WHERE user_id = @user_id ORDER BY created_at DESC;

-- name: SessionsAll :many
SELECT * FROM sessions;

-- name: SessionTouch :exec
UPDATE sessions SET seen_at = max(seen_at, cast(@seen_at AS integer)) WHERE id_hash = @id_hash;

-- name: SessionDelete :exec
DELETE FROM sessions WHERE id_hash = @id_hash;

-- name: SessionDeleteOfUser :exec
DELETE FROM sessions WHERE user_id = @user_id AND id_hash <> @keep;

-- name: SessionDeleteExpired :exec
DELETE FROM sessions WHERE expires_at <= @now OR seen_at <= @idle;

-- name: TokenInsert :exec
INSERT INTO tokens (id, name, prefix, secret_hash, role, scopes, created_by, created_at, expires_at, last_used_at, last_used_from, revoked_at, seal)
VALUES (@id, @name, @prefix, @secret_hash, @role, @scopes, @created_by, @created_at, @expires_at, 0, '', 0, @seal);

-- name: TokenByHash :one
SELECT * FROM tokens WHERE secret_hash = @secret_hash;

-- name: TokenByID :one
SELECT * FROM tokens WHERE id = @id;

-- name: TokenList :many
SELECT * FROM tokens ORDER BY created_at DESC, id DESC;

-- name: TokenRevoke :exec
UPDATE tokens SET revoked_at = @revoked_at, seal = @seal WHERE id = @id;

-- name: TokenSeals :many
SELECT id, seal FROM tokens ORDER BY id;

-- name: TokenDelete :exec
DELETE FROM tokens WHERE id = @id;

-- name: TokenTouch :exec
UPDATE tokens SET last_used_at = cast(@used_at AS integer), last_used_from = @used_from WHERE id = @id AND last_used_at <= cast(@used_at AS integer);

-- name: SecondFactorGet :one
SELECT sealed FROM second_factors WHERE user_id = @user_id;

-- name: SecondFactorPut :exec
INSERT INTO second_factors (user_id, sealed) VALUES (@user_id, @sealed)
ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed;

-- name: SecondFactorDelete :exec
DELETE FROM second_factors WHERE user_id = @user_id;

-- name: SecondFactors :many
SELECT * FROM second_factors ORDER BY user_id;
