//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// width is how many letters a line of the terminal has; 0: the file is none.
func width(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
