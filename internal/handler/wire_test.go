package handler_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/model/openai"
)

// The router graph works with a real provider's wire format: the model receives the tools with
// their schemas, two clocks are read in parallel, and the answer is generated from their results.
func TestTheRouterGraphOverTheWire(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages       []struct{ Role, Content string }
			ResponseFormat *struct {
				Type string `json:"type"`
			} `json:"response_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
			http.Error(w, "bad request", http.StatusBadRequest)
			return
		}
		answer := `{"tools":[{"name":"datetime","args":{"timezone":"Asia/Tokyo"}},{"name":"datetime","args":{"timezone":"Europe/London"}}]}`
		last := q.Messages[len(q.Messages)-1].Content
		switch {
		case q.ResponseFormat == nil && strings.HasPrefix(last, "Tool results: ") && strings.Contains(last, "datetime_0") &&
			strings.Contains(last, "datetime_1"):
			answer = "It is late in Tokyo and early in London."
		case q.ResponseFormat == nil || q.ResponseFormat.Type != "json_schema" || !strings.Contains(q.Messages[0].Content, "- datetime: "):
			http.Error(w, "neither the router's question nor the generator's", http.StatusBadRequest)
			return
		}
		content, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(
			w,
			`data: {"model":"m","choices":[{"index":0,"delta":{"content":%s},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n",
			content,
		)
	}))
	t.Cleanup(server.Close)
	run, rows := converse(t, openai.New(openai.Config{Name: "local", BaseURL: server.URL, Model: "m"}), `
nodes: {router: {type: router}, tools: {type: tools}, generator: {type: generator}, answer: {type: set, input: "${last.response}"}}
edges: [{from: router, to: tools, condition: "expr: size(last.selectedTools) > 0"}, {from: router, to: generator, condition: default}, {from: tools, to: generator}, {from: generator, to: answer}]`)
	if run.Status != domain.RunCompleted || string(run.Output) != `"It is late in Tokyo and early in London."` {
		t.Fatalf("%s %s %+v", run.Status, run.Output, run.Error)
	}
	for _, e := range rows {
		if e.Node == "tools" && e.Final &&
			(!strings.Contains(string(e.Output), "Asia/Tokyo") || !strings.Contains(string(e.Output), "Europe/London")) {
			t.Errorf("%s", e.Output)
		}
	}
}
