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

// Name is the name of the layer in a connection string, as vfs.
const Name = "kairosd"

// pieceSize is the size of the buffer for pending writes, in bytes.
const pieceSize = 128 << 10

// layer is a layer of this package on top of another one.
type layer struct {
	below uintptr
	// sync makes the written data of a file durable.
	sync func(tls *libc.TLS, f *file, fd uintptr, flags int32) int32
}

// file is an open database or write-ahead log.
type file struct {
	of    *layer
	own   uintptr // its method table
	below uintptr // the method table of the layer below
	piece uintptr // buffer of pending writes to a log
	size  int32
	at    int64 // file offset of piece
	// last is true if the header of a transaction's last page is in piece. The next write then ends
	// the piece, even without a sync.
	last bool
}

var (
	mu     sync.RWMutex
	layers = map[uintptr]*layer{}
	files  = map[uintptr]*file{}

	openFunc     = xOpen
	deleteFunc   = xDelete
	closeFunc    = xClose
	readFunc     = xRead
	writeFunc    = xWrite
	truncateFunc = xTruncate
	sizeFunc     = xFileSize
	syncFunc     = xSync
)

// Register registers the layer with SQLite under Name.
var Register = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	_, err := register(tls, Name, &layer{below: lib.Xsqlite3_vfs_find(tls, 0), sync: dataSync})
	return err
})

// Over registers a layer with another name on top of the layer below, for tests that record or fail
// file operations. remove removes it.
func Over(name, below string) (remove func(), err error) {
	tls := libc.NewTLS()
	defer tls.Close()
	text, err := libc.CString(below)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(tls, text)
	own, err := register(tls, name, &layer{below: lib.Xsqlite3_vfs_find(tls, text), sync: syncBelow})
	return func() {
		tls := libc.NewTLS()
		defer tls.Close()
		lib.Xsqlite3_vfs_unregister(tls, own)
	}, err
}

func register(tls *libc.TLS, name string, l *layer) (own uintptr, err error) {
	if l.below == 0 {
		return 0, errors.New("SQLite has no file layer")
	}
	text, err := libc.CString(name)
	if err != nil {
		return 0, err
	}
	if own = libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{}))); own == 0 {
		return 0, errors.New("register a file layer: no memory")
	}
	table := at[lib.Tsqlite3_vfs](own)
	*table = *at[lib.Tsqlite3_vfs](l.below)
	table.FpNext, table.FzName, table.FxOpen, table.FxDelete = 0, text, pointer(openFunc), pointer(deleteFunc)
	mu.Lock()
	layers[own] = l
	mu.Unlock()
	if rc := lib.Xsqlite3_vfs_register(tls, own, 0); rc != lib.SQLITE_OK {
		return 0, fmt.Errorf("register a file layer: SQLite returned %d", rc)
	}
	return own, nil
}

func layerOf(vfs uintptr) *layer {
	mu.RLock()
	defer mu.RUnlock()
	return layers[vfs]
}

func xDelete(tls *libc.TLS, vfs, name uintptr, sync int32) int32 {
	below := layerOf(vfs).below
	return function[func(*libc.TLS, uintptr, uintptr, int32) int32](at[lib.Tsqlite3_vfs](below).FxDelete)(tls, below, name, sync)
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

func xOpen(tls *libc.TLS, vfs, name, fd uintptr, flags int32, out uintptr) int32 {
	l := layerOf(vfs)
	below := l.below
	open := function[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](at[lib.Tsqlite3_vfs](below).FxOpen)
	rc := open(tls, below, name, fd, flags, out)
	base := at[lib.Tsqlite3_file](fd)
	if rc != lib.SQLITE_OK || base.FpMethods == 0 || flags&(lib.SQLITE_OPEN_MAIN_DB|lib.SQLITE_OPEN_WAL) == 0 {
		return rc
	}
	f := &file{of: l, below: base.FpMethods, own: libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))}
	if flags&lib.SQLITE_OPEN_WAL != 0 {
		f.piece = libc.Xmalloc(tls, pieceSize)
	}
	if f.own == 0 {
		return rc // the layer works without it
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

// put writes the buffered data. After an error, it keeps the data, because SQLite regards it as
// written.
func (f *file) put(tls *libc.TLS, fd uintptr) int32 {
	if f.size == 0 {
		return lib.SQLITE_OK
	}
	if rc := f.write(tls, fd, f.piece, f.size, f.at); rc != lib.SQLITE_OK {
		return rc
	}
	f.size = 0
	return lib.SQLITE_OK
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
	// The header of the last page of a transaction contains the size of the database. Other headers
	// contain 0.
	f.last = n == lib.WAL_FRAME_HDRSIZE && binary.BigEndian.Uint32(written[4:]) != 0
	return lib.SQLITE_OK
}

func xSync(tls *libc.TLS, fd uintptr, flags int32) int32 {
	f := of(fd)
	if rc := f.put(tls, fd); rc != lib.SQLITE_OK {
		return rc
	}
	return f.of.sync(tls, f, fd, flags)
}

// syncBelow calls the sync of the layer below.
func syncBelow(tls *libc.TLS, f *file, fd uintptr, flags int32) int32 {
	return function[func(*libc.TLS, uintptr, int32) int32](f.table().FxSync)(tls, fd, flags)
}

// dataSync waits for a file's data and its length, but not for its times.
func dataSync(tls *libc.TLS, f *file, fd uintptr, flags int32) int32 {
	u := at[lib.TunixFile](fd)
	if u.FctrlFlags&lib.UNIXFILE_DIRSYNC != 0 { // the first sync also syncs the directory
		return syncBelow(tls, f, fd, flags)
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
