package app

import "github.com/kairosd/kairosd/internal/domain"

// Operation is the name of something that a principal can do. It is the same on every interface.
// The HTTP API uses it as the operation id of its description.
type Operation string

// Kind decides how an operation is performed.
type Kind uint8

const (
	Query   Kind = iota // reads and changes nothing
	Entity              // one transaction of the store; see perform
	Command             // one message to the runner of a run
	Job                 // stores a job that a worker executes
)

// Rule defines who may use an operation.
type Rule struct {
	Kind Kind
	// Role is the lowest permitted role. If it is empty, no login is required.
	Role domain.Role
	// Scope is required of a token with scopes. If it is empty, any token is accepted.
	Scope string
	// Audit is the action in the audit log. Empty means that the operation writes its own record.
	Audit string
}

// Plans.
const (
	StorePlan      Operation = "store-plan"
	CheckPlan      Operation = "check-plan"
	StorePlanFiles Operation = "store-plan-files"
	CheckPlanFiles Operation = "check-plan-files"
	GetPlanSchema  Operation = "get-plan-schema"
	TryPlan        Operation = "try-plan"
	ListPlans      Operation = "list-plans"
	GetPlan        Operation = "get-plan"
	ListVersions   Operation = "list-plan-versions"
	GetPlanVersion Operation = "get-plan-version"
	GetPlanFlow    Operation = "get-plan-flow"
	DiffPlan       Operation = "compare-plan-versions"
	AcceptPlan     Operation = "accept-plan"
	RestoreVersion Operation = "restore-plan-version"
	ArchivePlan    Operation = "archive-plan"
	UnarchivePlan  Operation = "unarchive-plan"
	PausePlan      Operation = "pause-plan"
	UnpausePlan    Operation = "unpause-plan"
)

// Drafts and the planner.
const (
	StartDraft      Operation = "start-draft"
	ListDrafts      Operation = "list-drafts"
	GetDraft        Operation = "get-draft"
	RefineDraft     Operation = "refine-draft"
	AcceptDraft     Operation = "accept-draft"
	StartDrafted    Operation = "run-draft"
	DiscardDraft    Operation = "discard-draft"
	Ask             Operation = "ask-planner"
	ClassifyRequest Operation = "classify-request"
	MakePlan        Operation = "make-plan"
)

// Runs.
const (
	StartRun     Operation = "start-run"
	ListRuns     Operation = "list-runs"
	GetRun       Operation = "get-run"
	CompareRuns  Operation = "compare-runs"
	ExportRun    Operation = "export-run"
	GetJournal   Operation = "get-journal"
	GetStep      Operation = "get-step"
	SearchSteps  Operation = "search-steps"
	ListMessages Operation = "list-messages"
	ListHandoffs Operation = "list-handoffs"
	// ListRunHandoffs lists the handoffs of one run.
	ListRunHandoffs Operation = "list-run-handoffs"
	// ListDoubts lists attempts in doubt of all runs.
	ListDoubts   Operation = "list-doubts"
	GetHandoff   Operation = "get-handoff"
	GetRunEvents Operation = "get-run-events"
	PreviewRun   Operation = "preview-action"
	ActOnRun     Operation = "act-on-run"
	ResumeRun    Operation = "resume-run"
	RerunRun     Operation = "rerun-run"
	ForkRun      Operation = "fork-run"
	UndoRun      Operation = "undo-run"
	CancelRun    Operation = "cancel-run"
	PauseRun     Operation = "pause-run"
	UnpauseRun   Operation = "unpause-run"
	RetryNow     Operation = "retry-run-now"
	StartNow     Operation = "start-run-now"
	ReleaseRun   Operation = "release-run"
	UpdateRun    Operation = "update-run"
	ResolveNode  Operation = "resolve-node"
	DeleteRun    Operation = "delete-run"
)

// Notes, labels, and views of runs.
const (
	ListNotes             Operation = "list-notes"
	AddNote               Operation = "add-note"
	AcknowledgeRun        Operation = "acknowledge-run"
	UnacknowledgeRun      Operation = "unacknowledge-run"
	ListFailures          Operation = "list-failure-groups"
	AcknowledgeFailures   Operation = "acknowledge-failure-group"
	UnacknowledgeFailures Operation = "unacknowledge-failure-group"
	ListViews             Operation = "list-views"
	GetView               Operation = "get-view"
	SaveView              Operation = "save-view"
	DeleteView            Operation = "delete-view"
	SetPreference         Operation = "set-preference"
)

