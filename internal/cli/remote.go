package cli

import (
	"cmp"
	"fmt"

	"github.com/kairosd/kairosd/internal/datadir"

	"github.com/kairosd/kairosd/internal/client"
)

// remote is the daemon that --server names.
func (c *App) remote() (*client.Client, error) {
	b, err := client.New(c.server, cmp.Or(c.token, c.Env("KAIROS_TOKEN")))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// socket is the daemon that holds the database file, through the socket beside
// it (ruling 27).
func (c *App) socket() (backend, error) {
	path := datadir.SocketOf(c.database())
	if !datadir.IsSocket(path) {
		return nil, fmt.Errorf("no socket at %s", path)
	}
	return client.Unix(path), nil
}
