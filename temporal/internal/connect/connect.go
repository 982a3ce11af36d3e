// Package connect connects to a Temporal server.
package connect

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/temporal/internal/wire"
)

// Server names a Temporal server.
type Server struct {
	Address, Namespace string
	// Secrets are the secrets from which the keys of payloads are derived. The first one encrypts, and all decrypt. If there are
	// none, payloads are not encrypted.
	Secrets [][]byte
	// TLS encrypts the connection. Nil means that it is not encrypted. APIKey identifies this program, and may be empty.
	TLS    *tls.Config
	APIKey string
}

// Converter converts the values in histories. It compresses them, and then encrypts them.
func (s Server) Converter() (converter.DataConverter, error) {
	compress := converter.NewZlibCodec(converter.ZlibCodecOptions{})
	if len(s.Secrets) == 0 {
		return converter.NewCodecDataConverter(wire.Converter(), compress), nil
	}
	c, err := newCodec(s.Secrets)
	if err != nil {
		return nil, err
	}
	return converter.NewCodecDataConverter(wire.Converter(), c, compress), nil
}

// options returns the options of a client.
func (s Server) options(l *slog.Logger) (client.Options, error) {
	c, err := s.Converter()
	// Messages of errors may contain data of runs, too.
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: c,
		EncodeCommonAttributes: len(s.Secrets) > 0})
	o := client.Options{HostPort: s.Address, Namespace: s.Namespace, DataConverter: c, FailureConverter: failures,
		Logger: log.NewStructuredLogger(l), ConnectionOptions: client.ConnectionOptions{TLS: s.TLS}}
	if s.APIKey != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(s.APIKey)
	}
	return o, err
}

// Dial connects to a server.
func Dial(ctx context.Context, s Server, l *slog.Logger) (client.Client, error) {
	o, err := s.options(l)
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "%w", fmt.Errorf("connect to Temporal at %s: %w", s.Address, err)).
			Suggest("start the server, or check --address and engine.temporal.tls in the configuration")
	}
	return c, nil
}

// Lazy returns a client that connects when it is used.
func Lazy(s Server, l *slog.Logger) (client.Client, error) {
	o, err := s.options(l)
	if err != nil {
		return nil, err
	}
	return client.NewLazyClient(o)
}
