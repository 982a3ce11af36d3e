// Package memtest takes memory away from SQLite, for proofs that the store lives
// through it: the n-th allocation fails, or all from there on. It works for a
// whole process, and only in one that has not used SQLite before.
package memtest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

var (
	below lib.Tsqlite3_mem_methods // SQLite's own

	count   atomic.Int64 // allocations since FailAt
	at      atomic.Int64 // the one that fails; 0: none
	forever atomic.Bool
	failed  atomic.Int64

	mallocFunc  = malloc
	reallocFunc = realloc
)

// Install puts the package between SQLite and its memory.
func Install() error {
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(uintptr(0))))
	if args == 0 {
		return errors.New("no memory")
	}
	defer libc.Xfree(tls, args)
	for _, step := range []struct {
		option  int32
		methods *lib.Tsqlite3_mem_methods
	}{{lib.SQLITE_CONFIG_GETMALLOC, &below}, {lib.SQLITE_CONFIG_MALLOC, &own}} {
		if rc := lib.Xsqlite3_config(tls, step.option, libc.VaList(args, uintptr(unsafe.Pointer(step.methods)))); rc != lib.SQLITE_OK {
			return fmt.Errorf("configure SQLite's memory: result %d", rc)
		}
		if step.methods == &below {
			own = below
			own.FxMalloc, own.FxRealloc = pointer(mallocFunc), pointer(reallocFunc)
		}
	}
	return nil
}

var own lib.Tsqlite3_mem_methods

// FailAt lets the n-th allocation from now on fail, and with all all after it.
func FailAt(n int64, all bool) {
	at.Store(0)
	count.Store(0)
	failed.Store(0)
	forever.Store(all)
	at.Store(n)
}

// Heal restores memory and returns the number of failed allocations.
func Heal() int64 {
	at.Store(0)
	return failed.Load()
}

func fails() bool {
	n := at.Load()
	if n == 0 {
		return false
	}
	if c := count.Add(1); c != n && (c < n || !forever.Load()) {
		return false
	}
	failed.Add(1)
	return true
}

func malloc(tls *libc.TLS, n int32) uintptr {
	if fails() {
		return 0
	}
	return function[func(*libc.TLS, int32) uintptr](below.FxMalloc)(tls, n)
}

func realloc(tls *libc.TLS, p uintptr, n int32) uintptr {
	if fails() {
		return 0
	}
	return function[func(*libc.TLS, uintptr, int32) uintptr](below.FxRealloc)(tls, p, n)
}

// pointer is the C form of a Go function in a package-level variable.
func pointer(f any) uintptr {
	type face struct{ typ, data uintptr }
	return (*face)(unsafe.Pointer(&f)).data
}

// function is the Go form of a C function pointer.
func function[F any](p uintptr) F {
	s := &struct{ p uintptr }{p}
	return *(*F)(unsafe.Pointer(s))
}
