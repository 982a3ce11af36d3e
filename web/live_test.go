package web_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web"
	"github.com/kairosd/kairosd/web/webtest"
)

// streamEvent is one event of a live stream.
type streamEvent struct{ id, name, data string }

// serveWithFastHeartbeat serves the dashboard of a site with frequent heartbeats.
func serveWithFastHeartbeat(t *testing.T, site *webtest.Site) (address string) {
	t.Helper()
	config := site.Web
	config.Hosts, config.Beat = nil, 2*time.Millisecond
	s, err := web.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() { s.Close(); server.Close() })
	return server.URL
}

// listen opens a stream with the session of b. It returns the hints of the stream and a function
// that closes it. The channel is closed when the stream has ended.
func listen(t *testing.T, b *webtest.Browser, address string, header ...string) (says <-chan streamEvent, leave func()) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	req := webtest.Request(t, http.MethodGet, address, "", header...).WithContext(ctx)
	for _, c := range b.Cookies() {
		req.AddCookie(c)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%s: got status %d, want %d: %v", address, resp.StatusCode, http.StatusOK, resp.Header)
	}
	out := make(chan streamEvent)
	leave = func() {
		stop()
		for range out { // until the stream has ended
		}
	}
	t.Cleanup(leave)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		defer func() {
			if ctx.Err() == context.DeadlineExceeded {
				t.Error("the stream did not end within a minute")
			}
		}()
		var h streamEvent
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "id":
				h.id = value
			case "event":
				h.name = value
			case "data":
				h.data = value
			case "":
				select {
				case out <- h:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, leave
}

// nextEvent returns the next event of a stream.
func nextEvent(t *testing.T, from <-chan streamEvent) streamEvent {
	t.Helper()
	h, ok := <-from
	if !ok {
		t.Fatal("the stream has ended")
	}
	return h
}

var streamPosition = regexp.MustCompile(`data-after="([^"]+)"`)

// A page contains the position of its last event. Its stream requests a refresh only if something
// happened since then, stored or not, or if another process rendered the page.
func TestAStreamBeginsWhereThePageEnds(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	b := site.Browser(t).Login()
	address := serveWithFastHeartbeat(t, site)
	page := func() string {
		t.Helper()
		req := webtest.Request(t, http.MethodGet, address+"/runs/"+seed.Waiting.ID, "")
		for _, c := range b.Cookies() {
			req.AddCookie(c)
		}
		m := streamPosition.FindStringSubmatch(site.Browser(t).Do(req).Body)
		if m == nil {
			t.Fatal("the page does not contain its stream position")
		}
		return m[1]
	}
	stream := address + "/live?t=run-" + seed.Waiting.ID + "&after="
	begins := func(after string, header ...string) (told bool, at streamEvent) {
		t.Helper()
		from, leave := listen(t, b, stream+url.QueryEscape(after), header...)
		defer leave()
		first := nextEvent(t, from)
		if first.name != "hello" || first.id == "" || !strings.HasPrefix(first.id, first.data+"-") {
			t.Fatalf("got first stream event %+v", first)
		}
		second := nextEvent(t, from)
		if second.name != "resync" && second.name != "beat" {
			t.Fatalf("got second stream event %+v", second)
		}
		return second.name == "resync", second
	}
	before := page()
	told, at := begins(before)
	if told || at.id != before {
		t.Errorf("got first event %+v for an up-to-date page at position %s", at, before)
	}
	open, _ := listen(t, b, stream+url.QueryEscape(before))
	site.Engine.Announce("node_log", map[string]any{"text": "not stored"})
	if told, _ := begins(before); !told {
		t.Error("an event between the page and its stream causes no resync")
	}
	if told, _ := begins(before, "Last-Event-ID", page()); told {
		t.Error("a reconnected stream resumes at an earlier position than its page")
	}
	for _, other := range []string{"", "0", "another-" + strings.SplitN(before, "-", 2)[1]} {
		if told, _ := begins(other); !told {
			t.Errorf("a page at position %q gets no resync", other)
		}
	}
	// An event of the run sends a hint and advances the position of the stream.
	list, err := site.Store.Approvals(t.Context(), domain.ApprovalFilter{Run: seed.Waiting.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	if _, err := site.Engine.Decide(t.Context(), site.Admin, domain.DecideRequest{Approval: list.Items[0].ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	for {
		h := nextEvent(t, open)
		if h.name == "hint" {
			if h.data != "run-"+seed.Waiting.ID || h.id == before {
				t.Errorf("%+v after %s", h, before)
			}
			break
		}
	}
}

// A stream ends when its session ends, and pages of other sites cannot open it.
func TestAStreamEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	address := serveWithFastHeartbeat(t, site) + "/live?t=runs"
	stream, _ := listen(t, b, address)
	nextEvent(t, stream)
	u, err := site.Auth.Session(t.Context(), b.Cookies()[0].Value)
	if err != nil {
		t.Fatal(err)
	}
	if err := site.Auth.EndSessions(t.Context(), site.Admin, u.ID, ""); err != nil {
		t.Fatal(err)
	}
	for range stream { // until the stream ends
	}
	req := webtest.Request(t, http.MethodGet, address, "", "Origin", "https://xc.example")
	for _, c := range site.Browser(t).Login().Cookies() {
		req.AddCookie(c)
	}
	if p := site.Browser(t).Do(req); p.Code != http.StatusForbidden {
		t.Errorf("a stream opened by another site: got status %d, want %d", p.Code, http.StatusForbidden)
	}
}
