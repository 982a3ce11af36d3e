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
	"strconv"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
)

const (
	// silence is the maximum time without data on a stream. The daemon sends a heartbeat every 15
	// seconds.
	silence      = 60 * time.Second
	maxEventLine = 16 << 20
	maxBackoff   = 5 * time.Second
)

// Events yields events until the context ends: those of one run from its beginning, or with an
// empty run all events from now on. After an interruption, it continues after the last event. After
// a "reset" event, events may be missing, so read the followed data again. An error ends the
// sequence; an interruption does not.
func (c *Client) Events(ctx context.Context, run, after string) iter.Seq2[domain.Event, error] {
	return func(yield func(domain.Event, error) bool) {
		wait := time.Duration(0)
		for {
			delivered, more, err := c.listen(ctx, run, &after, yield)
			if !more || ctx.Err() != nil {
				return
			}
			if err != nil {
				if e, ok := errors.AsType[*domain.Error](err); ok && e.Code != domain.CodeUnavailable {
					yield(domain.Event{}, err)
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

// Subscribe delivers events until the context ends; see Events. If after is 0, it begins at the
// start of the run; if it is negative, it begins now; otherwise it begins after that event. The
// channel is closed when the context ends or the daemon rejects the request.
func (c *Client) Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error) {
	from := strconv.FormatInt(max(after, 0), 10)
	if after < 0 && run != "" {
		past, err := all[domain.Event](ctx, c, runPath(run)+"/events", nil, 0)
		if err != nil {
			return nil, err
		}
		if n := len(past); n > 0 {
			from = past[n-1].ID
		}
	} else if after < 0 {
		from = ""
	}
	out := make(chan domain.Event, 64)
	go func() {
		defer close(out)
		for e, err := range c.Events(ctx, run, from) {
			if err != nil {
				return
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// Wait returns when the run is final, when it waits for a person, or when the context ends.
func (c *Client) Wait(ctx context.Context, run string) (domain.Run, error) {
	r, err := c.FindRun(ctx, run)
	if err != nil || settled(r) {
		return r, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := c.Subscribe(ctx, -1, r.ID)
	if err != nil {
		return r, err
	}
	// The stream does not report events from before it was open. Poll the run soon at first, and
	// then less and less often.
	quiet := pollLeast
	for pause := pollLeast; ; {
		// An event means that something has happened. Many events cause one request. Without
		// events, the run is polled from time to time, so that an interruption loses nothing.
		select {
		case _, ok := <-events:
			if !ok && ctx.Err() == nil {
				events = nil // the daemon rejects the stream: poll
			}
		case <-time.After(quiet):
			quiet = min(2*quiet, pollMost)
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r, context.Cause(ctx)
		}
		for drained := false; !drained; {
			select {
			case _, ok := <-events:
				drained = !ok
			default:
				drained = true
			}
		}
		began := time.Now()
		now, err := c.FindRun(ctx, r.ID)
		if err != nil {
			return r, err
		}
		if r = now; settled(r) {
			return r, nil
		}
		pause = min(max(pollLeast, 4*time.Since(began)), pollMost)
	}
}

// Intervals of Wait's polls. They grow with the time of waiting.
const (
	pollLeast = 50 * time.Millisecond
	pollMost  = 5 * time.Second
)

func settled(r domain.Run) bool {
	return r.Status.Final() || r.Status == domain.RunWaiting && r.WaitReason.NeedsPerson()
}

// listen reads one stream until it ends. more is false when the receiver wants no more events.
func (c *Client) listen(
	ctx context.Context,
	run string,
	after *string,
	yield func(domain.Event, error) bool,
) (delivered, more bool, err error) {
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
			var e domain.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return delivered, true, domain.Errorf(domain.CodeInternal, "invalid event: %w", err)
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
