package cli

import (
	"context"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/exit"
	"github.com/kairosd/kairosd/internal/rundiff"
	"github.com/kairosd/kairosd/planner"
)

// backend is what commands work on: a database in this process, or a daemon
// over its API. Both promise the same; see web.Reader and web.Engine.
type backend interface {
	SavePlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, origin, reason string) (domain.Plan, domain.Version, bool, planner.Problems, error)
	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	Versions(ctx context.Context, planID string) ([]domain.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
	// PlanFlow is how the newest runs of a plan went through its nodes.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	// PausePlan lets no run of a plan start, or lets them start again.
	PausePlan(ctx context.Context, actor domain.Actor, plan string, on bool, reason string) error
	// ArchivePlan hides a plan from lists, RestoreVersion makes an earlier version the
	// current one, AcceptPlan takes a draft into use.
	ArchivePlan(ctx context.Context, actor domain.Actor, plan string, archived bool, reason string) error
	RestoreVersion(ctx context.Context, actor domain.Actor, plan string, number int, base, reason string) (domain.Plan, error)
	AcceptPlan(ctx context.Context, actor domain.Actor, plan string, a domain.DraftAcceptance) (domain.Plan, error)
	// TryPlan starts a dry run of a document that is not stored as a version.
	TryPlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, input domain.RawJSON) (domain.Run, planner.Problems, error)

	// Drafts of plans are made in the background; Draft says how far one is.
	Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error)
	Draft(ctx context.Context, id string) (domain.Draft, error)
	StartDraft(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error)
	RefineDraft(ctx context.Context, actor domain.Actor, id string, r domain.DraftRequest) (domain.Draft, error)
	AcceptDraft(ctx context.Context, actor domain.Actor, id string, a domain.DraftAcceptance) (domain.Draft, error)
	DiscardDraft(ctx context.Context, actor domain.Actor, id, reason string) (domain.Draft, error)
	// RunDraft starts a run of exactly the plan of a draft.
	RunDraft(ctx context.Context, actor domain.Actor, id string, r domain.DraftStart) (domain.Run, error)
	Start(ctx context.Context, actor domain.Actor, r domain.StartRequest) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	FindRun(ctx context.Context, id string) (domain.Run, error)
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	Result(ctx context.Context, run string) (domain.Result, error)
	// Detail is a run with its waits and its whole journal.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	// Notes are what people wrote about a run; AddNote keeps one more.
	Notes(ctx context.Context, run string) ([]domain.Note, error)
	AddNote(ctx context.Context, actor domain.Actor, run, text string) (domain.Note, error)
	// Wait returns when the run is final, or waits for what only a person can
	// give, or the context ends.
	Wait(ctx context.Context, run string) (domain.Run, error)
	// Steps finds attempts of steps across runs; HandoffsOf lists handoffs. Their
	// filters' Query says what, in the grammar of the pages.
	Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error)
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSeen], error)
	// Views are the caller's saved views and everybody's; KeepView keeps one, or
	// removes it when its query is empty.
	Views(ctx context.Context) ([]domain.SavedView, error)
	KeepView(ctx context.Context, actor domain.Actor, v domain.SavedView, everybody bool) error
	// Subscribe delivers a run's events from now on (after 0: from its start).
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)

	Preview(ctx context.Context, actor domain.Actor, r domain.VerbRequest) (domain.Preview, error)
	Act(ctx context.Context, actor domain.Actor, r domain.VerbRequest) (domain.Run, error)
	Resolve(ctx context.Context, actor domain.Actor, r domain.ResolveRequest) (domain.Run, error)
	Approvals(ctx context.Context, f domain.ApprovalFilter) (domain.List[domain.Approval], error)
	Approval(ctx context.Context, id string) (domain.Approval, error)
	Decide(ctx context.Context, actor domain.Actor, r domain.DecideRequest) (domain.Approval, error)
	// Forecast says where each answer to an open approval leads.
	Forecast(ctx context.Context, approval string) ([]domain.Forecast, error)
	AuditEvent(ctx context.Context, seq int64) (domain.AuditEvent, error)
	// AuditEvents lists the audit log; the filter's Query says what, in the grammar
	// of the page.
	AuditEvents(ctx context.Context, f domain.AuditFilter) (domain.List[domain.AuditEvent], error)
	// AssignApproval says who is to answer an open approval.
	AssignApproval(ctx context.Context, actor domain.Actor, id, before, assignee, reason string) (domain.Approval, error)
	// Standing says where the failure of a run stands; nothing of one that has not
	// failed.
	Standing(ctx context.Context, run domain.Run) (domain.Standing, error)
	// TakeNote acknowledges a failed run, and has it resumed at a time unless that is
	// zero.
	TakeNote(ctx context.Context, actor domain.Actor, run domain.Run, note string, resumeAt time.Time) (domain.Run, error)
	// CompareRuns puts two runs side by side; without a second one it is the last of
	// the same plan that went well.
	CompareRuns(ctx context.Context, a, b string) (rundiff.Comparison, error)
	// Conversation is what a run's agents said to each other.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Agents and Providers list who acts with models.
	Agents(ctx context.Context) ([]domain.AgentInfo, error)
	Providers(ctx context.Context) ([]domain.ProviderInfo, error)
	// Tools lists the tools; AcceptTool accepts the definition that one has now.
	Tools(ctx context.Context) ([]domain.ToolInfo, error)
	AcceptTool(ctx context.Context, actor domain.Actor, name, digest, reason string) error
	// ToolServers lists MCP servers; RetryToolServer starts one again.
	ToolServers(ctx context.Context) ([]domain.ToolServer, error)
	RetryToolServer(ctx context.Context, actor domain.Actor, name, reason string) error
	// StopTool lets nobody call a tool any more, or lets it be called again;
	// StopProvider the same of a provider.
	StopTool(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error
	StopProvider(ctx context.Context, actor domain.Actor, name string, on bool, reason string) error
	// ChangeToolCircuit opens or closes a circuit of a tool; ChangeProviderCircuit
	// that of a provider.
	ChangeToolCircuit(ctx context.Context, actor domain.Actor, name string, c domain.CircuitChange) error
	ChangeProviderCircuit(ctx context.Context, actor domain.Actor, name string, c domain.CircuitChange) error
	// What sessions remember, of an owner (empty: whoever asks).
	MemorySessions(ctx context.Context, owner string, p domain.Page) (domain.List[domain.MemorySession], error)
	Memories(ctx context.Context, owner, session string, p domain.Page) (domain.List[domain.Memory], error)
	Forget(ctx context.Context, owner, session, reason string, actor domain.Actor) (int64, error)
	// ReleaseHeld lets all runs go on that are held since a restore.
	ReleaseHeld(ctx context.Context, actor domain.Actor, plan, reason string) (int, error)
	// Acts on many runs.
	PreviewBulk(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.BulkPreview, error)
	StartBulk(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.Bulk, error)
	StopBulk(ctx context.Context, actor domain.Actor, id, reason string) (domain.Bulk, error)
	Bulks(ctx context.Context, limit int) ([]domain.Bulk, error)
	BulkAct(ctx context.Context, id string) (domain.Bulk, error)
	BulkItems(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error)
	FailureGroups(ctx context.Context, limit int) ([]domain.FailureGroup, error)
	AckFailures(ctx context.Context, actor domain.Actor, ref domain.FailureRef, note string) (int64, error)
	UnackFailures(ctx context.Context, actor domain.Actor, ref domain.FailureRef) (int64, error)

	Close() error
}

// findRun finds a run by what a person typed.
func findRun(ctx context.Context, b backend, name string) (domain.Run, error) {
	r, err := b.FindRun(ctx, name)
	return r, listedBy(err, "kairos runs lists runs")
}

// findPlan finds a plan by what a person typed.
func findPlan(ctx context.Context, b backend, name string) (domain.Plan, error) {
	p, err := b.Plan(ctx, name)
	return p, listedBy(err, "kairos plans lists plans")
}

// listedBy tells who named something that is not there where it would be.
func listedBy(err error, suggestion string) error {
	if e, ok := errors.AsType[*domain.Error](err); ok && e.Code == domain.CodeNotFound && e.Suggestion == "" {
		return exit.Advise(err, suggestion)
	}
	return err
}
