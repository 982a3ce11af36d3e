package filelayer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Name is the layer's in a connection string, as vfs.
const Name = "kairosd"

// pieceSize bounds what is put together before it is written.
const pieceSize = 128 << 10

// file is an open database or write-ahead log.
type file struct {
	own   uintptr // its method table
	below uintptr // that of the unix layer
	piece uintptr // of a log: what is not written yet
	size  int32
	at    int64 // where it belongs
	// last says that the header of a transaction's last page was put to it: what
	// follows ends the piece, whether a sync comes next or not.
	last bool
}

var (
	below uintptr // the unix layer
	mu    sync.RWMutex
	files = map[uintptr]*file{}

	openFunc     = xOpen
	closeFunc    = xClose
	readFunc     = xRead
	writeFunc    = xWrite
	truncateFunc = xTruncate
	sizeFunc     = xFileSize
	syncFunc     = xSync
)

// Register makes the layer known to SQLite under its name.
var Register = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if below = lib.Xsqlite3_vfs_find(tls, 0); below == 0 {
		return errors.New("SQLite has no file layer")
	}
	name, err := libc.CString(Name)
	if err != nil {
		return err
	}
	own := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{})))
	if own == 0 {
		return errors.New("register a file layer: no memory")
	}
	table := at[lib.Tsqlite3_vfs](own)
	*table = *at[lib.Tsqlite3_vfs](below)
	table.FpNext, table.FzName, table.FxOpen = 0, name, pointer(openFunc)
	if rc := lib.Xsqlite3_vfs_register(tls, own, 0); rc != lib.SQLITE_OK {
		return fmt.Errorf("register a file layer: SQLite says %d", rc)
	}
	return nil
})

// at is the value that a C pointer points to.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

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

func xOpen(tls *libc.TLS, _, name, fd uintptr, flags int32, out uintptr) int32 {
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[lib.Tsqlite3_vfs](below).FxOpen)
	rc := open(tls, below, name, fd, flags, out)
	base := at[lib.Tsqlite3_file](fd)
	if rc != lib.SQLITE_OK || base.FpMethods == 0 || flags&(lib.SQLITE_OPEN_MAIN_DB|lib.SQLITE_OPEN_WAL) == 0 {
		return rc
	}
	f := &file{below: base.FpMethods, own: libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))}
	if flags&lib.SQLITE_OPEN_WAL != 0 {
		f.piece = libc.Xmalloc(tls, pieceSize)
	}
	if f.own == 0 {
		return rc // it works without
	}
	table := at[lib.Tsqlite3_io_methods](f.own)
	*table = *f.table()
	table.FxClose, table.FxSync = pointer(closeFunc), pointer(syncFunc)
	if f.piece != 0 {
		table.FxRead, table.FxWrite = pointer(readFunc), pointer(writeFunc)
		table.FxTruncate, table.FxFileSize = pointer(truncateFunc), pointer(sizeFunc)
	}
	mu.Lock()
	files[fd] = f
	mu.Unlock()
	base.FpMethods = f.own
	return rc
}

func of(fd uintptr) *file {
	mu.RLock()
	defer mu.RUnlock()
	return files[fd]
}

func (f *file) table() *lib.Tsqlite3_io_methods { return at[lib.Tsqlite3_io_methods](f.below) }

// put writes what was put together.
func (f *file) put(tls *libc.TLS, fd uintptr) int32 {
	if f.size == 0 {
		return lib.SQLITE_OK
	}
	n := f.size
	f.size = 0
	return f.write(tls, fd, f.piece, n, f.at)
}

func (f *file) write(tls *libc.TLS, fd, data uintptr, n int32, offset int64) int32 {
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.table().FxWrite)(tls, fd, data, n, offset)
}

func xWrite(tls *libc.TLS, fd, data uintptr, n int32, offset int64) int32 {
	f := of(fd)
	if offset != f.at+int64(f.size) || f.size+n > pieceSize {
		if rc := f.put(tls, fd); rc != lib.SQLITE_OK {
			return rc
		}
		f.at = offset
	}
	if n > pieceSize {
		return f.write(tls, fd, data, n, offset)
	}
	written := unsafe.Slice(at[byte](data), n)
	copy(unsafe.Slice(at[byte](f.piece), pieceSize)[f.size:], written)
	f.size += n
	if f.last {
		f.last = false
		return f.put(tls, fd)
	}
	// A page's header names the size of the database in the last page of a
	// transaction, and 0 in the others.
	f.last = n == lib.WAL_FRAME_HDRSIZE && binary.BigEndian.Uint32(written[4:]) != 0
	return lib.SQLITE_OK
}

func xSync(tls *libc.TLS, fd uintptr, flags int32) int32 {
	f := of(fd)
	if rc := f.put(tls, fd); rc != lib.SQLITE_OK {
		return rc
	}
	u := at[lib.TunixFile](fd)
	if u.FctrlFlags&lib.UNIXFILE_DIRSYNC != 0 { // the first one: its directory is synced too
		return function[func(*libc.TLS, uintptr, int32) int32](f.table().FxSync)(tls, fd, flags)
	}
	for {
		err := syscall.Fdatasync(int(u.Fh))
		if err == nil {
			return lib.SQLITE_OK
		}
		if errno, _ := errors.AsType[syscall.Errno](err); errno != syscall.EINTR {
			u.FlastErrno = int32(errno)
			return lib.SQLITE_IOERR_FSYNC
		}
	}
}

func xRead(tls *libc.TLS, fd, data uintptr, n int32, offset int64) int32 {
	f := of(fd)
	if rc := f.put(tls, fd); rc != lib.SQLITE_OK {
		return rc
	}
	return function[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](f.table().FxRead)(tls, fd, data, n, offset)
}

func xTruncate(tls *libc.TLS, fd uintptr, size int64) int32 {
	f := of(fd)
	if rc := f.put(tls, fd); rc != lib.SQLITE_OK {
		return rc
	}
	return function[func(*libc.TLS, uintptr, int64) int32](f.table().FxTruncate)(tls, fd, size)
}

func xFileSize(tls *libc.TLS, fd, size uintptr) int32 {
	f := of(fd)
	if rc := f.put(tls, fd); rc != lib.SQLITE_OK {
		return rc
	}
	return function[func(*libc.TLS, uintptr, uintptr) int32](f.table().FxFileSize)(tls, fd, size)
}

func xClose(tls *libc.TLS, fd uintptr) int32 {
	f := of(fd)
	left := f.put(tls, fd)
	mu.Lock()
	delete(files, fd)
	mu.Unlock()
	at[lib.Tsqlite3_file](fd).FpMethods = f.below
	rc := function[func(*libc.TLS, uintptr) int32](f.table().FxClose)(tls, fd)
	libc.Xfree(tls, f.own)
	libc.Xfree(tls, f.piece)
	if left != lib.SQLITE_OK {
		return left
	}
	return rc
}