// Bulk operations.
const (
	PreviewBulk   Operation = "preview-bulk-operation"
	StartBulk     Operation = "start-bulk-operation"
	ListBulks     Operation = "list-bulk-operations"
	ListBulkItems Operation = "list-bulk-operation-items"
	GetBulk       Operation = "get-bulk-operation"
	StopBulk      Operation = "stop-bulk-operation"
)

// Schedules.
const (
	ListSchedules    Operation = "list-schedules"
	GetSchedule      Operation = "get-schedule"
	PreviewSchedule  Operation = "preview-schedule"
	ListSlots        Operation = "list-schedule-slots"
	ListMissedSlots  Operation = "list-missed-slots"
	CreateSchedule   Operation = "create-schedule"
	UpdateSchedule   Operation = "update-schedule"
	PauseSchedule    Operation = "pause-schedule"
	ResumeSchedule   Operation = "resume-schedule"
	DeleteSchedule   Operation = "delete-schedule"
	DecideMissed     Operation = "decide-missed-slots"
	PreviewBackfill  Operation = "preview-backfill"
	BackfillSchedule Operation = "backfill-schedule"
)

// Plans as tools of other programs.
const (
	ListPlanTools Operation = "list-plan-tools"
	CallPlanTool  Operation = "call-plan-tool"
	AwaitRun      Operation = "await-run"
	CancelCall    Operation = "cancel-call"
	ConfirmAction Operation = "confirm-action"
	ActConfirmed  Operation = "act-confirmed"
	RefuseAction  Operation = "refuse-action"
	// GetRequestedActions lists the actions that MCP clients ask a person to confirm.
	GetRequestedActions Operation = "get-requested-actions"
)

// Signals.
const (
	ListSignals     Operation = "list-signals"
	GetSignal       Operation = "get-signal"
	ListSignalWaits Operation = "list-signal-waits"
	SendSignal      Operation = "send-signal"
)

// Hooks.
const (
	ListHooks          Operation = "list-hooks"
	GetHook            Operation = "get-hook"
	CreateHook         Operation = "create-hook"
	UpdateHook         Operation = "update-hook"
	PauseHook          Operation = "pause-hook"
	ResumeHook         Operation = "resume-hook"
	DeleteHook         Operation = "delete-hook"
	ListHookDeliveries Operation = "list-hook-deliveries"
	GetHookDelivery    Operation = "get-hook-delivery"
	PreviewReplay      Operation = "preview-replay"
	ReplayDeliveries   Operation = "replay-deliveries"
)

// Approvals.
const (
	ListApprovals   Operation = "list-approvals"
	GetApproval     Operation = "get-approval"
	PredictApproval Operation = "predict-approval"
	DecideApproval  Operation = "decide-approval"
	AssignApproval  Operation = "assign-approval"
)

// Agents, tools, and providers.
const (
	ListAgents      Operation = "list-agents"
	GetAgent        Operation = "get-agent"
	ListProviders   Operation = "list-providers"
	GetProvider     Operation = "get-provider"
	DisableProvider Operation = "disable-provider"
	EnableProvider  Operation = "enable-provider"
	GetSpend        Operation = "get-spend"
	ListTools       Operation = "list-tools"
	GetTool         Operation = "get-tool"
	AcceptTool      Operation = "accept-tool"
	TryTool         Operation = "try-tool"
	DisableTool     Operation = "disable-tool"
	EnableTool      Operation = "enable-tool"
	ListToolServers Operation = "list-tool-servers"
	GetToolServer   Operation = "get-tool-server"
	RetryToolServer Operation = "retry-tool-server"
	ListSessions    Operation = "list-sessions"
	GetSession      Operation = "get-session-memory"
	ForgetSession   Operation = "clear-session-memory"
)

// Budgets.
const (
	ListBudgets  Operation = "list-budgets"
	GetBudget    Operation = "get-budget"
	CreateBudget Operation = "create-budget"
	UpdateBudget Operation = "update-budget"
	RaiseBudget  Operation = "raise-budget"
	DeleteBudget Operation = "delete-budget"
)

// Events and the audit log.
const (
	StreamEvents  Operation = "stream-events"
	OpenSocket    Operation = "open-event-socket"
	FollowPages   Operation = "follow-pages"
	ListAudit     Operation = "list-audit-events"
	GetAuditEvent Operation = "get-audit-event"
	ExportAudit   Operation = "export-audit-events"
	GetAuditCheck Operation = "get-audit-check"
	VerifyAudit   Operation = "start-audit-check"
)

