// Package modeltest tests model providers with servers of their wire format.
package modeltest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/planner/walk"
)

// Wire is a protocol: the streams of a server.
type Wire struct {
	// Text, Calls, and Length are complete answers. Cut ends in the middle of a tool call, and
	// Failing contains an error.
	Text, Calls, Length, Cut, Failing string
	// Uncounted is Text without usage, or with a negative one.
	Uncounted string
	// Begin and repetitions of Part are an endless answer.
	Begin, Part string
	// Path is the path of the requests.
	Path string
	// Sent contains texts that the body of the request must contain.
	Sent []string
}

// Tools are the tools of the conversations. One has a name that servers reject.
var Tools = []llm.ToolSpec{
	{
		Name:        "datetime",
		Description: "the time",
		Schema:      map[string]any{"type": "object", "properties": map[string]any{"timezone": map[string]any{"type": "string"}}},
	},
	{Name: "files.read"},
}

// Conversation is a request with every kind of content.
func Conversation() llm.Request {
	zero := 0.0
	return llm.Request{Tools: Tools, MaxTokens: 100, Temperature: &zero, Messages: []llm.Message{
		{Role: llm.RoleSystem, Text: "You tell the time."}, {Role: llm.RoleUser, Text: "What time is it?"},
		{
			Role: llm.RoleAssistant,
			Text: "Let me look.",
			Calls: []llm.Call{
				{ID: "c1", Tool: "datetime", Arguments: `{"timezone":"UTC"}`},
				{ID: "c2", Tool: "files.read", Arguments: `{}`},
			},
		},
		{Role: llm.RoleTool, CallID: "c1", Text: "noon"}, {Role: llm.RoleTool, CallID: "c2", Text: "Error: no"}}}
}

