// Package connect connects to a Temporal server.
package connect

import (
	"context"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Server names a Temporal server.
type Server struct{ Address, Namespace string }

// options returns the options of a client.
func (s Server) options(l *slog.Logger) client.Options {
	return client.Options{HostPort: s.Address, Namespace: s.Namespace, DataConverter: wire.Converter(), Logger: log.NewStructuredLogger(l)}
}

// Dial connects to a server.
func Dial(ctx context.Context, s Server, l *slog.Logger) (client.Client, error) {
	c, err := client.DialContext(ctx, s.options(l))
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "%w", fmt.Errorf("connect to Temporal at %s: %w", s.Address, err)).
			Suggest("start the server, or set --address")
	}
	return c, nil
}

// Lazy returns a client that connects when it is used.
func Lazy(s Server, l *slog.Logger) (client.Client, error) { return client.NewLazyClient(s.options(l)) }