// Operations on the server.
const (
	GetOpenAPI        Operation = "get-openapi"
	GetVersion        Operation = "get-version"
	GetSystem         Operation = "get-system"
	GetHealthMetrics  Operation = "get-metrics-history"
	GetLog            Operation = "get-log"
	GetMetrics        Operation = "get-metrics"
	GetSettings       Operation = "get-settings"
	SetMaintenance    Operation = "set-maintenance"
	EndMaintenance    Operation = "end-maintenance"
	ReleaseHeldRuns   Operation = "release-held-runs"
	BackUp            Operation = "create-backup"
	RunRetention      Operation = "run-retention"
	RotateSecret      Operation = "rotate-secret"
	TestNotifications Operation = "test-notifications"
)

// Demonstrations of a recovery.
const (
	GetDemo    Operation = "get-demonstration"
	BeginDemo  Operation = "start-demonstration"
	AnswerDemo Operation = "answer-demonstration"
)

// Accounts.
const (
	LogIn              Operation = "log-in"
	LogOut             Operation = "log-out"
	ChooseDisplay      Operation = "choose-display"
	GetMe              Operation = "get-me"
	ChangePassword     Operation = "change-password"
	ChangeSecondFactor Operation = "change-second-factor"
	SignOutSelf        Operation = "sign-out"
	ListUsers          Operation = "list-users"
	GetUser            Operation = "get-user"
	CreateUser         Operation = "create-user"
	UpdateUser         Operation = "update-user"
	LinkUser           Operation = "link-user"
	MakeLoginLink      Operation = "make-login-link"
	SignOutUser        Operation = "sign-out-user"
	RemoveSecondFactor Operation = "remove-second-factor"
	ListTokens         Operation = "list-tokens"
	GetToken           Operation = "get-token"
	CreateToken        Operation = "create-token"
	RevokeToken        Operation = "revoke-token"
)

