package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Chat is a local server of the OpenAI protocol that records every request.
type Chat struct {
	URL string
	// Header is sent with every answer. Set it before the first request.
	Header http.Header

	mu       sync.Mutex
	requests []ChatRequest
}

// ChatRequest is a request in its wire format.
type ChatRequest struct {
	Model    string
	Messages []ChatMessage
	// Format is response_format, as sent, or nil.
	Format map[string]any `json:"response_format"`
}

// ChatMessage is a message of a [ChatRequest].
type ChatMessage struct{ Role, Content string }

// System returns the text of all system messages.
func (r ChatRequest) System() string { return r.of("system") }

// User returns the text of all messages of the user.
func (r ChatRequest) User() string { return r.of("user") }

// Last returns the text of the last message.
func (r ChatRequest) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

func (r ChatRequest) of(role string) string {
	var out []string
	for _, m := range r.Messages {
		if m.Role == role {
			out = append(out, m.Content)
		}
	}
	return strings.Join(out, "\n")
}

// NewChat starts a server that answers each request with a text. If the text is empty, it closes
// the connection without an answer.
func NewChat(t testing.TB, answer func(ChatRequest) string) *Chat {
	t.Helper()
	c := &Chat{Header: http.Header{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q ChatRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		c.requests = append(c.requests, q)
		c.mu.Unlock()
		text := answer(q)
		if text == "" {
			panic(http.ErrAbortHandler)
		}
		delta, err := json.Marshal(text)
		if err != nil {
			t.Error(err)
		}
		maps.Copy(w.Header(), c.Header)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(
			w,
			"data: {\"model\":\"test-model\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":null}]}\n\n",
			delta,
		)
		fmt.Fprint(w, "data: {\"model\":\"test-model\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
		fmt.Fprintf(
			w,
			"data: {\"model\":\"test-model\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n",
			len(strings.Fields(q.User())),
			len(strings.Fields(text)),
		)
	}))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// Requests lists the requests so far, in order of arrival.
func (c *Chat) Requests() []ChatRequest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]ChatRequest(nil), c.requests...)
}
