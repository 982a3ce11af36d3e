//go:build !unix

package cli

import "os"

// width is how many letters a line of the terminal has; 0: that is not known.
func width(*os.File) int { return 0 }
