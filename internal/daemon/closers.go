package daemon

import "slices"

// closers are the functions that close the parts of the daemon, in the order in which the parts were
// started.
type closers []func()

func (c *closers) add(f func()) { *c = append(*c, f) }

// close calls the last function first.
func (c *closers) close() {
	for _, f := range slices.Backward(*c) {
		f()
	}
}
