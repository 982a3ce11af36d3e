// Package pagecache gives SQLite's page caches memory of their own. A page of
// 4 KiB comes with a header, so that the driver's C library, which knows powers
// of two, takes 9 KiB for each. And it bounds what all of them hold: when little
// is left, a cache gives up its oldest page for a new one, whichever
// connection's that is, instead of growing to its own bound.
package pagecache

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// pages are what all connections hold together. More, as long as so many are in
// use at once, come from the C library. SQLite touches all of the memory at once.
const (
	pages    = 1500
	pageSize = 4096
)

// Install hands the memory to SQLite and reports whether it took it. It does so
// only before its first use in a process; else it goes on without.
var Install = sync.OnceValue(func() bool {
	tls := libc.NewTLS()
	defer tls.Close()
	const word = unsafe.Sizeof(uintptr(0))
	args := libc.Xcalloc(tls, 4, libc.Tsize_t(word))
	if args == 0 {
		return false
	}
	defer libc.Xfree(tls, args)
	header := args + 3*word
	if lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_PCACHE_HDRSZ, libc.VaList(args, header)) != lib.SQLITE_OK {
		return false
	}
	size := pageSize + **(**int32)(unsafe.Pointer(&header))
	memory := libc.Xmalloc(tls, libc.Tsize_t(pages*size))
	if memory == 0 {
		return false
	}
	if lib.Xsqlite3_config(tls, lib.SQLITE_CONFIG_PAGECACHE, libc.VaList(args, memory, size, int32(pages))) != lib.SQLITE_OK {
		libc.Xfree(tls, memory)
		return false
	}
	return true
})
