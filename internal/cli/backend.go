package cli

import (
	"context"
	"errors"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/internal/rundiff"
	"github.com/kairosd/kairosd/planner"
)

// backend is what commands work on: a database in this process, or a daemon
// over its API. Both promise the same; see web.Reader and web.Engine.
type backend interface {
	SavePlan(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, origin, reason string) (kairos.Plan, kairos.Version, bool, planner.Problems, error)
	Plans(ctx context.Context, f kairos.PlanFilter) (kairos.List[kairos.Plan], error)
	Plan(ctx context.Context, idOrKey string) (kairos.Plan, error)
	Versions(ctx context.Context, planID string) ([]kairos.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (kairos.Version, error)
	// PlanFlow is how the newest runs of a plan went through its nodes.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (kairos.PlanFlow, error)
	// PausePlan lets no run of a plan start, or lets them start again.
	PausePlan(ctx context.Context, actor kairos.Actor, plan string, on bool, reason string) error
	// ArchivePlan hides a plan from lists, RestoreVersion makes an earlier version the
	// current one, AcceptPlan takes a draft into use.
	ArchivePlan(ctx context.Context, actor kairos.Actor, plan string, archived bool, reason string) error
	RestoreVersion(ctx context.Context, actor kairos.Actor, plan string, number int, base, reason string) (kairos.Plan, error)
	AcceptPlan(ctx context.Context, actor kairos.Actor, plan, reason string) (kairos.Plan, error)
	// TryPlan starts a dry run of a document that is not stored as a version.
	TryPlan(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, input kairos.RawJSON) (kairos.Run, planner.Problems, error)

	// Drafts of plans are made in the background; Draft says how far one is.
	Drafts(ctx context.Context, all bool, limit int) ([]kairos.Draft, error)
	Draft(ctx context.Context, id string) (kairos.Draft, error)
	StartDraft(ctx context.Context, actor kairos.Actor, r kairos.DraftRequest) (kairos.Draft, error)
	RefineDraft(ctx context.Context, actor kairos.Actor, id string, r kairos.DraftRequest) (kairos.Draft, error)
	AcceptDraft(ctx context.Context, actor kairos.Actor, id, reason string) (kairos.Draft, error)
	DiscardDraft(ctx context.Context, actor kairos.Actor, id, reason string) (kairos.Draft, error)
	// RunDraft starts a run of exactly the plan of a draft.
	RunDraft(ctx context.Context, actor kairos.Actor, id string, r kairos.DraftStart) (kairos.Run, error)
	Start(ctx context.Context, actor kairos.Actor, r kairos.StartRequest) (kairos.Run, error)
	Runs(ctx context.Context, f kairos.RunFilter) (kairos.List[kairos.Run], error)
	FindRun(ctx context.Context, id string) (kairos.Run, error)
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]kairos.Entry, error)
	Result(ctx context.Context, run string) (kairos.Result, error)
	// Detail is a run with its waits and its whole journal.
	Detail(ctx context.Context, run string) (kairos.RunDetail, error)
	// Notes are what people wrote about a run; AddNote keeps one more.
	Notes(ctx context.Context, run string) ([]kairos.Note, error)
	AddNote(ctx context.Context, actor kairos.Actor, run, text string) (kairos.Note, error)
	// Wait returns when the run is final, or waits for what only a person can
	// give, or the context ends.
	Wait(ctx context.Context, run string) (kairos.Run, error)
	// Steps finds attempts of steps across runs; HandoffsOf lists handoffs. Their
	// filters' Query says what, in the grammar of the pages.
	Steps(ctx context.Context, f kairos.StepFilter) (kairos.StepHits, error)
	HandoffsOf(ctx context.Context, f kairos.HandoffFilter) (kairos.List[kairos.HandoffSeen], error)
	// Views are the caller's saved views and everybody's; KeepView keeps one, or
	// removes it when its query is empty.
	Views(ctx context.Context) ([]kairos.SavedView, error)
	KeepView(ctx context.Context, actor kairos.Actor, v kairos.SavedView, everybody bool) error
	// Subscribe delivers a run's events from now on (after 0: from its start).
	Subscribe(ctx context.Context, after int64, run string) (<-chan kairos.Event, error)

	Preview(ctx context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Preview, error)
	Act(ctx context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Run, error)
	Resolve(ctx context.Context, actor kairos.Actor, r kairos.ResolveRequest) (kairos.Run, error)
	Approvals(ctx context.Context, f kairos.ApprovalFilter) (kairos.List[kairos.Approval], error)
	Approval(ctx context.Context, id string) (kairos.Approval, error)
	Decide(ctx context.Context, actor kairos.Actor, r kairos.DecideRequest) (kairos.Approval, error)
	// Forecast says where each answer to an open approval leads.
	Forecast(ctx context.Context, approval string) ([]kairos.Forecast, error)
	AuditEvent(ctx context.Context, seq int64) (kairos.AuditEvent, error)
	// AuditEvents lists the audit log; the filter's Query says what, in the grammar
	// of the page.
	AuditEvents(ctx context.Context, f kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error)
	// AssignApproval says who is to answer an open approval.
	AssignApproval(ctx context.Context, actor kairos.Actor, id, before, assignee, reason string) (kairos.Approval, error)
	// Standing says where the failure of a run stands; nothing of one that has not
	// failed.
	Standing(ctx context.Context, run kairos.Run) (kairos.Standing, error)
	// TakeNote acknowledges a failed run, and has it resumed at a time unless that is
	// zero.
	TakeNote(ctx context.Context, actor kairos.Actor, run kairos.Run, note string, resumeAt time.Time) (kairos.Run, error)
	// CompareRuns puts two runs side by side; without a second one it is the last of
	// the same plan that went well.
	CompareRuns(ctx context.Context, a, b string) (rundiff.Comparison, error)
	// Conversation is what a run's agents said to each other.
	Conversation(ctx context.Context, run string) (kairos.Conversation, error)
	// Agents and Providers list who acts with models.
	Agents(ctx context.Context) ([]kairos.AgentInfo, error)
	Providers(ctx context.Context) ([]kairos.ProviderInfo, error)
	// Tools lists the tools; AcceptTool accepts the definition that one has now.
	Tools(ctx context.Context) ([]kairos.ToolInfo, error)
	AcceptTool(ctx context.Context, actor kairos.Actor, name, digest, reason string) error
	// ToolServers lists MCP servers; RetryToolServer starts one again.
	ToolServers(ctx context.Context) ([]kairos.ToolServer, error)
	RetryToolServer(ctx context.Context, actor kairos.Actor, name, reason string) error
	// StopTool lets nobody call a tool any more, or lets it be called again;
	// StopProvider the same of a provider.
	StopTool(ctx context.Context, actor kairos.Actor, name string, on bool, reason string) error
	StopProvider(ctx context.Context, actor kairos.Actor, name string, on bool, reason string) error
	// ChangeToolCircuit opens or closes a circuit of a tool; ChangeProviderCircuit
	// that of a provider.
	ChangeToolCircuit(ctx context.Context, actor kairos.Actor, name string, c kairos.CircuitChange) error
	ChangeProviderCircuit(ctx context.Context, actor kairos.Actor, name string, c kairos.CircuitChange) error
	// What sessions remember, of an owner (empty: whoever asks).
	MemorySessions(ctx context.Context, owner string, p kairos.Page) (kairos.List[kairos.MemorySession], error)
	Memories(ctx context.Context, owner, session string, p kairos.Page) (kairos.List[kairos.Memory], error)
	Forget(ctx context.Context, owner, session, reason string, actor kairos.Actor) (int64, error)
	// ReleaseHeld lets all runs go on that are held since a restore.
	ReleaseHeld(ctx context.Context, actor kairos.Actor, plan, reason string) (int, error)
	// Acts on many runs.
	PreviewBulk(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.BulkPreview, error)
	StartBulk(ctx context.Context, actor kairos.Actor, r kairos.BulkRequest) (kairos.Bulk, error)
	StopBulk(ctx context.Context, actor kairos.Actor, id, reason string) (kairos.Bulk, error)
	Bulks(ctx context.Context, limit int) ([]kairos.Bulk, error)
	BulkAct(ctx context.Context, id string) (kairos.Bulk, error)
	BulkItems(ctx context.Context, id string, after int64, limit int) ([]kairos.BulkItem, error)
	FailureGroups(ctx context.Context, limit int) ([]kairos.FailureGroup, error)
	AckFailures(ctx context.Context, actor kairos.Actor, ref kairos.FailureRef, note string) (int64, error)
	UnackFailures(ctx context.Context, actor kairos.Actor, ref kairos.FailureRef) (int64, error)

	Close() error
}

// findRun finds a run by what a person typed.
func findRun(ctx context.Context, b backend, name string) (kairos.Run, error) {
	r, err := b.FindRun(ctx, name)
	return r, listedBy(err, "kairos runs lists runs")
}

// findPlan finds a plan by what a person typed.
func findPlan(ctx context.Context, b backend, name string) (kairos.Plan, error) {
	p, err := b.Plan(ctx, name)
	return p, listedBy(err, "kairos plans lists plans")
}

// listedBy tells who named something that is not there where it would be.
func listedBy(err error, suggestion string) error {
	if e, ok := errors.AsType[*kairos.Error](err); ok && e.Code == kairos.CodeNotFound && e.Suggestion == "" {
		return advise(err, suggestion)
	}
	return err
}
