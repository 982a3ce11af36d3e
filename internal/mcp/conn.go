package mcp

import (
	"context"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// watched is a transport that disconnects a server that sends too many messages without a request.
type watched struct{ sdk.Transport }

func (t watched) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Connection: c, open: map[any]bool{}}, nil
}

type watchedConn struct {
	sdk.Connection
	mu            sync.Mutex
	open          map[any]bool // requests without a response
	stray         int
	notifications int
}

func (c *watchedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Request); ok && r.ID.IsValid() {
		c.mu.Lock()
		c.open[r.ID.Raw()] = true
		c.mu.Unlock()
	}
	return c.Connection.Write(ctx, m)
}

func (c *watchedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		keep, err := c.judge(m)
		if err != nil {
			return nil, err
		}
		if keep {
			return m, nil
		}
	}
}

// judge reports whether to pass a message on. An error ends the connection.
func (c *watchedConn) judge(m jsonrpc.Message) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		if !c.open[m.ID.Raw()] {
			if c.stray++; c.stray >= maxStray {
				return false, fmt.Errorf("the server sent %d responses without a request", c.stray)
			}
			return false, nil
		}
		delete(c.open, m.ID.Raw())
		c.notifications = 0
	case *jsonrpc.Request:
		if c.notifications++; c.notifications > maxNotifications {
			return false, fmt.Errorf("the server sent %d messages without a response", c.notifications)
		}
	}
	return true, nil
}