// policy lists every operation with its required role and scope. An operation without an entry does
// not exist, and no interface serves it. Rules about an object, such as who may decide an approval,
// are in the code of the object.
var policy = map[Operation]Rule{
	StorePlan:      {Entity, domain.RoleAuthor, "plans:write", ""},
	CheckPlan:      {Query, domain.RoleViewer, "plans:read", ""},
	StorePlanFiles: {Entity, domain.RoleAuthor, "plans:write", ""},
	CheckPlanFiles: {Query, domain.RoleViewer, "plans:read", ""},
	GetPlanSchema:  {Query, domain.RoleViewer, "plans:read", ""},
	TryPlan:        {Command, domain.RoleAuthor, "plans:write", ""},
	ListPlans:      {Query, domain.RoleViewer, "plans:read", ""},
	GetPlan:        {Query, domain.RoleViewer, "plans:read", ""},
	ListVersions:   {Query, domain.RoleViewer, "plans:read", ""},
	GetPlanVersion: {Query, domain.RoleViewer, "plans:read", ""},
	GetPlanFlow:    {Query, domain.RoleViewer, "plans:read", ""},
	DiffPlan:       {Query, domain.RoleViewer, "plans:read", ""},
	AcceptPlan:     {Entity, domain.RoleOperator, "plans:write", ""},
	RestoreVersion: {Entity, domain.RoleAuthor, "plans:write", ""},
	ArchivePlan:    {Entity, domain.RoleAuthor, "plans:write", "plan.archive"},
	UnarchivePlan:  {Entity, domain.RoleAuthor, "plans:write", "plan.unarchive"},
	PausePlan:      {Entity, domain.RoleOperator, "plans:write", "plan.pause"},
	UnpausePlan:    {Entity, domain.RoleOperator, "plans:write", "plan.unpause"},

	StartDraft:      {Job, domain.RoleOperator, "plans:write", ""},
	ListDrafts:      {Query, domain.RoleViewer, "plans:read", ""},
	GetDraft:        {Query, domain.RoleViewer, "plans:read", ""},
	RefineDraft:     {Job, domain.RoleOperator, "plans:write", ""},
	AcceptDraft:     {Job, domain.RoleOperator, "plans:write", ""},
	StartDrafted:    {Job, domain.RoleOperator, "runs:write", ""},
	DiscardDraft:    {Job, domain.RoleOperator, "plans:write", ""},
	Ask:             {Command, domain.RoleOperator, "runs:write", ""},
	ClassifyRequest: {Query, domain.RoleViewer, "plans:read", ""},
	MakePlan:        {Job, domain.RoleOperator, "plans:write", ""},

	StartRun:        {Entity, domain.RoleOperator, "runs:write", ""},
	ListRuns:        {Query, domain.RoleViewer, "runs:read", ""},
	GetRun:          {Query, domain.RoleViewer, "runs:read", ""},
	CompareRuns:     {Query, domain.RoleViewer, "runs:read", ""},
	ExportRun:       {Query, domain.RoleAuthor, "runs:read", ""},
	GetJournal:      {Query, domain.RoleViewer, "runs:read", ""},
	GetStep:         {Query, domain.RoleViewer, "runs:read", ""},
	SearchSteps:     {Query, domain.RoleViewer, "runs:read", ""},
	ListMessages:    {Query, domain.RoleViewer, "runs:read", ""},
	ListHandoffs:    {Query, domain.RoleViewer, "runs:read", ""},
	ListRunHandoffs: {Query, domain.RoleViewer, "runs:read", ""},
	ListDoubts:      {Query, domain.RoleViewer, "runs:read", ""},
	GetHandoff:      {Query, domain.RoleViewer, "runs:read", ""},
	GetRunEvents:    {Query, domain.RoleViewer, "runs:read", ""},
	PreviewRun:      {Query, domain.RoleViewer, "runs:read", ""},
	ActOnRun:        {Command, domain.RoleOperator, "runs:write", ""},
	ResumeRun:       {Command, domain.RoleOperator, "runs:write", ""},
	RerunRun:        {Entity, domain.RoleOperator, "runs:write", ""},
	ForkRun:         {Entity, domain.RoleOperator, "runs:write", ""},
	UndoRun:         {Entity, domain.RoleOperator, "runs:write", ""},
	CancelRun:       {Command, domain.RoleOperator, "runs:write", ""},
	PauseRun:        {Command, domain.RoleOperator, "runs:write", ""},
	UnpauseRun:      {Command, domain.RoleOperator, "runs:write", ""},
	RetryNow:        {Command, domain.RoleOperator, "runs:write", ""},
	StartNow:        {Command, domain.RoleOperator, "runs:write", ""},
	ReleaseRun:      {Command, domain.RoleOperator, "runs:write", ""},
	UpdateRun:       {Command, domain.RoleOperator, "runs:write", ""},
	ResolveNode:     {Command, domain.RoleOperator, "runs:write", ""},
	DeleteRun:       {Entity, domain.RoleOperator, "runs:write", ""},

	CancelCall:    {Command, domain.RoleOperator, domain.ScopeMCP, ""},
	ListPlanTools: {Query, domain.RoleViewer, domain.ScopeMCP, ""},
	CallPlanTool:  {Command, domain.RoleOperator, domain.ScopeMCP, ""},
	AwaitRun:      {Query, domain.RoleViewer, domain.ScopeMCP, ""},
	ConfirmAction: {Entity, domain.RoleOperator, "runs:write", "run.confirm"},
	ActConfirmed:  {Command, domain.RoleOperator, domain.ScopeMCP, ""},
	RefuseAction:  {Entity, domain.RoleOperator, "runs:write", "run.refuse"},

	GetRequestedActions: {Query, domain.RoleViewer, "runs:read", ""},

	ListNotes:             {Query, domain.RoleViewer, "runs:read", ""},
	AddNote:               {Entity, domain.RoleOperator, "runs:write", ""},
	AcknowledgeRun:        {Entity, domain.RoleOperator, "runs:write", ""},
	UnacknowledgeRun:      {Entity, domain.RoleOperator, "runs:write", "run.unacknowledge"},
	ListFailures:          {Query, domain.RoleViewer, "runs:read", ""},
	AcknowledgeFailures:   {Entity, domain.RoleOperator, "runs:write", "failure.acknowledge"},
	UnacknowledgeFailures: {Entity, domain.RoleOperator, "runs:write", "failure.unacknowledge"},
	ListViews:             {Query, domain.RoleViewer, "runs:read", ""},
	GetView:               {Query, domain.RoleViewer, "runs:read", ""},
	SaveView:              {Entity, domain.RoleOperator, "runs:write", "view.save"},
	DeleteView:            {Entity, domain.RoleOperator, "runs:write", "view.delete"},
	SetPreference:         {Entity, domain.RoleViewer, "", ""},

	PreviewBulk:   {Query, domain.RoleViewer, "runs:read", ""},
	StartBulk:     {Job, domain.RoleOperator, "runs:write", ""},
	ListBulks:     {Query, domain.RoleViewer, "runs:read", ""},
	ListBulkItems: {Query, domain.RoleViewer, "runs:read", ""},
	GetBulk:       {Query, domain.RoleViewer, "runs:read", ""},
	StopBulk:      {Job, domain.RoleOperator, "runs:write", ""},

	ListSchedules:    {Query, domain.RoleViewer, "runs:read", ""},
	GetSchedule:      {Query, domain.RoleViewer, "runs:read", ""},
	PreviewSchedule:  {Query, domain.RoleViewer, "runs:read", ""},
	ListSlots:        {Query, domain.RoleViewer, "runs:read", ""},
	ListMissedSlots:  {Query, domain.RoleViewer, "runs:read", ""},
	CreateSchedule:   {Entity, domain.RoleOperator, "runs:write", "schedule.create"},
	UpdateSchedule:   {Entity, domain.RoleOperator, "runs:write", "schedule.update"},
	PauseSchedule:    {Entity, domain.RoleOperator, "runs:write", "schedule.pause"},
	ResumeSchedule:   {Entity, domain.RoleOperator, "runs:write", "schedule.resume"},
	DeleteSchedule:   {Entity, domain.RoleOperator, "runs:write", "schedule.delete"},
	DecideMissed:     {Job, domain.RoleOperator, "runs:write", "schedule.decide"},
	PreviewBackfill:  {Query, domain.RoleViewer, "runs:read", ""},
	BackfillSchedule: {Job, domain.RoleOperator, "runs:write", "schedule.backfill"},

	ListSignals:     {Query, domain.RoleViewer, "runs:read", ""},
	GetSignal:       {Query, domain.RoleViewer, "runs:read", ""},
	ListSignalWaits: {Query, domain.RoleViewer, "runs:read", ""},
	SendSignal:      {Entity, domain.RoleOperator, "runs:write", "signal.send"},

	ListHooks:          {Query, domain.RoleViewer, "runs:read", ""},
	GetHook:            {Query, domain.RoleViewer, "runs:read", ""},
	CreateHook:         {Entity, domain.RoleOperator, "runs:write", "hook.create"},
	UpdateHook:         {Entity, domain.RoleOperator, "runs:write", "hook.update"},
	PauseHook:          {Entity, domain.RoleOperator, "runs:write", "hook.pause"},
	ResumeHook:         {Entity, domain.RoleOperator, "runs:write", "hook.resume"},
	DeleteHook:         {Entity, domain.RoleOperator, "runs:write", "hook.delete"},
	ListHookDeliveries: {Query, domain.RoleViewer, "runs:read", ""},
	GetHookDelivery:    {Query, domain.RoleOperator, "runs:read", ""},
	PreviewReplay:      {Query, domain.RoleViewer, "runs:read", ""},
	ReplayDeliveries:   {Job, domain.RoleOperator, "runs:write", "hook.replay"},

	ListApprovals:   {Query, domain.RoleViewer, "runs:read", ""},
	GetApproval:     {Query, domain.RoleViewer, "runs:read", ""},
	PredictApproval: {Query, domain.RoleViewer, "runs:read", ""},
	DecideApproval:  {Command, domain.RoleOperator, "approvals", ""},
	AssignApproval:  {Entity, domain.RoleOperator, "approvals", "approval.assign"},

	ListAgents:      {Query, domain.RoleViewer, "plans:read", ""},
	GetAgent:        {Query, domain.RoleViewer, "plans:read", ""},
	ListProviders:   {Query, domain.RoleViewer, "plans:read", ""},
	GetProvider:     {Query, domain.RoleViewer, "plans:read", ""},
	DisableProvider: {Entity, domain.RoleOperator, "runs:write", ""},
	EnableProvider:  {Entity, domain.RoleOperator, "runs:write", ""},
	GetSpend:        {Query, domain.RoleViewer, "runs:read", ""},
	ListTools:       {Query, domain.RoleViewer, "plans:read", ""},
	GetTool:         {Query, domain.RoleViewer, "plans:read", ""},
	AcceptTool:      {Entity, domain.RoleAdmin, "admin", ""},
	TryTool:         {Entity, domain.RoleAuthor, "plans:write", ""},
	DisableTool:     {Entity, domain.RoleOperator, "runs:write", ""},
	EnableTool:      {Entity, domain.RoleOperator, "runs:write", ""},
	ListToolServers: {Query, domain.RoleViewer, "plans:read", ""},
	GetToolServer:   {Query, domain.RoleViewer, "plans:read", ""},
	RetryToolServer: {Entity, domain.RoleOperator, "runs:write", "mcp.retry"},
	ListSessions:    {Query, domain.RoleViewer, "runs:read", ""},
	GetSession:      {Query, domain.RoleViewer, "runs:read", ""},
	ForgetSession:   {Entity, domain.RoleOperator, "runs:write", "memory.forget"},

	ListBudgets:  {Query, domain.RoleViewer, "runs:read", ""},
	GetBudget:    {Query, domain.RoleViewer, "runs:read", ""},
	CreateBudget: {Entity, domain.RoleAdmin, "admin", "budget.create"},
	UpdateBudget: {Entity, domain.RoleAdmin, "admin", "budget.update"},
	RaiseBudget:  {Entity, domain.RoleOperator, "runs:write", "budget.raise"},
	DeleteBudget: {Entity, domain.RoleAdmin, "admin", "budget.delete"},

	StreamEvents:  {Query, domain.RoleViewer, "runs:read", ""},
	OpenSocket:    {Query, domain.RoleViewer, "runs:read", ""},
	FollowPages:   {Query, domain.RoleViewer, "runs:read", ""},
	ListAudit:     {Query, domain.RoleViewer, "admin", ""},
	GetAuditEvent: {Query, domain.RoleViewer, "admin", ""},
	ExportAudit:   {Query, domain.RoleViewer, "admin", ""},
	GetAuditCheck: {Query, domain.RoleViewer, "admin", ""},
	VerifyAudit:   {Job, domain.RoleOperator, "admin", "audit.verify.begin"},

	GetOpenAPI:        {Query, "", "", ""},
	GetVersion:        {Query, domain.RoleViewer, "", ""},
	GetSystem:         {Query, domain.RoleViewer, "runs:read", ""},
	GetHealthMetrics:  {Query, domain.RoleViewer, "runs:read", ""},
	GetLog:            {Query, domain.RoleOperator, "admin", ""},
	GetMetrics:        {Query, domain.RoleViewer, "metrics", ""},
	GetSettings:       {Query, domain.RoleAdmin, "admin", ""},
	SetMaintenance:    {Entity, domain.RoleOperator, "runs:write", ""},
	EndMaintenance:    {Entity, domain.RoleOperator, "runs:write", ""},
	ReleaseHeldRuns:   {Command, domain.RoleOperator, "runs:write", ""},
	BackUp:            {Job, domain.RoleAdmin, "admin", ""},
	RunRetention:      {Entity, domain.RoleAdmin, "admin", ""},
	RotateSecret:      {Entity, domain.RoleAdmin, "admin", ""},
	TestNotifications: {Entity, domain.RoleAdmin, "admin", ""},

	GetDemo:    {Query, domain.RoleOperator, "runs:read", ""},
	BeginDemo:  {Command, domain.RoleOperator, "runs:write", "demo.begin"},
	AnswerDemo: {Command, domain.RoleOperator, "runs:write", "demo.answer"},

	LogIn:              {Entity, "", "", ""},
	LogOut:             {Entity, domain.RoleViewer, "", ""},
	ChooseDisplay:      {Entity, "", "", ""},
	GetMe:              {Query, domain.RoleViewer, "", ""},
	ChangePassword:     {Entity, domain.RoleViewer, "", ""},
	ChangeSecondFactor: {Entity, domain.RoleViewer, "", ""},
	SignOutSelf:        {Entity, domain.RoleViewer, "", ""},
	ListUsers:          {Query, domain.RoleAdmin, "admin", ""},
	GetUser:            {Query, domain.RoleAdmin, "admin", ""},
	CreateUser:         {Entity, domain.RoleAdmin, "admin", "user.create"},
	UpdateUser:         {Entity, domain.RoleAdmin, "admin", ""},
	LinkUser:           {Entity, domain.RoleAdmin, "admin", ""},
	MakeLoginLink:      {Entity, domain.RoleAdmin, "admin", "user.login-link"},
	SignOutUser:        {Entity, domain.RoleAdmin, "admin", ""},
	RemoveSecondFactor: {Entity, domain.RoleAdmin, "admin", ""},
	ListTokens:         {Query, domain.RoleAdmin, "tokens", ""},
	GetToken:           {Query, domain.RoleAdmin, "tokens", ""},
	CreateToken:        {Entity, domain.RoleAdmin, "tokens", "token.create"},
	RevokeToken:        {Entity, domain.RoleAdmin, "tokens", "token.revoke"},
}
