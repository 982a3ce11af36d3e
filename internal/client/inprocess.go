package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// InProcess returns a client of an API in this process. Requests are passed to h without a network.
// Close cancels active requests, waits for their handlers, and then calls stop.
func InProcess(h http.Handler, stop func() error) *Client {
	t := &handlerTransport{handler: h}
	t.open, t.cancel = context.WithCancel(context.Background())
	c := build(socketOrigin, "this process", "", t)
	c.Retry, c.inProcess = nil, true
	c.end = func() error {
		t.close()
		return stop()
	}
	return c
}

// handlerTransport serves each request in its own goroutine. Like a server behind a network, it
// returns when the headers are written, streams the body, and cancels the request when the client
// stops reading the body.
type handlerTransport struct {
	handler http.Handler
	// cancel cancels open when the client is closed. mu orders that with the start of requests.
	mu       sync.Mutex
	open     context.Context
	cancel   context.CancelFunc
	handlers sync.WaitGroup
}

// begin counts a handler that starts. It returns false if the transport is closed.
func (t *handlerTransport) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open.Err() != nil {
		return false
	}
	t.handlers.Add(1)
	return true
}

// close cancels all requests and waits for their handlers.
func (t *handlerTransport) close() {
	t.mu.Lock()
	t.cancel()
	t.mu.Unlock()
	t.handlers.Wait()
}

// RoundTrip answers a request. A panic of the handler is an error: of the call if it happens before
// the headers, and otherwise of reading the body.
func (t *handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.begin() {
		return nil, errors.Join(http.ErrServerClosed, closeBody(r))
	}
	ctx, cancel := context.WithCancel(r.Context())
	unlink := context.AfterFunc(t.open, cancel)
	in := r.Clone(ctx)
	in.Host, in.RequestURI = r.URL.Host, r.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, to := io.Pipe()
	w := &answer{header: http.Header{}, body: to, ready: make(chan struct{})}
	// A reader must not wait for a handler that does not end.
	interrupted := context.AfterFunc(ctx, func() { _ = to.CloseWithError(context.Cause(ctx)) }) // never fails
	go func() {
		defer t.handlers.Done()
		defer cancel()
		defer unlink()
		err := t.serve(w, in)
		interrupted()
		_ = to.CloseWithError(err) // never fails; without an error, the body ends
		if closed := closeBody(in); err == nil {
			err = closed
		}
		w.end(err)
	}()
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if w.failed != nil {
		return nil, w.failed
	}
	return &http.Response{Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent, Body: &answerBody{body, cancel}, ContentLength: -1,
		Request: r}, nil
}

// serve calls the handler and converts a panic to an error.
func (t *handlerTransport) serve(w *answer, r *http.Request) (err error) {
	defer func() {
		switch v := recover(); {
		case v == http.ErrAbortHandler:
			err = io.ErrUnexpectedEOF
		case v != nil:
			err = fmt.Errorf("panic while answering %s %s: %v", r.Method, r.URL.Path, v)
		}
	}()
	t.handler.ServeHTTP(w, r)
	return nil
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// answer is the ResponseWriter of a handler. Only the handler's goroutine uses it until ready is
// closed. After that, status, sent, and failed do not change.
type answer struct {
	header http.Header
	body   *io.PipeWriter
	begun  bool
	ready  chan struct{}
	status int
	sent   http.Header
	failed error
}

func (w *answer) Header() http.Header { return w.header }

// WriteHeader sends the status and the headers. Only the first call counts.
func (w *answer) WriteHeader(status int) {
	if w.begun || status < 200 { // informational answers are not passed on
		return
	}
	w.begun, w.status, w.sent = true, status, w.header.Clone()
	close(w.ready)
}

// Write returns when the text was read. It returns an error when the reader is gone.
func (w *answer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush sends the headers. Text needs no flush, because every write waits for its
// reader.
func (w *answer) Flush() { w.WriteHeader(http.StatusOK) }

// end is called after the handler has returned, with its failure.
func (w *answer) end(err error) {
	if w.begun {
		return
	}
	if err != nil {
		w.begun, w.failed = true, err
		close(w.ready)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// answerBody is the body of an answer. Closing it cancels the request.
type answerBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *answerBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
