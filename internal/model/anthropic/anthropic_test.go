package anthropic_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/model/anthropic"
	"github.com/kairosd/kairosd/internal/model/modeltest"
)

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// The provider handles these rows of bad input: L06, L07, L08, L09, L10, L12, L13, L14, L16 and
// L17.
func TestProtocol(t *testing.T) {
	t.Parallel()
	start := event(
		"message_start",
		`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"test-model","content":[],`+
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}}`,
	) +
		event(
			"ping",
			`{"type":"ping"}`,
		)
	text := event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is "}}`) +
		event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"noon."}}`) +
		event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	stop := func(reason string) string {
		return event(
			"message_delta",
			`{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":5}}`,
		) +
			event(
				"message_stop",
				`{"type":"message_stop"}`,
			)
	}
	call := func(index, id, name, a, b string) string {
		return event(
			"content_block_start",
			`{"type":"content_block_start","index":`+index+`,"content_block":{"type":"tool_use","id":"`+id+`","name":"`+name+
				`","input":{}}}`,
		) +
			event(
				"content_block_delta",
				`{"type":"content_block_delta","index":`+index+`,"delta":{"type":"input_json_delta","partial_json":"`+a+`"}}`,
			) +
			event(
				"content_block_delta",
				`{"type":"content_block_delta","index":`+index+`,"delta":{"type":"input_json_delta","partial_json":"`+b+`"}}`,
			)
	}
	end := func(index string) string {
		return event("content_block_stop", `{"type":"content_block_stop","index":`+index+`}`)
	}
	calls := start + call(
		"0",
		"a",
		"datetime",
		`{\"timezone\":`,
		`\"Asia/Tokyo\"}`,
	) + end(
		"0",
	) + call(
		"1",
		"b",
		"files_read",
		`{\"path\"`,
		`:\"x\"}`,
	)
	modeltest.Run(t, modeltest.Wire{
		Text: start + text + stop("end_turn"),
		Uncounted: strings.Replace(
			start,
			`"usage":{"input_tokens":12,"output_tokens":1}`,
			`"usage":{"input_tokens":0,"output_tokens":0}`,
			1,
		) + text +
			strings.Replace(
				stop("end_turn"),
				`"output_tokens":5`,
				`"output_tokens":0`,
				1,
			),
		Calls:   calls + end("1") + stop("tool_use"),
		Length:  start + text + stop("max_tokens"),
		Cut:     calls,
		Failing: start + event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		Begin:   start + event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		Part: event(
			"content_block_delta",
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+strings.Repeat("x", 4000)+`"}}`,
		),
		Path: "/v1/messages",
		Sent: []string{
			`"model":"configured"`,
			`"max_tokens":100`,
			`"system":[{"text":"You tell the time."`,
			`"tool_use_id":"c1"`,
			`"is_error":true`,
			`"name":"files_read"`,
			`"input":{"timezone":"UTC"}`,
			`"stream":true`,
			`"temperature":0`,
		},
	}, func(url string) llm.Provider {
		return anthropic.New(anthropic.Config{Name: "claude", BaseURL: url, Key: "k", Model: "configured"})
	})
}
