package vfstest_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/kairosd/kairosd/internal/store/vfstest"
)

// Replaying the recorded operations without loss yields the files on the disk.
func TestTheRecordingIsComplete(t *testing.T) {
	t.Parallel()
	v := vfstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	pool, err := sql.Open("sqlite", "file:"+path+"?vfs="+v.Name+"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	for _, q := range []string{"CREATE TABLE t (x)", "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 " +
		"FROM n WHERE i < 200) SELECT randomblob(900) FROM n", "PRAGMA wal_checkpoint(TRUNCATE)",
		"DELETE FROM t", "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT " +
			"randomblob(900) FROM n"} {
		if _, err := pool.Exec(q); err != nil {
			t.Fatal(q, err)
		}
	}
	d := vfstest.NewDisk(nil)
	kinds := map[vfstest.Kind]int{}
	for _, op := range v.Recording().Ops {
		d.Do(op)
		kinds[op.Kind]++
	}
	for name, b := range d.Cut(vfstest.Kept, 1) {
		real, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err != nil || !bytes.Equal(real, b) {
			t.Errorf("%s: %d bytes replayed, %d on the disk, %v", name, len(b), len(real), err)
		}
	}
	if kinds[vfstest.Write] < 50 || kinds[vfstest.Sync] < 4 || kinds[vfstest.Truncate] == 0 {
		t.Errorf("recorded %v", kinds)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

func TestFaultsReachSQLite(t *testing.T) {
	t.Parallel()
	v := vfstest.New(t)
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?vfs="+v.Name)
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	defer pool.Close()
	if _, err := pool.Exec("CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	v.FailAt(2, vfstest.Fault{})
	if _, err := pool.Exec("INSERT INTO t VALUES (1)"); err == nil {
		t.Error("an operation failed and nobody was told")
	}
	if n := v.Heal(); n != 1 {
		t.Errorf("%d operations failed, want 1", n)
	}
	if _, err := pool.Exec("INSERT INTO t VALUES (1)"); err != nil {
		t.Error(err)
	}
}
