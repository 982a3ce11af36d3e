package filelayer_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/store/filelayer"
	"github.com/kairosd/kairosd/internal/store/vfstest"
)

func open(t *testing.T, path, more string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"+more)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// A reader that uses SQLite's own files sees every commit of the layer immediately. Commits include
// transactions that exceed the cache, are rolled back, or are not synced.
func TestAReaderNextToTheLayer(t *testing.T) {
	t.Parallel()
	if err := filelayer.Register(); err != nil {
		t.Fatal(err)
	}
	for _, synchronous := range []string{"OFF", "NORMAL", "FULL", "EXTRA"} {
		t.Run(synchronous, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			w := open(
				t,
				path,
				"&vfs="+filelayer.Name+"&_pragma=journal_mode(WAL)&_pragma=cache_size(5)&_pragma=synchronous("+synchronous+")",
			)
			exec := func(text string) {
				t.Helper()
				if _, err := w.Exec(text); err != nil {
					t.Fatal(err)
				}
			}
			exec("CREATE TABLE t (x)")
			r := open(t, path, "")
			seen := func(want int) {
				t.Helper()
				var n int
				var ok string
				if err := r.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != want {
					t.Fatalf("%d rows, want %d: %v", n, want, err)
				}
				if err := r.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
					t.Fatalf("integrity: %s, %v", ok, err)
				}
			}
			const many = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) " +
				"SELECT randomblob(900) FROM n"
			for i := range 4 {
				exec("INSERT INTO t VALUES (1)")
				seen(401*i + 1)
				exec(many)
				seen(401 * (i + 1))
				exec("BEGIN; " + many + "; SAVEPOINT s; " + many + "; ROLLBACK TO s; ROLLBACK")
				seen(401 * (i + 1))
				if i == 2 {
					exec("PRAGMA wal_checkpoint(TRUNCATE)")
				}
			}
			exec("DELETE FROM t")
			seen(0)
		})
	}
}

// The disk is full for one operation. SQLite gets the error before it reports a commit, and
// committed data is complete.
func TestAFailedWriteEndsItsTransaction(t *testing.T) {
	t.Parallel()
	const many = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) SELECT randomblob(900) FROM n"
	refused := 0
	for n, more := 1, true; more; n++ {
		path := filepath.Join(t.TempDir(), "x.db")
		v := vfstest.New(t)
		w := open(t, path, "&vfs="+v.Name+"&_pragma=journal_mode(WAL)&_pragma=cache_size(5)&_pragma=synchronous(FULL)")
		if _, err := w.Exec("CREATE TABLE t (x NOT NULL CHECK (length(x) > 0))"); err != nil {
			t.Fatal(err)
		}
		conn, err := w.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exec := func(text string) error { _, err := conn.ExecContext(t.Context(), text); return err }
		if err := errors.Join(exec("BEGIN"), exec(many)); err != nil {
			t.Fatal(err)
		}
		v.FailAt(n, vfstest.Fault{Code: sqlite3.SQLITE_FULL})
		insert := exec(many)
		commit := exec("COMMIT")
		more = v.Heal() > 0
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		want := 800
		if commit != nil {
			want = 0
			refused++
		} else if insert != nil {
			want = 400
		}
		var ok string
		var rows int
		r := open(t, path, "")
		if err := r.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
			t.Fatalf("operation %d (insert: %v, commit: %v): integrity: %s, %v", n, insert, commit, ok, err)
		}
		if err := r.QueryRow("SELECT count(*) FROM t").Scan(&rows); err != nil || rows != want {
			t.Fatalf("operation %d (insert: %v, commit: %v): %d rows, want %d, %v", n, insert, commit, rows, want, err)
		}
	}
	if refused < 3 {
		t.Errorf("%d transactions met the full disk", refused)
	}
}
