// Package latch gives SQLite mutexes of its own. Those of the driver's C library
// on Linux are found in one table behind one lock for the whole process, twice
// for every mutex that is taken: a fifth of what a small write costs, and the one
// thing that readers and the writer would wait for each other at. On other
// systems the driver itself does what this package does.
//
// They are the mutexes that SQLite asks for: recursive where it wants that,
// known by what its threads are here, the libc.TLS of a connection.
package latch
