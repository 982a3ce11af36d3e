// Package filelayer is an SQLite file layer (VFS) for commits. It is SQLite's own unix layer with
// two differences, which save most of the cost of a small commit besides the disk:
//
// - A sync waits for a file's data and its length (fdatasync). SQLite, as the driver builds it,
// also waits for the file's times. It thus waits for the file system's journal whenever the clock
// has moved since the last sync.
//
// - The data that a commit adds to the write-ahead log is written at once before it is synced.
// SQLite writes each page and each page's header separately.
//
// The layer changes neither the format nor the order of writes, and nothing is acknowledged before
// the same sync. Like package vfstest, it uses the driver's translated C structures directly. The
// store's tests record and fail its file operations with another layer below it.
// docs/internals/decisions.md contains measurements.
package filelayer
