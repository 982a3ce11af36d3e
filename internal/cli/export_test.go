package cli

import "io"

// Plain returns the filter between a command and a terminal.
func Plain(w io.Writer) io.Writer { return &plain{w: w} }
