-- name: SettingGet :one
SELECT value FROM settings WHERE key = @key;

-- name: SettingPut :exec
INSERT INTO settings (key, value) VALUES (@key, @value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: SettingDelete :execrows
DELETE FROM settings WHERE key = @key;

-- name: SettingKeep :exec
INSERT INTO settings (key, value) VALUES (@key, @value) ON CONFLICT (key) DO NOTHING;
