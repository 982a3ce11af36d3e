package webtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/agent/llm"
	"github.com/kairosd/kairosd/internal/conversation"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/model"
	"github.com/kairosd/kairosd/internal/model/scripted"
	"github.com/kairosd/kairosd/internal/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// crmServer is an MCP server whose tool tests can change.
type crmServer struct {
	url  string
	text atomic.Value // description of the tool
}

// newCRM starts the server. It stops with the test.
func newCRM(tb testing.TB) *crmServer {
	tb.Helper()
	c := &crmServer{}
	c.text.Store("Finds a customer by id")
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "crm", Version: "1"}, nil)
		text := c.text.Load().(string)
		type in struct {
			ID string `json:"id"`
		}
		sdk.AddTool(
			s,
			&sdk.Tool{Name: "find", Description: text, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !strings.Contains(text, "deletes")}},
			func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
				return nil, map[string]any{"name": "customer " + a.ID}, nil
			},
		)
		return s
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// ChangeTool changes the description of the tool find of the MCP server crm, and waits until the
// daemon has loaded it.
func (s *Site) ChangeTool(tb testing.TB, text string) {
	tb.Helper()
	s.crm.text.Store(text)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err := s.Tools.RetryToolServer("crm"); err != nil {
			tb.Fatal(err)
		}
		list, err := s.Tools.Tools(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		for _, t := range list {
			if t.Name == "crm.find" && t.Change != nil && t.Change.Offered.Description == text {
				return
			}
		}
	}
	tb.Fatal("the change is not detected")
}

// newCatalog returns agents: a front desk that hands over to an accountant.
func newCatalog(tb testing.TB, box *tool.Box) *handler.Registry {
	tb.Helper()
	first, second := 0, 1
	script := scripted.New(scripted.Script{Answers: []scripted.Answer{
		{Contains: "break", Error: &scripted.Error{Code: "overloaded", Message: "the model is <b>overloaded</b>", Permanent: true}},
		{Contains: "vanish", Error: &scripted.Error{Code: model.CodeUnavailable, Message: "the provider is down"}},
		{
			System: "desk",
			Turn:   &first,
			Calls: []scripted.Call{
				{
					Tool: conversation.HandoffTool,
					Arguments: map[string]any{
						"targetAgentId": "accountant",
						"reason":        "capability_match",
						"explanation":   "compute 6*7",
						"returnControl": true,
					},
				},
			},
			InputTokens:  100,
			OutputTokens: 10,
		},
		{System: "desk", Turn: &second, Text: "The answer: <i>${last}</i>", InputTokens: 200, OutputTokens: 20},
		{
			System:       "accountant",
			Turn:         &first,
			Calls:        []scripted.Call{{Tool: "calculator", Arguments: map[string]any{"expression": "6*7"}}},
			InputTokens:  10,
			OutputTokens: 1,
		},
		{System: "accountant", Turn: &second, Text: "${last}", InputTokens: 20, OutputTokens: 2},
	}})
	models, err := handler.NewModels(handler.Config{Providers: map[string]llm.Provider{"script": script}, DefaultProvider: "script",
		Prices: map[string]map[string]model.Price{"script": {"scripted": {Input: 1000, Output: 2000}}},
		About:  map[string]domain.ProviderInfo{"script": {Type: "scripted", Model: "scripted"}},
		Agents: []handler.Agent{
			{
				ID:           "desk",
				Name:         "Front desk",
				SystemPrompt: "You are the desk.",
				Tools:        []string{conversation.HandoffTool},
				Description:  "Answers <everybody>",
				Selectable:   true,
			},
			{
				ID:           "accountant",
				Name:         "Accountant",
				SystemPrompt: "You are the accountant.",
				Tools:        []string{"calculator"},
				Capabilities: []string{"arithmetic"},
				Selectable:   true,
			},
		}})
	if err != nil {
		tb.Fatal(err)
	}
	r := handler.New(box.Set())
	r.SetModels(models)
	models.Watch(box.Calls, box.Circuits)
	box.Models = models
	return r
}
