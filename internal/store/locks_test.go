package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/storetest"
)

// locksOn counts the locks on a file.
func locksOn(t *testing.T, path string) (n int, size int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Skipf("this system does not list locks: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino)) {
			n++
		}
	}
	return n, info.Size()
}

// The writer extends SQLite's files itself. Closing a file releases all locks of the process on it.
// SQLite's locks must stay, or another process would open the database.
func TestAllocatingSpaceKeepsTheLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kairos.db")
	s, err := store.Open(context.Background(), path, store.Options{Stay: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if n, _ := locksOn(t, path+"-shm"); n == 0 {
		t.Fatal("SQLite has no lock on its shared memory: this test looks for the wrong thing")
	}
	run := storetest.Run(t, s, storetest.Plan(t, s, twoNodes), "")
	commit(t, s, run.ID, 0, nil, entry("a", "1"))
	for deadline := time.Now().Add(time.Minute); ; {
		n, size := locksOn(t, path+"-shm")
		if n == 0 {
			t.Fatalf("the locks are gone with %d bytes laid out", size)
		}
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() >= 16<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no room was laid out")
		}
		time.Sleep(10 * time.Millisecond) // the writer allocates space while nothing is written
	}
	if n, _ := locksOn(t, path+"-shm"); n == 0 {
		t.Error("the locks are gone")
	}
}
