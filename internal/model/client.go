package model

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits of an answer.
const (
	maxBody  = 4 << 20
	maxError = 64 << 10
)

// timeouts limits an answer: the time to its first byte, the time between bytes, and the total.
type timeouts struct{ first, idle, total time.Duration }

// usual allows for servers that send nothing until the model has finished thinking. The total
// ends an answer that arrives too slowly.
var usual = timeouts{first: 5 * time.Minute, idle: time.Minute, total: 30 * time.Minute}

var (
	errOversized = errors.New("the response is too large")
	errIdle      = errors.New("the response stalled")
	errEndless   = errors.New("the operation took too long")
	errRedirect  = errors.New("redirect to another host")
)

// Client is an HTTP client for a model server. It follows no redirect to another host, uses no
// proxy and no cookies, and reads at most 4 MiB. It waits at most a minute for the next byte and
// half an hour for the whole answer. It converts every answer except 2xx to a [*StatusError].
func Client() *http.Client { return client(usual) }

func client(wait timeouts) *http.Client {
	base := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: wait.first,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	return &http.Client{Transport: guarded{base, wait}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 3 {
			return errRedirect
		}
		return nil
	}}
}

type guarded struct {
	base http.RoundTripper
	wait timeouts
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	resp, err := g.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	reportLimits(r.Context(), resp.Header)
	if resp.StatusCode >= 400 {
		defer cancel(nil)
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
		if err != nil {
			body = append(body, "…"...) // the part that was read is sufficient for the message
		}
		return nil, &StatusError{
			Status:     resp.StatusCode,
			RetryAfter: retryAfter(resp.Header, time.Now()),
			Body:       string(body),
			Request:    requestOf(resp.Header),
		}
	}
	b := &body{ReadCloser: resp.Body, left: maxBody, cancel: cancel, idle: g.wait.idle}
	b.timer = time.AfterFunc(g.wait.idle, func() { cancel(errIdle) })
	b.total = time.AfterFunc(g.wait.total, func() { cancel(errEndless) })
	b.cause = func() error { return context.Cause(ctx) }
	resp.Body = b
	return resp, nil
}

// requestOf returns the server's id of a request, from the header that such servers send.
func requestOf(h http.Header) string {
	id := cmp.Or(h.Get("Request-Id"), h.Get("X-Request-Id"))
	if len(id) > maxRequestID || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "" // there is no such header
	}
	return id
}

// maxRequestID is the maximum length of a stored id, in bytes.
const maxRequestID = 200

// body limits the size of an answer and the time until the next byte.
type body struct {
	io.ReadCloser
	left   int
	idle   time.Duration
	timer  *time.Timer // for the next byte
	total  *time.Timer
	cancel context.CancelCauseFunc
	cause  func() error
	once   sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errOversized
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	if n > 0 {
		b.timer.Reset(b.idle)
	}
	if cause := b.cause(); err != nil && err != io.EOF && (errors.Is(cause, errIdle) || errors.Is(cause, errEndless)) {
		err = cause
	}
	return n, err
}

func (b *body) Close() error {
	b.once.Do(func() {
		b.timer.Stop()
		b.total.Stop()
		b.cancel(nil)
	})
	return b.ReadCloser.Close()
}
