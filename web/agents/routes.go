package agents

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/agents", Operation: app.ListAgents, Handle: s.catalog},
		{Get: "/tools", Operation: app.ListTools, Handle: ui.See("/agents/tools")},
		{Get: "/tools/:tool", Operation: app.GetTool, Handle: ui.See("/agents/tools/:tool")},
		{Get: "/providers", Operation: app.ListProviders, Handle: ui.See("/agents/providers")},
		{Get: "/providers/:provider", Operation: app.GetProvider, Handle: ui.See("/agents/providers/:provider")},
		{Get: "/agents/providers", Operation: app.ListProviders, Handle: s.catalog},
		{Get: "/agents/tools", Operation: app.ListTools, Handle: s.catalog},
		{Get: "/agents/agents/:agent", Operation: app.GetAgent, Handle: s.agentPage},
		{Get: "/agents/tools/:tool", Operation: app.GetTool, Handle: s.toolPage},
		{Get: "/agents/tools/:tool/accept", Operation: app.AcceptTool, Handle: s.acceptToolPage},
		{Post: "/agents/tools/:tool/accept", Operation: app.AcceptTool, Handle: s.acceptTool},
		{Get: "/agents/tools/:tool/try", Operation: app.TryTool, Handle: s.tryToolPage},
		{Post: "/agents/tools/:tool/try", Operation: app.TryTool, Handle: s.tryTool},
		{Get: "/agents/tools/:tool/stop", Operation: app.StopTool, Handle: s.stopToolPage},
		{Post: "/agents/tools/:tool/stop", Operation: app.StopTool, Handle: s.stopTool},
		{Get: "/agents/tools/:tool/circuit", Operation: app.ChangeToolCircuit, Handle: s.toolCircuitPage},
		{Post: "/agents/tools/:tool/circuit", Operation: app.ChangeToolCircuit, Handle: s.changeToolCircuit},
		{Get: "/agents/providers/:provider", Operation: app.GetProvider, Handle: s.providerPage},
		{Get: "/agents/providers/:provider/stop", Operation: app.StopProvider, Handle: s.stopProviderPage},
		{Post: "/agents/providers/:provider/stop", Operation: app.StopProvider, Handle: s.stopProvider},
		{Get: "/agents/providers/:provider/circuit", Operation: app.ChangeProviderCircuit, Handle: s.providerCircuitPage},
		{Post: "/agents/providers/:provider/circuit", Operation: app.ChangeProviderCircuit, Handle: s.changeProviderCircuit},
		{Get: "/agents/servers/:server/retry", Operation: app.RetryToolServer, Handle: s.retryServerPage},
		{Post: "/agents/servers/:server/retry", Operation: app.RetryToolServer, Handle: s.retryServer},
	}
}

// done are the acts after which a page says what was done.
var done = []ui.Done{
	{Name: "tool-accepted", Path: "/agents/tools/:tool/accept", Says: locale.Mark("What the tool says now is accepted: it can be called again.")},
	{Name: "tool-stopped", Path: "/agents/tools/:tool/stop", Act: "stop", Says: locale.Mark("No call of it begins any more.")},
	{Name: "tool-started", Path: "/agents/tools/:tool/stop", Act: "start", Says: locale.Mark("It is called again.")},
	{Name: "provider-stopped", Path: "/agents/providers/:provider/stop", Act: "stop", Says: locale.Mark("No call of it begins any more.")},
	{Name: "provider-started", Path: "/agents/providers/:provider/stop", Act: "start", Says: locale.Mark("It is called again.")},
	{Name: "server-started", Path: "/agents/servers/:server/retry", Says: locale.Mark("The server is started again: its state is below.")},
}
