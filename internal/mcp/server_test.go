package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/mcp"
	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain runs the tests. With MCP_TEST_SERVER, it runs a server of that kind, so that servers are
// real processes.
func TestMain(m *testing.M) {
	if kind := os.Getenv("MCP_TEST_SERVER"); kind != "" {
		serve(kind)
		return
	}
	os.Exit(m.Run())
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// newServer is a typical server, written with the SDK.
func newServer(version string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again" + version, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
			return text(a.Text), nil, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "put", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, map[string]any, error) {
			return nil, map[string]any{"stored": a.Text}, nil
		})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("no such customer")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "fatal: out of luck")
		os.Exit(3)
		return nil, nil, nil
	})
	sdk.AddTool(
		s,
		&sdk.Tool{Name: "hang"},
		func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			select {}
		},
	)
	sdk.AddTool(s, &sdk.Tool{Name: "big"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text(strings.Repeat("x", 2<<20)), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "flood"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		for range 200 {
			fmt.Fprintln(os.Stderr, strings.Repeat("e", 8<<10))
		}
		return text("flooded"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "env"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text(strings.Join(os.Environ(), "\n")), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		var said []string
		//lint:ignore SA1019 servers still ask for it
		_, err := r.Session.ListRoots(ctx, nil)
		said = append(said, fmt.Sprint(err))
		//lint:ignore SA1019 servers still ask for it
		_, err = r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1})
		said = append(said, fmt.Sprint(err))
		_, err = r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "password?"})
		return text(strings.Join(append(said, fmt.Sprint(err)), " | ")), nil, nil
	})
	return s
}

// serve is the main function of a test server.
func serve(kind string) {
	switch kind {
	case "mute": // never responds
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		select {}
	case "stubborn": // ignores signals
		go func() { select {} }()
		ignore()
	case "child": // leaves a child that holds its streams
		cmd := exec.Command("/bin/sleep", "600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			os.Exit(4)
		}
		if err := os.WriteFile(os.Getenv("MCP_TEST_FILE"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
			os.Exit(5)
		}
	case "raw":
		raw(os.Getenv("MCP_TEST_SEND"))
		return
	case "crash":
		os.Exit(7)
	case "sick": // until the file exists
		if _, err := os.Stat(os.Getenv("MCP_TEST_FILE")); err != nil {
			os.Exit(7)
		}
	}
	version := ""
	if b, err := os.ReadFile(os.Getenv("MCP_TEST_FILE")); err == nil && kind == "versioned" {
		version = string(b)
	}
	s := newServer(version)
	if kind == "many" {
		for i := range 300 {
			sdk.AddTool(
				s,
				&sdk.Tool{Name: "t" + strconv.Itoa(i)},
				func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
					return text(""), nil, nil
				},
			)
		}
	}
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	if kind == "stubborn" {
		select {}
	}
}

// raw answers initialize and tools/list. For a call, it sends prepared lines instead of a response
// or before it.
func raw(send string) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(
				`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
					`"serverInfo":{"name":"raw","version":"1"}}}`+"\n",
				m.ID,
			)
		case "tools/list":
			fmt.Printf(
				`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"go","description":"","inputSchema":{"type":"object"}}]}}`+"\n",
				m.ID,
			)
		case "tools/call":
			switch send {
			case "stray":
				for i := range 5 {
					fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", 1000+i)
				}
			case "strays":
				for i := range 50 {
					fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", 1000+i)
				}
			case "frame":
				chunk := strings.Repeat("x", 1<<20)
				fmt.Print(`{"jsonrpc":"2.0","method":"`)
				for range 50 {
					if _, err := fmt.Print(chunk); err != nil {
						return
					}
				}
			case "notifications":
				for range 20_000 {
					if _, err := fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info",` +
						`"data":"x"}}`); err != nil {
						return
					}
				}
			case "batch":
				fmt.Printf(`[{"jsonrpc":"2.0","id":%s,"result":{}}]`+"\n", m.ID)
			case "batches":
				for range 20 {
					fmt.Printf(`[{"jsonrpc":"2.0","id":%s,"result":{}}]`+"\n", m.ID)
				}
			case "hang": // permanently, but not after a restart
				if _, err := os.Stat(os.Getenv("MCP_TEST_FILE")); err != nil {
					if err := os.WriteFile(os.Getenv("MCP_TEST_FILE"), nil, 0o600); err != nil {
						os.Exit(5)
					}
					time.Sleep(time.Hour)
				}
			case "garbage":
				fmt.Println("Listening on port 3000")
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", m.ID)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}

// pins stores accepted definitions like the store.
type pins struct {
	mu  sync.Mutex
	m   map[string]domain.ToolPin // by server and tool
	err error                     // error of the next put
}

func (p *pins) ToolPins(_ context.Context, server string) (out []domain.ToolPin, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.m {
		if x.Server == server {
			out = append(out, x)
		}
	}
	return out, nil
}

func (p *pins) PutToolPins(_ context.Context, list []domain.ToolPin, _ ...domain.AuditRecord) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.m == nil {
		p.m = map[string]domain.ToolPin{}
	}
	for _, x := range list {
		p.m[x.Server+"."+x.Tool] = x
	}
	return nil
}

// refuse makes later puts fail with err, or succeed if err is nil.
func (p *pins) refuse(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = why
}

// command returns the command that runs this test binary as a server of a kind.
func command(t *testing.T, kind string, env ...string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.Server{Command: []string{self}, Allow: true, Env: map[string]string{"MCP_TEST_SERVER": kind}, StartTimeout: time.Minute}
	for i := 0; i+1 < len(env); i += 2 {
		s.Env[env[i]] = env[i+1]
	}
	return s
}

// start runs a host with one server, named s.
func start(t *testing.T, s mcp.Server, kept *pins) (*mcp.Host, *tool.Set) {
	t.Helper()
	if kept == nil {
		kept = &pins{}
	}
	set := tool.NewSet(nil)
	h, err := mcp.New(mcp.Options{Servers: map[string]mcp.Server{"s": s}, Pins: kept, Registry: set, Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, set
}

func call(t *testing.T, set *tool.Set, name string, args map[string]any) (string, *walk.Failure) {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	out, err := set.Call(t.Context(), name, llm.ToolCall{Args: args, IdempotencyKey: "k"})
	if err != nil {
		return "", walk.AsFailure(err)
	}
	return jsonvalue.Text(out), nil
}

// until waits for a state of a tool.
func until(t *testing.T, h *mcp.Host, name, state string) mcp.Tool {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		for _, x := range h.Tools() {
			if x.Name == name && x.State == state {
				return x
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is never %s: %+v", name, state, h.Tools())
		}
		time.Sleep(5 * time.Millisecond)
	}
}
