package tool

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	"modernc.org/sqlite"
)

// sqlTool is the tool sql_query. It opens a database for each call, read-only, and prohibits
// attaching another file.
type sqlTool struct {
	config SQLConfig
	guard  *Guard
}

// MaxDuration returns the timeout of a call.
func (t *sqlTool) MaxDuration() time.Duration { return t.config.Timeout }

func newSQL(c SQLConfig, guard *Guard) (llm.Tool, error) {
	c.Databases = maps.Clone(c.Databases)
	for name, path := range c.Databases {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("tools.sql.databases.%s: %w", name, err)
		}
		c.Databases[name] = abs
	}
	t := &sqlTool{c, guard}
	return &function{
		spec: llm.ToolSpec{
			Name: "sql_query", Private: true,
			Description: "Reads from a configured SQLite database with one SELECT. Gives {columns, rows, truncated}: rows are objects, " +
				"truncated is true if there were more rows than the limit.",
			Effect: walk.EffectRead,
			Schema: object(map[string]any{
				"database": property("string", "name of a configured database", "minLength", 1),
				"query": property(
					"string",
					"one SELECT, VALUES or WITH … SELECT, with ? for parameters",
					"minLength",
					1,
					"maxLength",
					64<<10,
				),
				"params": property(
					"array",
					"values of the parameters in order",
					"items",
					map[string]any{"type": []any{"string", "number", "boolean", "null"}},
					"maxItems",
					1000,
				),
				"limit": property(
					"integer",
					fmt.Sprintf("rows to give; default and most %d", c.MaxRows),
					"minimum",
					1,
					"maximum",
					c.MaxRows,
				),
			}, "database", "query"),
		},
		call: t.query,
	}, nil
}

// SQLite's limits for the bytes of a value or row, and for attached databases. A function such as
// replace or zeroblob cannot be interrupted, so its result is limited to the maximum size.
const (
	limitLength   = 0
	limitAttached = 7
)

func (t *sqlTool) query(ctx context.Context, args arguments, _ llm.ToolCall) (any, error) {
	name := args.text("database")
	path, ok := t.config.Databases[name]
	if !ok {
		f := refused(CodeNotFound, "database %s not found", clip(name))
		if len(t.config.Databases) == 0 {
			return nil, suggest(f, "list databases under tools.sql.databases in the configuration")
		}
		return nil, suggest(f, "configured: %s", strings.Join(slices.Sorted(maps.Keys(t.config.Databases)), ", "))
	}
	// Check before opening, because closing kairosd's own database would release its locks.
	if t.guard.protects(path) {
		return nil, refused(CodeBlocked, "the database %s belongs to kairosd", clip(name))
	}
	if err := onlyReads(args.text("query")); err != nil {
		return nil, err
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, t.config.Timeout)
	defer cancel()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(),
		RawQuery: "mode=ro&_query_only=1&_busy_timeout=2000&_defensive=1"}).String())
	if err != nil {
		return nil, refused(CodeUnreachable, "database %s: %s", clip(name), err)
	}
	defer db.Close()
	out, err := t.read(ctx, db, args)
	switch {
	case err == nil:
		return out, nil
	case parent.Err() != nil:
		return nil, parent.Err()
	case ctx.Err() != nil:
		return nil, (&walk.Failure{
			Code:       walk.CodeTimeout,
			NoEffect:   true,
			Suggestion: "narrow it, or add an index",
		}).WithMessage("the query ran longer than %s", t.config.Timeout)
	}
	if f, ok := errors.AsType[*walk.Failure](err); ok {
		return nil, f
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == 18 { // SQLITE_TOOBIG
		return nil, tooLargeResult()
	}
	f := refused("sql", "database %s: %s", clip(name), err)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && (e.Code()&0xff == 5 || e.Code()&0xff == 6) {
		f.Permanent = false // busy or locked
	}
	return nil, f.WithCause(err)
}

