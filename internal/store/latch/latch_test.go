//go:build linux

package latch

import (
	"sync"
	"testing"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

func thread(t *testing.T) *libc.TLS {
	tls := libc.NewTLS()
	t.Cleanup(tls.Close)
	return tls
}

func TestSQLiteHasThem(t *testing.T) {
	t.Parallel()
	if !Install() {
		t.Error("SQLite has other mutexes")
	}
}

// A holder may take its mutex again and must leave it as often; nobody else gets
// it before.
func TestAMutexIsItsHoldersAlone(t *testing.T) {
	t.Parallel()
	a, b := thread(t), thread(t)
	for _, kind := range []int32{lib.SQLITE_MUTEX_RECURSIVE, lib.SQLITE_MUTEX_STATIC_VFS2} {
		m := alloc(a, kind)
		enter(a, m)
		enter(a, m)
		if try(a, m) != lib.SQLITE_OK {
			t.Error("its holder does not get it again")
		}
		for range 3 {
			if try(b, m) != lib.SQLITE_BUSY {
				t.Error("somebody else gets it")
			}
			leave(a, m)
		}
		if try(b, m) != lib.SQLITE_OK {
			t.Error("nobody gets it after its holder left")
		}
		leave(b, m)
	}
	if alloc(a, lib.SQLITE_MUTEX_STATIC_VFS2) != alloc(b, lib.SQLITE_MUTEX_STATIC_VFS2) {
		t.Error("a mutex that exists once exists twice")
	}
	if alloc(a, int32(len(fixed))) != 0 {
		t.Error("an unknown kind gives a mutex")
	}
}

func TestTwoAtATimeAreNeverInside(t *testing.T) {
	t.Parallel()
	// One of those that exist once: the race detector follows only what lies in Go's memory.
	m := alloc(thread(t), lib.SQLITE_MUTEX_STATIC_APP1)
	inside, sum := 0, 0
	var all sync.WaitGroup
	for range 8 {
		tls := thread(t)
		all.Go(func() {
			for range 2000 {
				enter(tls, m)
				enter(tls, m)
				if inside++; inside != 1 {
					t.Error("another is inside")
				}
				sum++
				inside--
				leave(tls, m)
				leave(tls, m)
			}
		})
	}
	all.Wait()
	if sum != 16000 {
		t.Errorf("%d of 16000 counted", sum)
	}
}
