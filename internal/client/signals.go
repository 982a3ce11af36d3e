package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/domain"
)

// SendSignal sends a signal to steps that wait for it.
func (c *Client) SendSignal(ctx context.Context, s apitypes.SignalCreate) (apitypes.Signal, error) {
	var out apitypes.Signal
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/signals", body: s, into: &out})
	return out, err
}

// Signal returns a signal.
func (c *Client) Signal(ctx context.Context, id string) (apitypes.Signal, error) {
	var out apitypes.Signal
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/signals/" + url.PathEscape(id), into: &out})
	return out, err
}

// SignalWaits lists the waits of steps for signals, by name.
func (c *Client) SignalWaits(ctx context.Context, f domain.WaitFilter) (items []apitypes.SignalWait, next string, err error) {
	q := pageQuery(f.Page)
	if f.Text != "" {
		q.Set("filter", f.Text)
	}
	var out list[apitypes.SignalWait]
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/signal-waits", query: q, into: &out})
	return out.Items, out.Next, err
}

// Signals lists signals, newest first.
func (c *Client) Signals(ctx context.Context, f domain.SignalFilter) (items []apitypes.Signal, next string, err error) {
	q := pageQuery(f.Page)
	for name, value := range map[string]string{"filter": f.Text, "status": string(f.Status)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var out list[apitypes.Signal]
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/signals", query: q, into: &out})
	return out.Items, out.Next, err
}
