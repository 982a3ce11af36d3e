package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// FuzzMCPFrame writes arbitrary lines. The reader ends, no batch and no response without a request
// passes, and the number of unrequested messages is limited.
func FuzzMCPFrame(f *testing.F) {
	const answer, note = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`
	for _, s := range []string{"", "\n\n", answer + "\n", note + "\n" + answer + "\n", "[" + answer + "]\n" + answer + "\n",
		" \t[" + note + "]\n",
		strings.Repeat(note+"\n", 20), strings.Repeat(`{"jsonrpc":"2.0","id":7,"result":1}`+"\n", 12),
		`{"jsonrpc":"2.0","id":1.5,"result":{}}` + "\n",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}` + "\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" + strings.Repeat("[", 300) + "\n", "\xff\xfe\n", "{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, written []byte) {
		ctx := context.Background()
		lines := &unbatched{Reader: bytes.NewReader(slices.Clone(written))}
		c, err := watched{&sdk.IOTransport{Reader: io.NopCloser(lines), Writer: discard{io.Discard}, MaxLineLength: maxFrame}}.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		id, err := jsonrpc.MakeID(float64(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Write(ctx, &jsonrpc.Request{ID: id, Method: "ping"}); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for {
			m, err := c.Read(ctx)
			if err != nil {
				break
			}
			if r, ok := m.(*jsonrpc.Response); ok {
				if answers++; r.ID != id || answers > 1 {
					t.Fatalf("an answer that nobody asked for passes: %v in %q", r.ID, written)
				}
			}
		}
		kept, err := io.ReadAll(&unbatched{Reader: bytes.NewReader(slices.Clone(written))})
		for line := range strings.SplitSeq(string(kept), "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " \t\r"), "[") {
				t.Fatalf("a batch passes (%v): %q", err, line)
			}
		}
	})
}

// FuzzDefinition: an arbitrary definition is refused, or has a callable name and a usable schema.
func FuzzDefinition(f *testing.F) {
	for _, s := range []string{`{"name":"a","inputSchema":{"type":"object"}}`,
		`{"name":"a.b","inputSchema":{"$ref":"http://x/"}}`, `{"name":"","inputSchema":null}`,
		`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"pattern":"(a+)+$"}}},` +
			`"annotations":{"readOnlyHint":true}}`, `{"name":"../a"}`,
		`{"name":"a","inputSchema":[1]}`, `{"name":"a","inputSchema":{"allOf":[{"allOf":[{}]}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var tool sdk.Tool
		if json.Unmarshal(text, &tool) != nil {
			return
		}
		d, err := define(&tool)
		if err != nil {
			return
		}
		if !toolPart.MatchString(d.Name) || len(d.hash()) != 64 {
			t.Errorf("%q is taken: %+v", text, d)
		}
		if untrusted := (Server{}); untrusted.effect(d) != "unsafe" {
			t.Errorf("an untrusted server's word counts: %+v", d)
		}
	})
}
