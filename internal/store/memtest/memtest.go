// Package memtest makes memory allocations of SQLite fail, to test that the store survives it. The
// n-th allocation fails, or all from the n-th on. It affects the whole process, and must be
// installed before the process uses SQLite.
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
	below lib.Tsqlite3_mem_methods // SQLite's own allocator

	count   atomic.Int64 // number of allocations since FailAt
	at      atomic.Int64 // the number of the allocation that fails; 0 means none
	forever atomic.Bool
	failed  atomic.Int64

	mallocFunc  = malloc
	reallocFunc = realloc
)

// Install wraps SQLite's allocator.
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

// FailAt makes the n-th allocation from now on fail. If all is true, it also fails all later ones.
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

// pointer returns the C form of a Go function in a package-level variable.
func pointer(f any) uintptr {
	type face struct{ typ, data uintptr }
	return (*face)(unsafe.Pointer(&f)).data
}

// function returns the Go form of a C function pointer.
func function[F any](p uintptr) F {
	s := &struct{ p uintptr }{p}
	return *(*F)(unsafe.Pointer(s))
}
