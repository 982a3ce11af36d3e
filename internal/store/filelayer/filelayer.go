// Package filelayer stands between SQLite and the file system where commits are
// written. It is SQLite's own unix layer but for two things, which are most of
// what a small commit costs beside the disk:
//
//   - A sync waits for a file's data and its length (fdatasync). SQLite as the
//     driver builds it waits for the file's times too, and so for the file
//     system's journal whenever the clock has moved on since the last sync.
//   - What a commit adds to the write-ahead log is written in one piece before it
//     is synced. SQLite hands over each page and each page's header by itself.
//
// It changes no format, no order and no promise: nothing is acknowledged before
// the same sync as ever. Like package vfstest it uses the driver's translated C
// structures directly; the store's tests record and fail what it does to files from
// below it.
package filelayer
