package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner"
)

// transport returns the transport of a client in this process, and a function that closes it.
func transport(h http.HandlerFunc) (http.RoundTripper, func()) {
	c := client.InProcess(h, func() error { return nil })
	return client.Transport(c), func() { _ = c.Close() } // stop never fails
}

func get(t *testing.T, ctx context.Context, rt http.RoundTripper) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://kairosd/x?y=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return rt.RoundTrip(r)
}

// The client receives the headers first, each part of the body when it is written, and the end when
// the handler has returned.
func TestInProcessStreams(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	rt, end := transport(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Query", r.URL.Query().Get("y"))
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "yes")
		w.WriteHeader(http.StatusOK)
		for text := range next {
			fmt.Fprint(w, text)
		}
	})
	defer end()
	res, err := get(t, t.Context(), rt)
	if err != nil || res.StatusCode != http.StatusTeapot || res.Header.Get("X-Query") != "1" || res.Header.Get("X-Late") != "" {
		t.Fatalf("%+v, %v", res, err)
	}
	defer res.Body.Close()
	buf := make([]byte, 16)
	for _, want := range []string{"one", "two"} {
		next <- want
		if n, err := io.ReadFull(res.Body, buf[:3]); err != nil || string(buf[:n]) != want {
			t.Fatalf("read %q, %v; want %q", buf[:n], err, want)
		}
	}
	close(next)
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %q, %v", rest, err)
	}
}

// Flush sends the headers before there is a body. A handler that writes nothing answers 200.
func TestInProcessFlushesHeaders(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	rt, end := transport(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-release
	})
	defer end()
	res, err := get(t, t.Context(), rt)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", res, err)
	}
	close(release)
	if text, err := io.ReadAll(res.Body); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
	silent, end := transport(func(http.ResponseWriter, *http.Request) {})
	defer end()
	if res, err := get(t, t.Context(), silent); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%+v, %v", res, err)
	}
}

// Closing the body, canceling the context, or closing the client ends the request. The handler's
// context then ends, and its writes fail.
func TestInProcessCancels(t *testing.T) {
	t.Parallel()
	for name, cancelBy := range map[string]func(res *http.Response, cancel func(), end func()){
		"body":    func(res *http.Response, _, _ func()) { _ = res.Body.Close() },
		"context": func(_ *http.Response, cancel, _ func()) { cancel() },
		"client":  func(_ *http.Response, _, end func()) { end() },
	} {
		ended, wrote := make(chan struct{}), make(chan error, 1)
		rt, end := transport(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			<-r.Context().Done()
			close(ended)
			for { // until the pipe is closed, which follows the context
				if _, err := w.Write([]byte("x")); err != nil {
					wrote <- err
					return
				}
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		res, err := get(t, ctx, rt)
		if err != nil {
			t.Fatal(err)
		}
		cancelBy(res, cancel, end)
		select {
		case <-ended:
			if err := <-wrote; err == nil {
				t.Errorf("%s: a write that nobody reads succeeds", name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the handler goes on", name)
		}
		if name != "body" {
			if _, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: the body ends with %v", name, err)
			}
		}
		_ = res.Body.Close() // a pipe's never fails
		cancel()
		end()
		if _, err := get(t, t.Context(), rt); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("%s: a request after the end: %v", name, err)
		}
	}
}

// A call does not wait for a handler that writes nothing, once its context ends.
func TestInProcessCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	rt, end := transport(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	defer end()
	if res, err := get(t, ctx, rt); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", res, err)
	}
}

// A panic before the headers fails the call. A panic after them fails reading the body.
func TestInProcessPanics(t *testing.T) {
	t.Parallel()
	early, end := transport(func(http.ResponseWriter, *http.Request) { panic("lost the thread") })
	defer end()
	if res, err := get(t, t.Context(), early); err == nil || !strings.Contains(err.Error(), "lost the thread") {
		t.Errorf("%+v, %v", res, err)
	}
	late, end := transport(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "begun")
		panic(http.ErrAbortHandler)
	})
	defer end()
	res, err := get(t, t.Context(), late)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(res.Body); string(text) != "begun" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", text, err)
	}
}

// The principal of a handler in this process is set when the API is built. A request cannot change it.
func TestInProcessPrincipal(t *testing.T) {
	t.Parallel()
	e := enginetest.Open(t, enginetest.NewRegistry())
	h, err := api.New(
		api.Config{
			App:            app.New(apptest.Config(t, e.Store, e.Engine)),
			Reader:         e.Store,
			Engine:         e.Engine,
			Local:          &root,
			SessionCookies: []string{"session"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	c := client.InProcess(h, func() error { closed++; h.Close(); return nil })
	if !c.InProcess() {
		t.Error("the client does not know where its API is")
	}
	for _, header := range [][2]string{{"Authorization", "Bearer kairos_x"}, {"Cookie", "session=x"},
		{"X-Forwarded-User", "marta"}, {"X-Kairos-Actor", "marta"}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://kairosd/api/v1/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header[0], header[1])
		res, err := client.Transport(c).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), `"cli:root"`) {
			t.Errorf("%s: %d %s %v", header[0], res.StatusCode, text, err)
		}
		_ = res.Body.Close() // a pipe's never fails
	}
	if _, _, _, _, err := c.SavePlan(t.Context(), []byte("id: x\nnodes: {a: {type: set, input: 1}}\n"), planner.FormatYAML, "",
		""); err != nil {
		t.Fatal(err)
	}
	run, err := c.Start(t.Context(), domain.StartRequest{Plan: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if r := settled(t, c, run.ID); string(r.Output) != "1" {
		t.Errorf("got %+v", r)
	}
	if err := c.Close(); err != nil || closed != 1 {
		t.Errorf("closed %d times: %v", closed, err)
	}
}
