package agents

import (
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/web/locale"
	"github.com/kairosd/kairosd/web/ui"
)

func (s *section) routes() []ui.Route {
	return []ui.Route{
		{Get: "/agents", Operation: app.ListAgents, Handle: s.catalog},
		{Get: "/tools", Operation: app.ListTools, Handle: ui.RedirectTo("/agents/tools")},
		{Get: "/tools/:tool", Operation: app.GetTool, Handle: ui.RedirectTo("/agents/tools/:tool")},
		{Get: "/providers", Operation: app.ListProviders, Handle: ui.RedirectTo("/agents/providers")},
		{Get: "/providers/:provider", Operation: app.GetProvider, Handle: ui.RedirectTo("/agents/providers/:provider")},
		{Get: "/agents/providers", Operation: app.ListProviders, Handle: s.catalog},
		{Get: "/agents/tools", Operation: app.ListTools, Handle: s.catalog},
		{Get: "/agents/spend", Operation: app.GetSpend, Handle: s.spendPage},
		{Get: "/agents/spend.csv", Operation: app.GetSpend, Handle: s.spendCSV},
		{Get: "/agents/budgets", Operation: app.ListBudgets, Handle: budgetPages{s}.list},
		{Get: "/agents/budgets/new", Operation: app.CreateBudget, Handle: budgetPages{s}.newPage},
		{Post: "/agents/budgets/new", Operation: app.CreateBudget, Handle: budgetPages{s}.create},
		{Get: "/agents/budgets/:budget", Operation: app.GetBudget, Handle: budgetPages{s}.budget},
		{Get: "/agents/budgets/:budget/edit", Operation: app.UpdateBudget, Handle: budgetPages{s}.editPage},
		{Post: "/agents/budgets/:budget/edit", Operation: app.UpdateBudget, Handle: budgetPages{s}.edit},
		{Get: "/agents/budgets/:budget/raise", Operation: app.RaiseBudget, Handle: budgetPages{s}.raisePage},
		{Post: "/agents/budgets/:budget/raise", Operation: app.RaiseBudget, Handle: budgetPages{s}.raise},
		{Get: "/agents/budgets/:budget/delete", Operation: app.DeleteBudget, Handle: budgetPages{s}.deletePage},
		{Post: "/agents/budgets/:budget/delete", Operation: app.DeleteBudget, Handle: budgetPages{s}.delete},
		{Get: "/agents/agents/:agent", Operation: app.GetAgent, Handle: s.agentPage},
		{Get: "/agents/tools/:tool", Operation: app.GetTool, Handle: toolPages{s}.toolPage},
		{Get: "/agents/tools/:tool/accept", Operation: app.AcceptTool, Handle: toolPages{s}.acceptToolPage},
		{Post: "/agents/tools/:tool/accept", Operation: app.AcceptTool, Handle: toolPages{s}.acceptTool},
		{Get: "/agents/tools/:tool/try", Operation: app.TryTool, Handle: toolPages{s}.tryToolPage},
		{Post: "/agents/tools/:tool/try", Operation: app.TryTool, Handle: toolPages{s}.tryTool},
		{Get: "/agents/tools/:tool/disable", Operation: app.DisableTool, Handle: disablePages{s}.disableToolPage},
		{Post: "/agents/tools/:tool/disable", Operation: app.DisableTool, Handle: disablePages{s}.disableTool},
		{Get: "/agents/tools/:tool/enable", Operation: app.EnableTool, Handle: disablePages{s}.enableToolPage},
		{Post: "/agents/tools/:tool/enable", Operation: app.EnableTool, Handle: disablePages{s}.enableTool},
		{Get: "/agents/providers/:provider", Operation: app.GetProvider, Handle: s.providerPage},
		{Get: "/agents/providers/:provider/disable", Operation: app.DisableProvider, Handle: disablePages{s}.disableProviderPage},
		{Post: "/agents/providers/:provider/disable", Operation: app.DisableProvider, Handle: disablePages{s}.disableProvider},
		{Get: "/agents/providers/:provider/enable", Operation: app.EnableProvider, Handle: disablePages{s}.enableProviderPage},
		{Post: "/agents/providers/:provider/enable", Operation: app.EnableProvider, Handle: disablePages{s}.enableProvider},
		{Get: "/agents/servers/:server/retry", Operation: app.RetryToolServer, Handle: toolPages{s}.retryServerPage},
		{Post: "/agents/servers/:server/retry", Operation: app.RetryToolServer, Handle: toolPages{s}.retryServer},
	}
}

// actionMessages are the messages shown after an action.
var actionMessages = []ui.Done{
	{
		Name:    "tool-accepted",
		Path:    "/agents/tools/:tool/accept",
		Message: locale.Mark("The current description is accepted: the tool can be called again."),
	},
	{Name: "budget-created", Path: "/agents/budgets/new", Message: locale.Mark("Budget created.")},
	{Name: "budget-changed", Path: "/agents/budgets/:budget/edit", Message: locale.Mark("Budget changed.")},
	{Name: "budget-raised", Path: "/agents/budgets/:budget/raise",
		Message: locale.Mark("Budget raised. Waiting runs that have room continue.")},
	{Name: "budget-deleted", Path: "/agents/budgets/:budget/delete",
		Message: locale.Mark("Budget deleted. Runs that waited for it continue.")},
	{Name: "tool-disabled", Path: "/agents/tools/:tool/disable", Message: locale.Mark("Disabled. New calls are refused.")},
	{Name: "tool-enabled", Path: "/agents/tools/:tool/enable", Message: locale.Mark("Enabled. Calls are made again.")},
	{Name: "provider-disabled", Path: "/agents/providers/:provider/disable", Message: locale.Mark("Disabled. New calls are refused.")},
	{Name: "provider-enabled", Path: "/agents/providers/:provider/enable", Message: locale.Mark("Enabled. Calls are made again.")},
	{Name: "server-started", Path: "/agents/servers/:server/retry",
		Message: locale.Mark("Server restarted. Its state is shown below.")},
}