// Run checks a provider against its protocol.
func Run(t *testing.T, w Wire, provide func(url string) llm.Provider) {
	serve := func(t *testing.T, h http.HandlerFunc) llm.Provider {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return provide(s.URL)
	}
	streaming := func(body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, body)
		}
	}
	t.Run("text", func(t *testing.T) {
		var path, sent string
		p := serve(t, func(rw http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			path, sent = r.URL.Path, string(b)
			streaming(w.Text)(rw, r)
		})
		q := Conversation()
		var streamed strings.Builder
		q.Stream = func(s string) { streamed.WriteString(s) }
		got, err := p.Complete(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got.Finish == "" {
			t.Error("it does not say why the model ended")
		}
		want := llm.Response{
			Text:   "It is noon.",
			Model:  "test-model",
			Finish: got.Finish,
			Usage:  llm.Usage{InputTokens: 12, OutputTokens: 5},
		}
		if d := cmp.Diff(want, got); d != "" || streamed.String() != want.Text {
			t.Errorf("streamed %q\n%s", streamed.String(), d)
		}
		if path != w.Path {
			t.Errorf("called %s, want %s", path, w.Path)
		}
		for _, part := range w.Sent {
			if !strings.Contains(sent, part) {
				t.Errorf("%s is not in what was sent:\n%s", part, sent)
			}
		}
	})
	t.Run("parallel calls", func(t *testing.T) {
		got, err := serve(t, streaming(w.Calls)).Complete(t.Context(), Conversation())
		want := []llm.Call{
			{ID: "a", Tool: "datetime", Arguments: `{"timezone":"Asia/Tokyo"}`},
			{ID: "b", Tool: "files.read", Arguments: `{"path":"x"}`},
		}
		if d := cmp.Diff(want, got.Calls); err != nil || d != "" {
			t.Errorf("%v\n%s", err, d)
		}
	})
	status := func(code int, header, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			if header != "" {
				rw.Header().Set("Retry-After", header)
			}
			rw.WriteHeader(code)
			io.WriteString(rw, body)
		}
	}
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	refusing := httptest.NewServer(http.NotFoundHandler())
	refusing.Close()
	for _, c := range []struct {
		name      string
		serve     http.HandlerFunc
		code      string
		permanent bool
		after     time.Duration
	}{
		{"L06 rate limit in seconds", status(429, "7", `{"error":{"message":"slow down"}}`), model.CodeRateLimited, false, 7 * time.Second},
		{"L06 absurd rate limit", status(429, "86400", `{}`), model.CodeRateLimited, false, time.Minute},
		{"L06 rate limit of nonsense", status(429, "soon", `slow`), model.CodeRateLimited, false, 0},
		{"L07 overloaded", status(529, "", `{"error":{"message":"overloaded"}}`), model.CodeUnavailable, false, 0},
		{"L07 server error as text", status(500, "", `oops`), model.CodeUnavailable, false, 0},
		{"L08 too long", status(400, "", `{"error":{"message":"prompt is too long: 300000 tokens"}}`), model.CodeTooLong, true, 0},
		{"L08 bad key", status(401, "", `{"error":{"message":"invalid x-api-key"}}`), model.CodeAuth, true, 0},
		{"L08 unknown model, error as a string", status(404, "", `{"error":"model not found"}`), model.CodeRejected, true, 0},
		{"L09 cut in a call", streaming(w.Cut), model.CodeTruncated, false, 0},
		{"L09 cut by the network", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "100000")
			streaming(w.Cut)(rw, r)
		}, model.CodeTruncated, false, 0},
		{"L09 nothing at all", streaming(""), model.CodeTruncated, false, 0},
		{"an error in the stream", streaming(w.Failing), model.CodeUnavailable, false, 0},
		{"L10 out of tokens", streaming(w.Length), model.CodeMaxTokens, true, 0},
		{"L12 endless answer", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, w.Begin)
			for range 6 << 20 / len(w.Part) {
				if _, err := io.WriteString(rw, w.Part); err != nil {
					return
				}
			}
		}, model.CodeOversized, true, 0},
		{"L12 one line of 10 MB", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, w.Begin)
			io.WriteString(rw, "data: ")
			for range 10 {
				if _, err := io.WriteString(rw, strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
		}, model.CodeOversized, true, 0},
		{"L16 redirect to another host", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, model.CodeUnavailable, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := serve(t, c.serve).Complete(t.Context(), Conversation())
			f, ok := errors.AsType[*walk.Failure](err)
			if !ok {
				t.Fatalf("not a failure: %v", err)
			}
			if f.Code != c.code || f.Permanent != c.permanent || f.RetryAfter != c.after || !f.NoEffect || f.Message == "" {
				t.Errorf("got %s permanent=%v after=%s: %s (%s)", f.Code, f.Permanent, f.RetryAfter, f.Message, f.Detail)
			}
		})
	}
	t.Run("L06 a wait until a date", func(t *testing.T) {
		at := time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat)
		_, err := serve(t, status(503, at, "")).Complete(t.Context(), Conversation())
		if f := walk.AsFailure(err); f.Code != model.CodeUnavailable || f.RetryAfter <= 0 || f.RetryAfter > 40*time.Second {
			t.Errorf("%v after %s", err, f.RetryAfter)
		}
	})
	t.Run("L07 a connection that is reset", func(t *testing.T) {
		_, err := serve(t, func(rw http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if tcp, ok := conn.(*net.TCPConn); ok {
				if err := tcp.SetLinger(0); err != nil {
					t.Error(err)
				}
			}
			conn.Close()
		}).Complete(t.Context(), Conversation())
		if f := walk.AsFailure(err); f.Permanent || f.Code != model.CodeUnavailable && f.Code != model.CodeTruncated {
			t.Errorf("got %v", err)
		}
	})
	t.Run("L14 no usage", func(t *testing.T) {
		got, err := serve(t, streaming(w.Uncounted)).Complete(t.Context(), Conversation())
		if u := got.Usage; err != nil || u.InputTokens < 5 || u.InputTokens > 100 || u.OutputTokens < 1 || u.OutputTokens > 10 {
			t.Errorf("%+v %v", u, err)
		}
	})
	t.Run("no server", func(t *testing.T) {
		_, err := provide(refusing.URL).Complete(t.Context(), Conversation())
		if f := walk.AsFailure(err); f == nil || f.Code != model.CodeUnavailable || f.Permanent {
			t.Errorf("got %v", err)
		}
	})
	t.Run("L17 an untrusted certificate", func(t *testing.T) {
		s := httptest.NewUnstartedServer(streaming(w.Text))
		s.Config.ErrorLog = nil
		s.StartTLS()
		t.Cleanup(s.Close)
		_, err := provide(s.URL).Complete(t.Context(), Conversation())
		if f := walk.AsFailure(err); f == nil || f.Code != "tls" || !f.Permanent {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		p := serve(t, func(rw http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // a server detects a disconnected client only after it has read the request
			cancel(gone)
			<-r.Context().Done()
		})
		if _, err := p.Complete(ctx, Conversation()); !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("L13 not UTF-8", func(t *testing.T) {
		got, err := serve(t, streaming(strings.Replace(w.Text, "noon", "no\xffon", 1))).Complete(t.Context(), Conversation())
		if err != nil || got.Text != "It is no\uFFFDon." {
			t.Errorf("%q %v", got.Text, err)
		}
	})
}
