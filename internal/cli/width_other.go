//go:build !unix

package cli

import "os"

// width returns the number of characters in a line of the terminal, or 0 if it is unknown.
func width(*os.File) int { return 0 }