func (t *sqlTool) read(ctx context.Context, db *sql.DB, args arguments) (any, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, limitAttached, 0); err != nil {
		return nil, err
	}
	if _, err := sqlite.Limit(conn, limitLength, maxSQLBytes); err != nil {
		return nil, err
	}
	params, _ := args["params"].([]any)
	bound := make([]any, len(params))
	for i, p := range params {
		bound[i] = p
		if n, ok := p.(json.Number); ok {
			if whole, err := n.Int64(); err == nil {
				bound[i] = whole
			} else if f, err := n.Float64(); err == nil {
				bound[i] = f
			} else {
				return nil, invalid("params.%d is too large a number", i)
			}
		}
	}
	rows, err := conn.QueryContext(ctx, args.text("query"), bound...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	names := make([]any, len(columns))
	for i, c := range columns {
		if slices.Contains(columns[:i], c) {
			return nil, suggest(invalid("two columns are named %s", clip(c)), "name one of them with AS")
		}
		names[i] = c
	}
	limit, size := args.number("limit", t.config.MaxRows), 0
	list := []any{}
	truncated := false
	for rows.Next() {
		if len(list) == limit {
			truncated = true
			break
		}
		cells, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range cells {
			targets[i] = &cells[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := make(map[string]any, len(columns))
		for i, c := range columns {
			v, n := sqlValue(cells[i])
			row[c] = v
			size += n + len(c)
		}
		if size > maxSQLBytes {
			return nil, tooLargeResult()
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return map[string]any{"columns": names, "rows": list, "truncated": truncated}, nil
}

func tooLargeResult() error {
	return suggest(refused(CodeTooLarge, "the result has more than %d MiB", maxSQLBytes>>20), "select fewer columns, or set a limit")
}

// sqlValue returns a cell as JSON, and its approximate size. Blobs are text if they are UTF-8, and
// base64 otherwise. Floats that JSON cannot represent are null.
func sqlValue(v any) (any, int) {
	switch v := v.(type) {
	case []byte:
		if utf8.Valid(v) {
			return string(v), len(v)
		}
		return base64.StdEncoding.EncodeToString(v), 2 * len(v)
	case string:
		return strings.ToValidUTF8(v, "�"), len(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), 32
	case float64:
		if n, err := jsonvalue.Normalize(v); err == nil {
			return n, 8
		}
		return nil, 8
	}
	return v, 8
}

// onlyReads rejects statements that are not queries, and more than one statement. The file is also
// opened read-only. This check gives a clearer error, and rejects VACUUM INTO and PRAGMA.
func onlyReads(query string) error {
	first, several := statement(query)
	switch {
	case several:
		return invalid("only one statement is allowed")
	case !slices.Contains([]string{"SELECT", "WITH", "VALUES", "EXPLAIN"}, first):
		return suggest(refused(CodeBlocked, "only SELECT is allowed"), "the database is opened for reading")
	}
	return nil
}

// statement returns the first word of a statement, and whether another statement follows it.
func statement(query string) (first string, several bool) {
	ended := false
	for i := 0; i < len(query); {
		rest := query[i:]
		switch c := query[i]; {
		case strings.HasPrefix(rest, "--"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				return first, false
			}
			i += n
			continue
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return first, false
			}
			i += n + 4
			continue
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			i++
			continue
		case c == ';':
			ended = true
			i++
			continue
		case ended:
			return first, true
		case strings.IndexByte("'\"`[", c) >= 0:
			end := c
			if c == '[' {
				end = ']'
			}
			n := strings.IndexByte(rest[1:], end)
			if n < 0 {
				return first, false
			}
			i += n + 2
		default:
			n := 1
			for n < len(rest) && ('a' <= rest[n]|0x20 && rest[n]|0x20 <= 'z' || rest[n] == '_') {
				n++
			}
			if first == "" {
				first = strings.ToUpper(rest[:n])
			}
			i += n
			continue
		}
		if first == "" {
			first = "'"
		}
	}
	return first, false
}
