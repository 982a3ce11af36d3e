package statement_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/store/statement"
)

func open(t *testing.T, path string) *statement.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var c *statement.Conn
	if err := conn.Raw(func(dc any) (err error) { c, err = statement.Of(dc); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := errors.Join(conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func prepare(t *testing.T, c *statement.Conn, text string) *statement.Stmt {
	t.Helper()
	s, err := c.Prepare(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func do(t *testing.T, c *statement.Conn, text string) {
	t.Helper()
	s, err := c.Prepare(text)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Exec(); err != nil {
		t.Fatal(err)
	}
}

// The stored values equal the arguments, also null, empty, and very large ones, in repeated
// executions.
func TestArgumentsAreUnchanged(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "a.db"))
	do(t, c, "CREATE TABLE t (i INTEGER, f REAL, s TEXT, b BLOB, n TEXT) STRICT")
	insert := prepare(t, c, "INSERT INTO t VALUES (?, ?, ?, ?, ?)")
	read := prepare(t, c, "SELECT i, quote(f), s, quote(b), quote(n), typeof(s), length(s) FROM t WHERE i = ?")
	long := strings.Repeat("x\x00ñ", 50_000)
	for i, text := range []string{"", "a", long, "b", long + long, "c"} {
		insert.Int(int64(i))
		insert.Float(0.5)
		insert.Text(text)
		if i%2 == 0 {
			insert.BlobOrNull([]byte{1, 0, 255})
			insert.TextOrNull(nil)
		} else {
			insert.BlobOrNull(nil)
			insert.TextOrNull(&text)
		}
		if err := insert.Exec(); err != nil {
			t.Fatal(err)
		}
		if c.Changes() != 1 || c.LastID() != int64(i)+1 {
			t.Errorf("row %d: %d changed, the last is %d", i, c.Changes(), c.LastID())
		}
		read.Int(int64(i))
		if found, err := read.Next(); !found || err != nil {
			t.Fatalf("row %d is not found: %v", i, err)
		}
		if got := read.ColumnText(2); got != text {
			t.Errorf("row %d has a text of %d bytes, want %d", i, len(got), len(text))
		}
		if read.ColumnInt(0) != int64(i) || read.ColumnText(1) != "0.5" || read.ColumnText(5) != "text" {
			t.Errorf("row %d is %d %s %s", i, read.ColumnInt(0), read.ColumnText(1), read.ColumnText(5))
		}
		if blob, null := read.ColumnText(3), read.ColumnText(4) == "NULL"; i%2 == 0 && (blob != "X'0100FF'" || !null) ||
			i%2 == 1 && (blob != "NULL" || null) {
			t.Errorf("row %d has the blob %s, and nothing is %v", i, blob, null)
		}
		read.Done()
	}
}

// A failed statement can be used with other arguments, and its error has SQLite's message.
func TestAFailureLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "a.db"))
	do(t, c, "CREATE TABLE t (i INTEGER PRIMARY KEY, s TEXT NOT NULL) STRICT")
	insert := prepare(t, c, "INSERT INTO t VALUES (?, ?)")
	give := func(i int64, s *string) error {
		insert.Int(i)
		insert.TextOrNull(s)
		return insert.Exec()
	}
	word := "word"
	for range 3 {
		err := give(1, nil)
		said, ok := errors.AsType[*statement.Error](err)
		if !ok || said.Code() != lib.SQLITE_CONSTRAINT_NOTNULL || !strings.Contains(said.Error(), "NOT NULL constraint failed: t.s") {
			t.Fatalf("a row without text: %v", err)
		}
	}
	insert.Int(1)
	if err := insert.Exec(); err == nil || !strings.Contains(err.Error(), "1 arguments for 2 parameters") {
		t.Errorf("one argument is missing: %v", err)
	}
	for range 3 {
		insert.Int(1)
	}
	if err := insert.Exec(); err == nil {
		t.Error("one argument too many was taken")
	}
	if err := give(1, &word); err != nil {
		t.Errorf("after the failures: %v", err)
	}
	for _, text := range []string{"", "SELECT 1; SELECT 2", "SELEC 1"} {
		if s, err := c.Prepare(text); err == nil {
			s.Close()
			t.Errorf("%q was prepared", text)
		}
	}
}

// The version changes if another connection has written.
func TestVersionDetectsOtherWriters(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	one, two := open(t, path), open(t, path)
	do(t, one, "CREATE TABLE t (i INTEGER) STRICT")
	version := func() int64 {
		t.Helper()
		v, err := one.Version()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	write := func(c *statement.Conn) {
		do(t, c, "BEGIN IMMEDIATE")
		do(t, c, "INSERT INTO t VALUES (1)")
		do(t, c, "COMMIT")
	}
	write(one)
	own := version()
	do(t, one, "BEGIN IMMEDIATE")
	if version() != own {
		t.Error("it changed, though nobody else has written")
	}
	do(t, one, "COMMIT")
	write(one)
	if version() == own {
		t.Error("it is the same after a commit")
	}
	own = version()
	write(two)
	do(t, one, "BEGIN IMMEDIATE")
	if version() == own {
		t.Error("it is the same, though somebody else has written")
	}
	do(t, one, "COMMIT")
	if n, err := one.Written(); err != nil || n == 0 {
		t.Errorf("%d pages written: %v", n, err)
	}
	if n, err := one.Written(); err != nil || n != 0 {
		t.Errorf("%d pages written since: %v", n, err)
	}
}

func TestOnlyTheDriversConnections(t *testing.T) {
	t.Parallel()
	for _, other := range []any{nil, 1, "x", new(int), &struct{ db uintptr }{}, &struct{ db, tls uintptr }{}} {
		if _, err := statement.Of(other); err == nil {
			t.Errorf("%T was taken for one", other)
		}
	}
}
