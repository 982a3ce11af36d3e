// Package statement executes prepared statements on a connection of SQLite's driver without the
// driver. For a small insert, the driver spends half of the time on boxing arguments, allocating
// each text twice, and reading the names of unnamed parameters. The driver still opens and closes
// the connection.
package statement

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// room is the size of the buffer for the arguments of one execution, in bytes. Larger arguments are
// allocated separately.
const room = 64 << 10

// Conn is a connection of the driver. Only one goroutine may use it, the same one that uses the
// driver's connection.
type Conn struct {
	tls *libc.TLS
	db  uintptr

	args uintptr // texts and blobs of the current execution
	used int
	more []uintptr // allocations for arguments that exceed the buffer
}

// Of returns the SQLite connection of a driver's connection. The driver still owns it. Close only
// releases the additions of this package.
func Of(driverConn any) (*Conn, error) {
	v := reflect.ValueOf(driverConn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("statement: %T is not a connection of SQLite's driver", driverConn)
	}
	db, tls := v.Elem().FieldByName("db"), v.Elem().FieldByName("tls")
	if db.Kind() != reflect.Uintptr || !tls.IsValid() || tls.Type() != reflect.TypeFor[*libc.TLS]() {
		return nil, fmt.Errorf("statement: %T is not a connection of SQLite's driver", driverConn)
	}
	c := &Conn{tls: (*libc.TLS)(tls.UnsafePointer()), db: uintptr(db.Uint())}
	if c.args = libc.Xmalloc(c.tls, room); c.args == 0 {
		return nil, fmt.Errorf("statement: no memory")
	}
	return c, nil
}

// Close frees the memory for arguments. The caller closes the statements before.
func (c *Conn) Close() {
	c.clear()
	libc.Xfree(c.tls, c.args)
	c.args = 0
}

// Changes returns the number of rows that the last writing statement changed.
func (c *Conn) Changes() int64 { return lib.Xsqlite3_changes64(c.tls, c.db) }

// TotalChanges returns the number of rows that all statements of the connection changed.
func (c *Conn) TotalChanges() int64 { return lib.Xsqlite3_total_changes64(c.tls, c.db) }

// LastID returns the row id of the last inserted row.
func (c *Conn) LastID() int64 { return lib.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// Version returns a number that changes with every commit of this connection. After a commit of
// another connection, it changes with the first transaction of this one.
func (c *Conn) Version() (int64, error) {
	out := c.tls.Alloc(8)
	defer c.tls.Free(8)
	if rc := lib.Xsqlite3_file_control(c.tls, c.db, 0, lib.SQLITE_FCNTL_DATA_VERSION, out); rc != lib.SQLITE_OK {
		return 0, c.failure(rc)
	}
	return int64(*at[uint32](out)), nil
}

// Written returns the number of pages written to the write-ahead log since the last call.
func (c *Conn) Written() (int, error) {
	out := c.tls.Alloc(8)
	defer c.tls.Free(8)
	if rc := lib.Xsqlite3_db_status(c.tls, c.db, lib.SQLITE_DBSTATUS_CACHE_WRITE, out, out+4, 1); rc != lib.SQLITE_OK {
		return 0, c.failure(rc)
	}
	return int(*at[int32](out)), nil
}

// memory returns the address of n bytes that stay until the current execution ends, or 0.
func (c *Conn) memory(n int) uintptr {
	if n <= room-c.used {
		p := c.args + uintptr(c.used)
		c.used += n
		return p
	}
	p := libc.Xmalloc(c.tls, libc.Tsize_t(n))
	if p != 0 {
		c.more = append(c.more, p)
	}
	return p
}

func (c *Conn) clear() {
	c.used = 0
	for _, p := range c.more {
		libc.Xfree(c.tls, p)
	}
	c.more = c.more[:0]
}

// Error is SQLite's error of a failed execution.
type Error struct {
	code int
	text string
}

func (e *Error) Error() string { return e.text }

// Code returns SQLite's extended result code.
func (e *Error) Code() int { return e.code }

func (c *Conn) failure(rc int32) error {
	text := libc.GoString(lib.Xsqlite3_errstr(c.tls, rc))
	// The connection's message describes only its last failure.
	if lib.Xsqlite3_extended_errcode(c.tls, c.db) == rc {
		if detail := libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db)); detail != "" && detail != text {
			text += ": " + detail
		}
	}
	return &Error{code: int(rc), text: fmt.Sprintf("%s (%d)", text, rc)}
}

// Stmt is a prepared statement. Arguments are bound in order for each execution, and are copied.
type Stmt struct {
	c      *Conn
	p      uintptr
	params int32
	given  int32
	failed int32 // result code of the first argument that could not be bound
}

