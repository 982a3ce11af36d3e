//go:build !linux

package filelayer

// Name of the layer: SQLite's own.
const Name = ""

// Register does nothing.
func Register() error { return nil }
