package webtest

import (
	"context"
	"testing"

	"github.com/kairosd/kairosd/agent"
	"github.com/kairosd/kairosd/internal/handler"
	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/provider"
	"github.com/kairosd/kairosd/internal/provider/scripted"
	"github.com/kairosd/kairosd/internal/tool"
)

// crew are the agents of a test installation, whose model is a script.
type crew struct {
	models *handler.Models
	tools  *tool.Set
}

func (c *crew) Agents(context.Context) ([]kairos.AgentInfo, error) { return c.models.AgentInfos(), nil }

func (c *crew) Providers(context.Context) ([]kairos.ProviderInfo, error) {
	return c.models.ProviderInfos(), nil
}

func (c *crew) Tools(context.Context) ([]kairos.ToolInfo, error) {
	var out []kairos.ToolInfo
	for _, s := range c.tools.Specs() {
		out = append(out, kairos.ToolInfo{Name: s.Name, Description: s.Description, Source: "built-in", Effect: string(s.Effect), Permission: "allow", State: "ready"})
	}
	return out, nil
}

// newCrew is a front desk that hands over to an accountant.
func newCrew(tb testing.TB, tools *tool.Set) (*handler.Registry, *crew) {
	tb.Helper()
	first, second := 0, 1
	script := scripted.New(scripted.Script{Answers: []scripted.Answer{
		{Contains: "break", Error: &scripted.Error{Code: "overloaded", Message: "the model is <b>overloaded</b>", Permanent: true}},
		{System: "desk", Turn: &first, Calls: []scripted.Call{{Tool: agent.HandoffTool, Arguments: map[string]any{"targetAgentId": "accountant", "reason": "capability_match", "explanation": "compute 6*7", "returnControl": true}}}, InputTokens: 100, OutputTokens: 10},
		{System: "desk", Turn: &second, Text: "The answer: <i>${last}</i>", InputTokens: 200, OutputTokens: 20},
		{System: "accountant", Turn: &first, Calls: []scripted.Call{{Tool: "calculator", Arguments: map[string]any{"expression": "6*7"}}}, InputTokens: 10, OutputTokens: 1},
		{System: "accountant", Turn: &second, Text: "${last}", InputTokens: 20, OutputTokens: 2},
	}})
	models, err := handler.NewModels(handler.Config{Providers: map[string]agent.Provider{"script": script}, DefaultProvider: "script",
		Prices: map[string]map[string]provider.Price{"script": {"scripted": {Input: 1000, Output: 2000}}},
		About:  map[string]kairos.ProviderInfo{"script": {Type: "scripted", Model: "scripted"}},
		Agents: []handler.Agent{{ID: "desk", Name: "Front desk", SystemPrompt: "You are the desk.", Tools: []string{agent.HandoffTool}, Description: "Answers <everybody>", Selectable: true},
			{ID: "accountant", Name: "Accountant", SystemPrompt: "You are the accountant.", Tools: []string{"calculator"}, Capabilities: []string{"arithmetic"}, Selectable: true}}})
	if err != nil {
		tb.Fatal(err)
	}
	r := handler.New(tools)
	r.SetModels(models)
	return r, &crew{models, tools}
}
