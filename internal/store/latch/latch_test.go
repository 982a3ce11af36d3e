//go:build linux

package latch

import (
	"sync"
	"sync/atomic"
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

// Nobody is inside beside another, and what a holder wrote the next one reads. The
// race detector judges the second where it knows the mutex's memory: those that
// exist once are Go's, the others lie in SQLite's.
func TestTwoAtATimeAreNeverInside(t *testing.T) {
	t.Parallel()
	const each, threads = 2000, 8
	run := func(m uintptr, count func() (alone bool)) {
		var all sync.WaitGroup
		for range threads {
			tls := thread(t)
			all.Go(func() {
				for range each {
					enter(tls, m)
					enter(tls, m)
					if !count() {
						t.Error("another is inside")
					}
					leave(tls, m)
					leave(tls, m)
				}
			})
		}
		all.Wait()
	}
	var inside, sum atomic.Int64
	run(alloc(thread(t), lib.SQLITE_MUTEX_RECURSIVE), func() bool {
		alone := inside.Add(1) == 1
		sum.Add(1)
		inside.Add(-1)
		return alone
	})
	plainInside, plainSum := 0, 0
	run(alloc(thread(t), lib.SQLITE_MUTEX_STATIC_APP1), func() bool {
		plainInside++
		alone := plainInside == 1
		plainSum++
		plainInside--
		return alone
	})
	if sum.Load() != each*threads || plainSum != each*threads {
		t.Errorf("%d and %d of %d counted", sum.Load(), plainSum, each*threads)
	}
}
