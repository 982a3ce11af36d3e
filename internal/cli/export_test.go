package cli

import "io"

// Plain is what stands between a command and a terminal.
func Plain(w io.Writer) io.Writer { return &plain{w: w} }
