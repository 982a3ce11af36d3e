package latch

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// mutex is one of SQLite's. It lies in memory that the collector does not know,
// as everything of SQLite's. Hardly ever do two want the same one, so what counts
// is what it takes then: a look, one exchange to take it, and one to leave it,
// after which it is not looked at any more: it may be gone.
type mutex struct {
	state atomic.Int64 // who holds it, 0: nobody; and above that, how many sleep or are about to
	depth int32        // how often it is held; the holder's
}

// sleeper is one more that sleeps, in a mutex's state.
const sleeper = 1 << 32

// take makes id the holder if there is none.
func (m *mutex) take(id int32) bool {
	for {
		s := m.state.Load()
		if int32(s) != 0 {
			return false
		}
		if m.state.CompareAndSwap(s, s|int64(id)) {
			m.depth = 1
			return true
		}
	}
}

// beds are where those sleep that wait for a mutex, by its address.
var beds [64]bed

type bed struct {
	sync.Mutex
	sleepers []*asleep // in the order in which they came
}

// asleep is locked while its owner sleeps; whoever wakes it unlocks it. Tests
// wait for each other over bubbles of virtual time, which a sync.Cond may not.
type asleep struct {
	sync.Mutex
	on *mutex
}

func bedOf(m *mutex) *bed {
	return &beds[uintptr(unsafe.Pointer(m))/unsafe.Sizeof(*m)%uintptr(len(beds))]
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
	switch {
	case int32(m.state.Load()) == tls.ID: // nobody else writes that
		m.depth++
	case !m.take(tls.ID):
		m.wait(tls.ID)
	}
}

func try(tls *libc.TLS, p uintptr) int32 {
	m := at(p)
	switch {
	case int32(m.state.Load()) == tls.ID:
		m.depth++
	case !m.take(tls.ID):
		return lib.SQLITE_BUSY
	}
	return lib.SQLITE_OK
}

// wait takes the mutex when it is left. What SQLite does with one is mostly
// short, so it is looked at a few times more before sleeping.
func (m *mutex) wait(id int32) {
	for range 4 {
		runtime.Gosched()
		if m.take(id) {
			return
		}
	}
	b, me := bedOf(m), &asleep{on: m}
	me.Lock()
	b.Lock()
	m.state.Add(sleeper) // from here on who leaves it wakes somebody
	for !m.take(id) {
		b.sleepers = append(b.sleepers, me)
		b.Unlock()
		me.Lock()
		b.Lock()
	}
	m.state.Add(-sleeper)
	b.Unlock()
}

func leave(tls *libc.TLS, p uintptr) {
	m := at(p)
	if m.depth--; m.depth > 0 {
		return
	}
	if m.state.Add(-int64(tls.ID)) >= sleeper {
		bedOf(m).wake(m)
	}
}

// wake wakes the first that sleeps for a mutex. Who is about to sleep has b until
// it does, and looks at the mutex before.
func (b *bed) wake(m *mutex) {
	b.Lock()
	defer b.Unlock()
	for i, s := range b.sleepers {
		if s.on == m {
			b.sleepers = slices.Delete(b.sleepers, i, i+1)
			s.Unlock()
			return
		}
	}
}

// at is the mutex that a C pointer points to.
func at(p uintptr) *mutex { return *(**mutex)(unsafe.Pointer(&p)) }

// pointer is the C form of a Go function in a package-level variable.
func pointer(f any) uintptr {
	type face struct{ typ, data uintptr }
	return (*face)(unsafe.Pointer(&f)).data
}
