//go:build !linux

package cli

import "runtime/debug"

// giveBack returns the garbage of starting, of which there is more than an idle
// daemon makes in hours.
func giveBack() error {
	debug.FreeOSMemory()
	return nil
}
