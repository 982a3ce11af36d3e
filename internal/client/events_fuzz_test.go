package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

// answering answers every request with the same body.
type answering struct{ body []byte }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Request:    r,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

// FuzzSSE: reading any stream of events ends. Only events in the stream are delivered, and only
// they move the position.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{"", "\n", ": alive\n\n", "id: a-1\ndata: {\"type\":\"x\",\"seq\":1}\n\n",
		"data: {\"type\":\"x\"}\r\n\r\n", "data: {\ndata: }\n\n", "id: a-2\n\nid: a-3\ndata: nonsense\n\n",
		"event: x\nretry: 5\ndata: {}\n\ndata", "data:{\"at\":\"yesterday\"}\n\n", "data: [1]\n\n", "\x00\xff\n\n",
		strings.Repeat("data: 1\n", 100) + "\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Client{origin: "http://kairosd", http: &http.Client{Transport: answering{body}}}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		after, n := "begin", 0
		_, more, err := c.listen(ctx, "", &after, func(e domain.Event, err error) bool {
			n++
			if _, encodes := json.Marshal(e); encodes != nil || err != nil {
				t.Errorf("%q gives %+v, %v", body, e, err)
			}
			return true
		})
		switch {
		case !more || ctx.Err() != nil:
			t.Errorf("%q: the listener had enough: %v", body, err)
		case n > bytes.Count(body, []byte("data")):
			t.Errorf("%q gives %d events", body, n)
		case n == 0 && after != "begin":
			t.Errorf("%q moves the position to %q without an event", body, after)
		case after != "begin" && !bytes.Contains(body, []byte(after)):
			t.Errorf("%q moves the position to %q", body, after)
		}
	})
}
