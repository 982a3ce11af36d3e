// Package vfstest is an SQLite file layer between the store's file layer and the file system. It
// records every change to the database's files, so that a test can rebuild the state after a power
// cut. It also makes single operations fail.
//
// It copies the method table of SQLite's own layer and replaces the methods that change files by Go
// functions. Operations that the store's layer above it loses or never syncs are therefore lost. It
// uses the driver's translated C structures directly. The tests of this package detect a driver
// with other structures.
package vfstest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/kairosd/kairosd/internal/store/filelayer"
)

// Kind is the kind of an operation.
type Kind string

// Kinds of operations.
const (
	Open     Kind = "open" // for writing; creates the file if it is missing
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	Delete   Kind = "delete"
)

// Op is one operation on one file.
type Op struct {
	Kind   Kind
	File   string // base name
	Offset int64
	Size   int64  // of a truncation
	Data   []byte // of a write
}

// Fault makes operations fail.
type Fault struct {
	// Code is the result code that SQLite gets, such as SQLITE_FULL or SQLITE_IOERR_WRITE. 0
	// selects the usual error of the operation.
	Code int32
	// Forever makes every later operation fail too.
	Forever bool
	// Short is the number of bytes that a failing write writes.
	Short int
}

// VFS is a registered layer. Databases opened with its name as the "vfs"
// parameter go through it.
type VFS struct {
	Name string

	mu     sync.Mutex
	ops    []Op
	count  int
	quiet  bool
	failAt int // number of the operation that fails, from 1; 0 means none
	fault  Fault
	failed int
	// sideSize contains the length of the file side at each operation.
	side     string
	sideSize []int64
}

var (
	names atomic.Int64
	mu    sync.Mutex
	byVFS = map[uintptr]*layer{}
	files = map[uintptr]*file{}

	openFunc     = xOpen
	deleteFunc   = xDelete
	closeFunc    = xClose
	writeFunc    = xWrite
	truncateFunc = xTruncate
	syncFunc     = xSync
)

// layer is a registered VFS and the one below it.
type layer struct {
	v     *VFS
	below uintptr
}

// file is an open file.
type file struct {
	l       *layer
	name    string
	own     uintptr // the method table of this layer
	methods uintptr // the method table of the layer below
}

// at converts a C pointer to a Go pointer.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

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

// New registers a layer. The end of the test removes it.
func New(tb testing.TB) *VFS {
	tb.Helper()
	tls := libc.NewTLS()
	v := &VFS{Name: fmt.Sprintf("disk%d", names.Add(1))}
	name, err := libc.CString(v.Name)
	if err != nil {
		tb.Fatal(err)
	}
	below := lib.Xsqlite3_vfs_find(tls, 0)
	if below == 0 {
		tb.Fatal("SQLite has no file layer")
	}
	own := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	table := at[lib.Tsqlite3_vfs](own)
	*table = *at[lib.Tsqlite3_vfs](below)
	table.FpNext, table.FzName = 0, name
	table.FxOpen, table.FxDelete = pointer(openFunc), pointer(deleteFunc)
	mu.Lock()
	byVFS[own] = &layer{v, below}
	mu.Unlock()
	if rc := lib.Xsqlite3_vfs_register(tls, own, 0); rc != lib.SQLITE_OK {
		tb.Fatalf("register a file layer: %d", rc)
	}
	tb.Cleanup(func() {
		lib.Xsqlite3_vfs_unregister(tls, own)
		mu.Lock()
		delete(byVFS, own)
		mu.Unlock()
		libc.Xfree(tls, own)
		libc.Xfree(tls, name)
		tls.Close()
	})
	if filelayer.Name != "" { // the store's own layer uses this one
		disk := v.Name
		v.Name = "over-" + disk
		remove, err := filelayer.Over(v.Name, disk)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(remove)
	}
	return v
}

// Watch records the size of a file at every operation. SQLite must not write the file, and it must
// only grow.
func (v *VFS) Watch(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.side = path
}

// Quiet stops recording. Counting and faults continue.
func (v *VFS) Quiet() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.quiet = true
}

// FailAt makes the n-th operation from now on fail; the first is 1.
func (v *VFS) FailAt(n int, f Fault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failAt, v.fault, v.failed = v.count+n, f, 0
}

// Heal ends all faults and returns the number of failed operations.
func (v *VFS) Heal() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failAt = 0
	return v.failed
}

// Count returns the number of operations so far.
func (v *VFS) Count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.count
}

// Recording returns the recorded operations.
func (v *VFS) Recording() Recording {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Recording{Ops: v.ops, Side: v.sideSize}
}

