// Package filelayer stands between SQLite and the file system where commits are
// written. It is SQLite's own unix layer with two differences, which save most of
// what a small commit costs beside the disk:
//
//   - A sync waits for a file's data and its length (fdatasync). SQLite as the
//     driver builds it also waits for the file's times, and so for the file
//     system's journal whenever the clock has moved since the last sync.
//   - What a commit adds to the write-ahead log is written in one piece before it
//     is synced. SQLite writes each page and each page's header separately.
//
// It changes neither the format nor the order of what is written, and nothing is
// acknowledged before the same sync. Like package vfstest it uses the driver's
// translated C structures directly. The store's tests record and fail what it does
// to files, from below it. docs/internals/decisions.md has its figures.
package filelayer
