package cli

import (
	"cmp"
	"fmt"

	"github.com/kairosd/kairosd/internal/client"
)

// remote is the daemon that --server names.
func (c *app) remote() (backend, error) {
	b, err := client.New(c.server, cmp.Or(c.token, c.Env("KAIROS_TOKEN")))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// socket is the daemon that holds the database file, through the socket beside
// it (ruling 27).
func (c *app) socket() (backend, error) {
	path := socketPath(c.database())
	if !socketThere(path) {
		return nil, fmt.Errorf("no socket at %s", path)
	}
	return client.Unix(path), nil
}