// next records an operation and returns the code with which it must fail, or 0.
func (v *VFS) next(op Op) (code int32, short int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.count++
	if v.failAt > 0 && (v.count == v.failAt || v.fault.Forever && v.count > v.failAt) {
		v.failed++
		code = v.fault.Code
		if code == 0 {
			code = map[Kind]int32{Open: lib.SQLITE_CANTOPEN, Write: lib.SQLITE_IOERR_WRITE, Truncate: lib.SQLITE_IOERR_TRUNCATE,
				Sync:   lib.SQLITE_IOERR_FSYNC,
				Delete: lib.SQLITE_IOERR_DELETE}[op.Kind]
		}
		return code, v.fault.Short
	}
	if !v.quiet {
		v.ops = append(v.ops, op)
		size := int64(0)
		if v.side != "" {
			if info, err := os.Stat(v.side); err == nil {
				size = info.Size()
			}
		}
		v.sideSize = append(v.sideSize, size)
	}
	return 0, 0
}

// recorded selects the files whose loss matters. The shared memory is rebuilt.
const recorded = lib.SQLITE_OPEN_MAIN_DB | lib.SQLITE_OPEN_WAL | lib.SQLITE_OPEN_MAIN_JOURNAL

func xOpen(tls *libc.TLS, vfs, name, fd uintptr, flags int32, out uintptr) int32 {
	mu.Lock()
	l := byVFS[vfs]
	mu.Unlock()
	follow := name != 0 && flags&recorded != 0 && flags&lib.SQLITE_OPEN_READONLY == 0
	base := ""
	if follow {
		base = filepath.Base(libc.GoString(name))
		if code, _ := l.v.next(Op{Kind: Open, File: base}); code != 0 {
			at[lib.Tsqlite3_file](fd).FpMethods = 0
			return code
		}
	}
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[lib.Tsqlite3_vfs](l.below).FxOpen)
	rc := open(tls, l.below, name, fd, flags, out)
	f := at[lib.Tsqlite3_file](fd)
	if rc != lib.SQLITE_OK || f.FpMethods == 0 || !follow {
		return rc
	}
	own := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	table := at[lib.Tsqlite3_io_methods](own)
	*table = *at[lib.Tsqlite3_io_methods](f.FpMethods)
	table.FxClose, table.FxWrite = pointer(closeFunc), pointer(writeFunc)
	table.FxTruncate, table.FxSync = pointer(truncateFunc), pointer(syncFunc)
	mu.Lock()
	files[fd] = &file{l: l, name: base, own: own, methods: f.FpMethods}
	mu.Unlock()
	f.FpMethods = own
	return rc
}

func xDelete(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
	mu.Lock()
	l := byVFS[vfs]
	mu.Unlock()
	if code, _ := l.v.next(Op{Kind: Delete, File: filepath.Base(libc.GoString(name))}); code != 0 {
		return code
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32) int32](at[lib.Tsqlite3_vfs](l.below).FxDelete)(tls, l.below, name, sync)
}

func of(fd uintptr) *file {
	mu.Lock()
	defer mu.Unlock()
	return files[fd]
}

func (f *file) table() *lib.Tsqlite3_io_methods { return at[lib.Tsqlite3_io_methods](f.methods) }

func xClose(tls *libc.TLS, fd uintptr) int32 {
	f := of(fd)
	mu.Lock()
	delete(files, fd)
	mu.Unlock()
	at[lib.Tsqlite3_file](fd).FpMethods = f.methods
	rc := function[func(*libc.TLS, uintptr) int32](f.table().FxClose)(tls, fd)
	libc.Xfree(tls, f.own)
	return rc
}

func xWrite(tls *libc.TLS, fd, data uintptr, n int32, offset int64) int32 {
	f := of(fd)
	code, short := f.l.v.next(Op{Kind: Write, File: f.name, Offset: offset, Data: bytes.Clone(unsafe.Slice(at[byte](data), n))})
	write := function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.table().FxWrite)
	if code != 0 {
		if short > 0 {
			write(tls, fd, data, min(int32(short), n), offset)
		}
		return code
	}
	return write(tls, fd, data, n, offset)
}

func xTruncate(tls *libc.TLS, fd uintptr, size int64) int32 {
	f := of(fd)
	if code, _ := f.l.v.next(Op{Kind: Truncate, File: f.name, Size: size}); code != 0 {
		return code
	}
	return function[func(*libc.TLS, uintptr, int64) int32](f.table().FxTruncate)(tls, fd, size)
}

func xSync(tls *libc.TLS, fd uintptr, flags int32) int32 {
	f := of(fd)
	if code, _ := f.l.v.next(Op{Kind: Sync, File: f.name}); code != 0 {
		return code
	}
	return function[func(*libc.TLS, uintptr, int32) int32](f.table().FxSync)(tls, fd, flags)
}
