package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

const (
	// silence is how long a stream may be quiet: the daemon says every 15
	// seconds that it is alive.
	silence      = 60 * time.Second
	maxEventLine = 16 << 20
	maxBackoff   = 5 * time.Second
)

// Events delivers events as they happen until the context ends: of one run
// from its beginning, or, with run "", all from now on. After a break it goes
// on where it was. An event "reset" means that some may be missing: read
// afresh what you follow. An error ends the sequence; a break does not.
func (c *Client) Events(ctx context.Context, run, after string) iter.Seq2[kairos.Event, error] {
	return func(yield func(kairos.Event, error) bool) {
		wait := time.Duration(0)
		for {
			delivered, more, err := c.listen(ctx, run, &after, yield)
			if !more || ctx.Err() != nil {
				return
			}
			if err != nil {
				if e, ok := errors.AsType[*kairos.Error](err); ok && e.Code != kairos.CodeUnavailable {
					yield(kairos.Event{}, err)
					return
				}
			}
			if wait = min(max(wait*2, 100*time.Millisecond), maxBackoff); delivered {
				wait = 100 * time.Millisecond
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return
			}
		}
	}
}

// listen reads one stream to its end; more is false when the listener had
// enough.
func (c *Client) listen(ctx context.Context, run string, after *string, yield func(kairos.Event, error) bool) (delivered, more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := call{method: http.MethodGet, path: "/events", accept: "text/event-stream", query: url.Values{}}
	if run != "" {
		k.path = runPath(run) + "/events"
	}
	r, err := c.request(ctx, k)
	if err != nil {
		return false, true, err
	}
	if *after != "" {
		r.Header.Set("Last-Event-ID", *after)
	}
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	resp, err := c.http.Do(r)
	if err != nil {
		return false, true, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			return false, true, c.unreachable(ctx, err)
		}
		return false, true, c.failure(resp, text)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), maxEventLine)
	var id string
	var data []byte
	for lines.Scan() {
		quiet.Reset(silence)
		line := lines.Bytes()
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if data == nil {
				continue
			}
			var e kairos.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return delivered, true, kairos.Errorf(kairos.CodeInternal, "an event is not readable: %w", err)
			}
			if id != "" {
				*after = id
			}
			id, data, delivered = "", nil, true
			if !yield(e, nil) {
				return delivered, false, nil
			}
		case string(field) == "id":
			id = string(value)
		case string(field) == "data":
			data = append(data, value...)
		}
	}
	return delivered, true, lines.Err()
}
