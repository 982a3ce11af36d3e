//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// width returns the number of characters in a line of the terminal, or 0 if the file is not a
// terminal.
func width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
