package openai_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/model/modeltest"
	"github.com/kairosd/kairosd/internal/model/openai"
)

const (
	head  = `{"id":"1","object":"chat.completion.chunk","model":"test-model","choices":[{"index":0,"delta":`
	usage = `data: {"id":"1","object":"chat.completion.chunk","model":"test-model","choices":[],"usage":{"prompt_tokens":12,` +
		`"completion_tokens":5,"total_tokens":17}}` + "\n\n"
	done = "data: [DONE]\n\n"
)

func chunk(delta, finish string) string {
	if finish == "" {
		finish = "null"
	} else {
		finish = `"` + finish + `"`
	}
	return "data: " + head + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

// The provider handles these rows of bad input: L06, L07, L08, L09, L10, L12, L13, L14, L16 and
// L17.
func TestProtocol(t *testing.T) {
	t.Parallel()
	calls := chunk(
		`{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"datetime","arguments":""}}]}`,
		"",
	) +
		chunk(
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"timezone\":"}}]}`,
			"",
		) +
		chunk(
			`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"files_read","arguments":"{\"path\":\"x\"}"}}]}`,
			"",
		) +
		chunk(
			`{"tool_calls":[{"index":0,"function":{"arguments":"\"Asia/Tokyo\"}"}}]}`,
			"",
		)
	modeltest.Run(t, modeltest.Wire{
		Text: chunk(
			`{"role":"assistant","content":""}`,
			"",
		) + ": a comment\n\n" + chunk(
			`{"content":"It is "}`,
			"",
		) + chunk(
			`{"content":"noon."}`,
			"",
		) + chunk(
			`{}`,
			"stop",
		) + usage + done,
		Uncounted: chunk(`{"role":"assistant","content":"It is noon."}`, "stop") +
			strings.NewReplacer(`:12`, `:-12`, `:5,`, `:-5,`).Replace(usage) + done,
		Calls:   calls + chunk(`{}`, "tool_calls") + usage + done,
		Length:  chunk(`{"content":"It"}`, "length") + done,
		Cut:     calls,
		Failing: chunk(`{"content":"It"}`, "") + `data: {"error":{"message":"the model crashed","type":"server_error"}}` + "\n\n",
		Part:    chunk(`{"content":"`+strings.Repeat("x", 4000)+`"}`, ""),
		Path:    "/v1/chat/completions",
		Sent: []string{
			`"model":"configured"`,
			`"role":"tool","content":"noon","tool_call_id":"c1"`,
			`"name":"files_read"`,
			`"temperature":1e-45`,
			`"max_tokens":100`,
			`"stream":true`,
			`"include_usage":true`,
			`"arguments":"{\"timezone\":\"UTC\"}"`,
		},
	}, func(url string) llm.Provider {
		return openai.New(openai.Config{Name: "local", BaseURL: url + "/v1/", Model: "configured"})
	})
}
