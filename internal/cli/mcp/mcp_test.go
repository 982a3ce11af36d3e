package mcp_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairos"
)

const greet = `id: greet
description: Greets a person.
expose: [mcp]
input: {type: object, required: [name], properties: {name: {type: string}}}
nodes: {a: {type: noop}, b: {type: set, needs: [a], input: "hello ${input.name}"}}`

// A client over standard input and output has the tools of the database, and gets results and progress.
func TestAClientOverStandardInputAndOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := func(k string) string {
		return map[string]string{"HOME": dir, "KAIROS_DB": filepath.Join(dir, "k.db")}[k]
	}
	file := filepath.Join(dir, "greet.yaml")
	if err := os.WriteFile(file, []byte(greet), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	streams := cli.Streams{In: strings.NewReader(""), Out: &log, Err: &log, Env: env}
	if code := kairos.Run(t.Context(), streams, []string{"plans", "add", file}); code != 0 {
		t.Fatalf("exit %d: %s", code, &log)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan int, 1)
	streams.In, streams.Out = in, out
	go func() { ended <- kairos.Run(t.Context(), streams, []string{"mcp"}) }()

	progress := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.ProgressToken.(string)
		}})
	c, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if about := c.InitializeResult().Instructions; !strings.Contains(about, "you cannot approve it") {
		t.Errorf("the instructions are %q", about)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 6 || list.Tools[0].Name != "greet" || !list.Tools[0].Annotations.ReadOnlyHint {
		t.Fatalf("got %+v %v, want greet and five operators' tools", list, err)
	}
	p := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}, Meta: mcp.Meta{"kairosd/idempotencyKey": "k1"}}
	p.SetProgressToken("p1")
	first, err := c.CallTool(t.Context(), p)
	if err != nil || first.IsError || first.Content[1].(*mcp.TextContent).Text != "hello Ada" {
		t.Fatalf("got %+v %v", first, err)
	}
	if token := <-progress; token != "p1" {
		t.Errorf("progress of %q", token)
	}
	second, err := c.CallTool(t.Context(), p)
	run := func(r *mcp.CallToolResult) any { return r.StructuredContent.(map[string]any)["run"] }
	if err != nil || run(first) != run(second) {
		t.Errorf("two runs with one key: %v and %v, %v", run(first), run(second), err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing"}); err == nil {
		t.Error("a call of an unknown tool succeeds")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, &log)
	}
}

// A server that does not answer is an error before the client is served.
func TestNoServer(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	streams := cli.Streams{In: strings.NewReader(""), Out: &log, Err: &log, Env: func(string) string { return "" }}
	if code := kairos.Run(t.Context(), streams, []string{"mcp", "--server", "http://127.0.0.1:1"}); code != 4 {
		t.Errorf("exit %d, want 4: %s", code, &log)
	}
	if !strings.Contains(log.String(), "cannot use the MCP server") {
		t.Errorf("got %s", &log)
	}
}
