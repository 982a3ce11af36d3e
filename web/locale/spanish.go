package locale

import "maps"

// The Spanish catalogue, in one file per part of the dashboard: a page brings its
// own. Runs are feminine (la ejecución), steps masculine (el paso): statuses of
// runs are written with a capital, those of steps without, and so have texts of
// their own. Readers are addressed as usted.
var (
	spanish = joined(
		spanishCore,
		spanishAccess,
		spanishDashboard,
		spanishAgents,
		spanishPlanning,
		spanishLists,
		spanishRun,
		spanishPrompt,
		spanishTools,
		spanishCalls,
		spanishCircuits,
		spanishInstallation,
		spanishSecond,
		spanishMemory,
		spanishStale,
		spanishSystem,
		spanishStarting,
		spanishSecrets,
		spanishDone,
		spanishHome,
		spanishAudit,
		spanishHandoffs,
		spanishApprovals,
		spanishPlans,
		spanishDrafts,
		spanishRefusals,
		spanishProblems,
		spanishSaid,
		spanishSaidAccess,
		spanishNotices,
		spanishConditions,
		spanishLimits,
	)
	spanishPlurals = joined(
		spanishCorePlurals,
		spanishDashboardPlurals,
		spanishAgentsPlurals,
		spanishPlanningPlurals,
		spanishListsPlurals,
		spanishRunPlurals,
		spanishPromptPlurals,
		spanishAccessPlurals,
		spanishToolsPlurals,
		spanishAuditPlurals,
		spanishHandoffsPlurals,
		spanishApprovalsPlurals,
		spanishCallsPlurals,
		spanishCircuitsPlurals,
		spanishHomePlurals,
		spanishInstallationPlurals,
		spanishSecondPlurals,
		spanishPlansPlurals,
		spanishConditionsPlurals,
	)
)

func joined[V any](parts ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}