// Prepare compiles one statement.
func (c *Conn) Prepare(text string) (*Stmt, error) {
	z, err := libc.CString(text)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, z)
	out := c.tls.Alloc(2 * int(unsafe.Sizeof(uintptr(0))))
	defer c.tls.Free(2 * int(unsafe.Sizeof(uintptr(0))))
	tail := out + unsafe.Sizeof(uintptr(0))
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, z, int32(len(text)), lib.SQLITE_PREPARE_PERSISTENT, out, tail); rc != lib.SQLITE_OK {
		return nil, fmt.Errorf("prepare %.30s: %w", text, c.failure(rc))
	}
	s := &Stmt{c: c, p: *at[uintptr](out)}
	if s.p == 0 || *at[uintptr](tail) != z+uintptr(len(text)) {
		s.Close()
		return nil, fmt.Errorf("prepare %.30s: it is not one statement", text)
	}
	s.params = lib.Xsqlite3_bind_parameter_count(c.tls, s.p)
	return s, nil
}

// Close finalizes the statement.
func (s *Stmt) Close() {
	lib.Xsqlite3_finalize(s.c.tls, s.p)
	s.p = 0
}

func (s *Stmt) next() int32 {
	s.given++
	return s.given
}

func (s *Stmt) bound(rc int32) {
	if rc != lib.SQLITE_OK && s.failed == lib.SQLITE_OK {
		s.failed = rc
	}
}

// Int binds the next argument.
func (s *Stmt) Int(v int64) { s.bound(lib.Xsqlite3_bind_int64(s.c.tls, s.p, s.next(), v)) }

// Float binds the next argument.
func (s *Stmt) Float(v float64) { s.bound(lib.Xsqlite3_bind_double(s.c.tls, s.p, s.next(), v)) }

// Null binds NULL to the next argument.
func (s *Stmt) Null() { s.bound(lib.Xsqlite3_bind_null(s.c.tls, s.p, s.next())) }

// Text binds the next argument.
func (s *Stmt) Text(v string) {
	if p := s.copied(v); p != 0 {
		s.bound(lib.Xsqlite3_bind_text(s.c.tls, s.p, s.next(), p, int32(len(v)), static))
	}
}

// TextOrNull binds the next argument; nil is NULL.
func (s *Stmt) TextOrNull(v *string) {
	if v == nil {
		s.Null()
	} else {
		s.Text(*v)
	}
}

// BlobOrNull binds the next argument; nil is NULL.
func (s *Stmt) BlobOrNull(v []byte) {
	if v == nil {
		s.Null()
		return
	}
	if p := s.copied(unsafe.String(unsafe.SliceData(v), len(v))); p != 0 {
		s.bound(lib.Xsqlite3_bind_blob(s.c.tls, s.p, s.next(), p, int32(len(v)), static))
	}
}

// copied returns the address of a copy of an argument that stays valid until the execution ends, or
// 0 if there is no memory.
func (s *Stmt) copied(v string) uintptr {
	if len(v) > math.MaxInt32 {
		s.bound(lib.SQLITE_TOOBIG)
		return 0
	}
	p := s.c.memory(len(v))
	if p == 0 {
		s.bound(lib.SQLITE_NOMEM)
		return 0
	}
	copy(unsafe.Slice(at[byte](p), len(v)), v)
	return p
}

// static declares to SQLite that the memory of an argument outlives the execution.
const static = 0

// Exec executes the statement until it ends.
func (s *Stmt) Exec() error {
	for {
		if row, err := s.Next(); !row {
			return err
		}
	}
}

// Next moves to the next row and reports whether there is one. After the last,
// and after an error, the statement is ready for its next arguments.
func (s *Stmt) Next() (bool, error) {
	rc := s.failed
	switch {
	case rc != lib.SQLITE_OK:
		s.end()
		return false, s.c.failure(rc)
	case s.given != s.params:
		err := fmt.Errorf("statement: %d arguments for %d parameters", s.given, s.params)
		s.end()
		return false, err
	}
	switch rc = lib.Xsqlite3_step(s.c.tls, s.p); rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		s.end()
		return false, nil
	}
	err := s.c.failure(rc)
	s.end() // an earlier call returned the error
	return false, err
}

// Done ends an execution whose remaining rows are not needed.
func (s *Stmt) Done() { s.end() }

func (s *Stmt) end() {
	lib.Xsqlite3_reset(s.c.tls, s.p)
	s.given, s.failed = 0, lib.SQLITE_OK
	s.c.clear()
}

// ColumnInt returns a column of the current row; the first is 0.
func (s *Stmt) ColumnInt(i int) int64 { return lib.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

// ColumnText returns a column of the current row; the first is 0.
func (s *Stmt) ColumnText(i int) string {
	p := lib.Xsqlite3_column_text(s.c.tls, s.p, int32(i))
	if p == 0 {
		return ""
	}
	return string(unsafe.Slice(at[byte](p), lib.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i))))
}

// at converts a C pointer to a Go pointer.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }
