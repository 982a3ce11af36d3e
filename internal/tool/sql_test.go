package tool_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/walk"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "sales 100% #1?.db")
	plain := filepath.Join(dir, "sales.db")
	db, err := sql.Open("sqlite", plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE sale (id INTEGER PRIMARY KEY, region TEXT, net REAL, raw BLOB);
		INSERT INTO sale VALUES (1, 'EMEA', 170000, x'ff00'), (2, 'NA', 190000.5, NULL), (3, 'EMEA', 98000, 'text'), (9223372036854775807, 'APAC', 1e999, NULL)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(plain, path); err != nil { // a name that must be escaped in a URL
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sales := tool.SQLConfig{Databases: map[string]string{"sales": path}, MaxRows: 3, Timeout: 5 * time.Minute}
	set := builtin(t, tool.Config{SQL: sales}, nil)
	for args, want := range map[string]string{
		`"query": "SELECT region, sum(net) AS total FROM sale WHERE id < 4 GROUP BY region ORDER BY region"`: `{"columns":["region","total"],"rows":[{"region":"EMEA","total":268000},{"region":"NA","total":190000.5}],"truncated":false}`,
		`"query": "SELECT id, raw FROM sale WHERE region = ? ORDER BY id", "params": ["EMEA"]`:               `{"columns":["id","raw"],"rows":[{"id":1,"raw":"/wA="},{"id":3,"raw":"text"}],"truncated":false}`,
		`"query": "SELECT id, net FROM sale WHERE id = ?", "params": [9223372036854775807]`:                  `{"columns":["id","net"],"rows":[{"id":9223372036854775807,"net":null}],"truncated":false}`,
		`"query": "-- first\n/* then */ WITH x(a) AS (VALUES (1), (2), (3), (4)) SELECT a FROM x;"`:          `{"columns":["a"],"rows":[{"a":1},{"a":2},{"a":3}],"truncated":true}`,
		`"query": "SELECT ';' AS a", "limit": 1`:                                                             `{"columns":["a"],"rows":[{"a":";"}],"truncated":false}`,
		`"query": "SELECT id FROM sale WHERE 0"`:                                                             `{"columns":["id"],"rows":[],"truncated":false}`,
	} {
		got, f := call(t, set, "sql_query", `{"database": "sales", `+args+`}`)
		if f != nil || got != want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", args, got, f, want)
		}
	}
	other := filepath.Join(dir, "other.db")
	for query, want := range map[string]string{
		"DELETE FROM sale": "only SELECT", "INSERT INTO sale (id) VALUES (7)": "only SELECT",
		"ATTACH '" + other + "' AS o": "only SELECT", "VACUUM INTO '" + other + "'": "only SELECT",
		"PRAGMA query_only = 0": "only SELECT", "": "query", ";": "only SELECT", "/* SELECT": "only SELECT",
		"SELECT 1; DELETE FROM sale": "one statement", "SELECT 1; ATTACH '" + other + "' AS o": "one statement",
		"WITH x AS (SELECT 1) DELETE FROM sale": "database \"sales\"", "SELECT load_extension('/lib/x.so')": "database \"sales\"",
		"SELECT nobody FROM sale": "no such column", "SELECT": "database \"sales\"",
		"SELECT 1 AS a, 2 AS a": "two columns", "SELECT writefile('" + other + "', 'x')": "no such function",
	} {
		refuses(t, set, "sql_query", `{"database": "sales", "query": `+quote(query)+`}`, want)
	}
	refuses(t, set, "sql_query", `{"database": "nobody", "query": "SELECT 1"}`, "not found")
	refuses(t, set, "sql_query", `{"database": "sales", "query": "SELECT zeroblob(5000000) AS a"}`, "more than 4 MiB")
	// Functions cannot be interrupted, so their results are limited to the maximum size.
	for _, query := range []string{"SELECT length(zeroblob(900000000)) AS a",
		"SELECT length(replace(hex(zeroblob(1000000)), '0', '0123456789')) AS a",
		"SELECT length(printf('%900000000d', 1)) AS a"} {
		refuses(t, set, "sql_query", `{"database": "sales", "query": `+quote(query)+`}`, "more than 4 MiB")
	}
	sales.Timeout = 100 * time.Millisecond
	_, f := call(
		t,
		builtin(t, tool.Config{SQL: sales}, nil),
		"sql_query",
		`{"database": "sales", "query": "WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x) SELECT count(*) AS n FROM x"}`,
	)
	if f == nil || f.Code != walk.CodeTimeout || !f.NoEffect {
		t.Errorf("an endless query: %+v", f)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(before) != string(after) {
		t.Errorf("the database was changed: %v", err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("another file was made")
	}
}

func TestSQLOfAnInvalidFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "text"), "this is no database, but it is long enough to be looked at as one")
	set := builtin(
		t,
		tool.Config{
			SQL: tool.SQLConfig{Databases: map[string]string{"text": filepath.Join(dir, "text"), "none": filepath.Join(dir, "none")}},
		},
		nil,
	)
	refuses(t, set, "sql_query", `{"database": "text", "query": "SELECT * FROM sqlite_schema"}`, "not a database")
	refuses(t, set, "sql_query", `{"database": "none", "query": "SELECT 1"}`, "unable to open")
}
