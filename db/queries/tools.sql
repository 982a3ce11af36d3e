-- name: CircuitList :many
SELECT * FROM circuits ORDER BY subject, part;

-- name: CircuitPut :exec
INSERT INTO circuits (subject, part, state, failures_in_row, since, open_until, last_code, last_message, last_text, last_error_at)
VALUES (@subject, @part, @state, @failures_in_row, @since, @open_until, @last_code, @last_message, @last_text, @last_error_at)
ON CONFLICT (subject, part) DO UPDATE SET state = excluded.state, failures_in_row = excluded.failures_in_row, since = excluded.since, open_until = excluded.open_until,
    last_code = excluded.last_code, last_message = excluded.last_message, last_text = excluded.last_text, last_error_at = excluded.last_error_at;

-- name: CircuitDelete :exec
DELETE FROM circuits WHERE subject = @subject AND part = @part;

-- name: ToolPinList :many
SELECT * FROM tool_pins WHERE server = @server ORDER BY tool;

-- name: ToolPinPut :exec
INSERT INTO tool_pins (server, tool, hash, definition) VALUES (@server, @tool, @hash, @definition)
ON CONFLICT (server, tool) DO UPDATE SET hash = excluded.hash, definition = excluded.definition;
