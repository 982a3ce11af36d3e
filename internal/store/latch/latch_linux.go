package latch

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// mutex is one of SQLite's. It lies in memory that the collector does not know,
// as everything of SQLite's.
type mutex struct {
	sync.Mutex
	owner atomic.Int32 // who holds it, 0: nobody. Only a holder writes its own number
	depth int32        // how often; the holder's
}

// fixed are the mutexes that exist once, by their number.
var fixed [lib.SQLITE_MUTEX_STATIC_VFS3 + 1]mutex

var (
	initFunc  = func(*libc.TLS) int32 { return lib.SQLITE_OK }
	endFunc   = func(*libc.TLS) int32 { return lib.SQLITE_OK }
	allocFunc = alloc
	freeFunc  = func(tls *libc.TLS, m uintptr) { libc.Xfree(tls, m) }
	enterFunc = enter
	tryFunc   = try
	leaveFunc = leave

	methods = lib.Tsqlite3_mutex_methods{
		FxMutexInit: pointer(initFunc), FxMutexEnd: pointer(endFunc), FxMutexAlloc: pointer(allocFunc), FxMutexFree: pointer(freeFunc),
		FxMutexEnter: pointer(enterFunc), FxMutexTry: pointer(tryFunc), FxMutexLeave: pointer(leaveFunc),
	}
)

// Install hands the mutexes to SQLite and reports whether it took them. It does
// so only before its first use in a process, by anybody; else it goes on with
// those that it has, which is slower and as good.
var Install = sync.OnceValue(func() bool {
	tls := libc.NewTLS()
	defer tls.Close()
	args := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(uintptr(0))))
	if args == 0 {
		return false
	}
	defer libc.Xfree(tls, args)
	return lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_MUTEX, libc.VaList(args, uintptr(unsafe.Pointer(&methods)))) == lib.SQLITE_OK
})

func alloc(tls *libc.TLS, kind int32) uintptr {
	switch {
	case kind == lib.SQLITE_MUTEX_FAST, kind == lib.SQLITE_MUTEX_RECURSIVE:
		return libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(mutex{})))
	case kind > 0 && int(kind) < len(fixed):
		return uintptr(unsafe.Pointer(&fixed[kind]))
	}
	return 0
}

func enter(tls *libc.TLS, p uintptr) {
	m := at(p)
	if m.owner.Load() == tls.ID {
		m.depth++
		return
	}
	m.Lock()
	m.owner.Store(tls.ID)
	m.depth = 1
}

func try(tls *libc.TLS, p uintptr) int32 {
	m := at(p)
	if m.owner.Load() == tls.ID {
		m.depth++
		return lib.SQLITE_OK
	}
	if !m.TryLock() {
		return lib.SQLITE_BUSY
	}
	m.owner.Store(tls.ID)
	m.depth = 1
	return lib.SQLITE_OK
}

func leave(_ *libc.TLS, p uintptr) {
	m := at(p)
	if m.depth--; m.depth == 0 {
		m.owner.Store(0)
		m.Unlock()
	}
}

// at is the mutex that a C pointer points to.
func at(p uintptr) *mutex { return *(**mutex)(unsafe.Pointer(&p)) }

// pointer is the C form of a Go function in a package-level variable.
func pointer(f any) uintptr {
	type face struct{ typ, data uintptr }
	return (*face)(unsafe.Pointer(&f)).data
}
