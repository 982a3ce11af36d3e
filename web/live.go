package web

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
)

// live streams hints: which topic has changed, never what it says. The page
// fetches its own parts again (UI 3.2.3). Topics are "runs", "run-<id>", "drafts",
// "draft-<id>", "circuits" and the bands of home.
func (r *request) live() error {
	topics := strings.Split(r.c.QueryParam("t"), ",")
	only := ""
	if len(topics) == 1 {
		only, _ = strings.CutPrefix(topics[0], "run-")
		if !kairos.ValidID(only) {
			only = ""
		}
	}
	w := r.c.Response()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	send := func(event, data string) error {
		if err := control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return err
		}
		return control.Flush()
	}
	if !r.s.streams.enter(r.who.secret) {
		w.WriteHeader(http.StatusOK)
		_ = send("poll", "1") // or the browser has gone
		return nil
	}
	defer r.s.streams.leave(r.who.secret)
	events, err := r.s.Engine.Subscribe(r.ctx, -1, only)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	if err := send("hello", r.s.Engine.Incarnation()); err != nil {
		return nil // the browser has gone
	}
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	wanted := map[string]bool{}
	for _, t := range topics {
		wanted[t] = true
	}
	hints := func(topics []string) error {
		for _, t := range topics {
			if wanted[t] {
				if err := send("hint", t); err != nil {
					return err
				}
			}
		}
		return nil
	}
	beats := 0
	for {
		select {
		case <-r.ctx.Done():
			return nil
		case <-r.s.closing.Done():
			return nil
		case <-beat.C:
			err = send("beat", "1")
			if beats++; err == nil && beats%4 == 0 { // what changes with time alone
				err = hints([]string{"day", "system"})
			}
		case e, ok := <-events:
			switch {
			case !ok:
				return nil
			case e.Type == "reset":
				err = send("resync", "1")
			default:
				err = hints(topicsOf(e))
			}
		}
		if err != nil {
			return nil // the browser has gone
		}
	}
}

// topicsOf says what an event may have changed.
func topicsOf(e kairos.Event) []string {
	out := []string{"runs", "now"}
	if e.Run != "" {
		out = append(out, "run-"+e.Run)
	}
	kind, _, _ := strings.Cut(e.Type, "_")
	switch kind {
	case "node", "circuit", "calls": // a call that has ended, or an act on those to come
		out = append(out, "circuits")
	}
	switch {
	case kind == "circuit" || kind == "calls":
		return append(out, "system")
	case kind == "run" || kind == "failure" || kind == "bulk" || kind == "daemon" || e.Type == "node_retrying":
		if e.Type == "node_retrying" {
			out = append(out, "system") // it may be a circuit that has opened
		}
		return append(out, "attention", "approvals") // a run that ends takes its questions along
	case kind == "approval" || e.Type == "node_resolved":
		return append(out, "attention", "approvals")
	case kind == "draft":
		if data, ok := e.Data.(map[string]any); ok {
			if id, ok := data["draft"].(string); ok {
				out = append(out, "draft-"+id)
			}
		}
		return append(out, "drafts")
	case kind == "store" || kind == "maintenance":
		return append(out, "system")
	}
	return out
}

// streamsPerSession leaves two of the six connections that a browser opens to one
// host (HTTP/1.1) for pages: with six streams the seventh tab would not load.
const streamsPerSession = 4

// streams counts the live streams that each session has open. Whoever comes too
// late polls.
type streams struct {
	mu   sync.Mutex
	open map[string]int
}

func (s *streams) enter(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session] >= streamsPerSession {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[session]++
	return true
}

func (s *streams) leave(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session]--; s.open[session] == 0 {
		delete(s.open, session)
	}
}
