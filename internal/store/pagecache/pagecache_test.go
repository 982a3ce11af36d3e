package pagecache_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/libc"
	_ "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/store/pagecache"
)

// used is how many pages lie in the memory of Install.
func used(t *testing.T) int32 {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	p := libc.Xcalloc(tls, 2, 4)
	defer libc.Xfree(tls, p)
	if rc := lib.Xsqlite3_status(tls, lib.SQLITE_STATUS_PAGECACHE_USED, p, p+4, 0); rc != lib.SQLITE_OK {
		t.Fatalf("SQLite says %d", rc)
	}
	return libc.AtomicLoadPInt32(p)
}

// The pages of a database lie in the memory; a cache that may be larger goes on
// without growing, and everything is read as written.
func TestPagesLieInIt(t *testing.T) {
	if !pagecache.Install() {
		t.Fatal("SQLite did not take it")
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?_pragma=cache_size(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (i INTEGER PRIMARY KEY, s TEXT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("BEGIN"); err != nil {
		t.Fatal(err)
	}
	const rows = 2200
	fill := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if _, err := db.Exec("INSERT INTO t VALUES (?, ?)", i, strings.Repeat("x", 3000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(0, 100)
	if n := used(t); n < 100 {
		t.Errorf("of a hundred pages %d lie in the memory", n)
	}
	fill(100, rows)
	if n := used(t); n < 1400 {
		t.Errorf("of more than 2,000 pages %d lie in the memory", n)
	}
	if _, err := db.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	var n, length int
	if err := db.QueryRow("SELECT count(*), sum(length(s)) FROM t").Scan(&n, &length); err != nil || n != rows || length != rows*3000 {
		t.Errorf("%d rows of %d bytes: %v", n, length, err)
	}
}
