package mcp

import (
	"fmt"
	"io"
)

// unbatched drops lines that contain a batch. The supported protocol versions have no batches, and
// messages in a batch would bypass the limits.
type unbatched struct {
	io.Reader
	started  bool // some bytes of the line have been read
	dropping bool
	batches  int
}

func (u *unbatched) Read(p []byte) (int, error) {
	for {
		n, err := u.Reader.Read(p)
		kept := 0
		for _, c := range p[:n] {
			switch {
			case c == '\n':
				u.started, u.dropping = false, false
			case !u.started && c != ' ' && c != '\t' && c != '\r':
				u.started = true
				if c == '[' {
					u.dropping = true
					u.batches++
				}
			}
			if !u.dropping {
				p[kept] = c
				kept++
			}
		}
		if u.batches >= maxStray {
			return 0, fmt.Errorf("the server sent %d batches", u.batches)
		}
		if kept > 0 || err != nil || n == 0 {
			return kept, err
		}
	}
}
