// Package web is the operators' dashboard and, below internal/api, the JSON API.
package web

import (
	"context"
	"net/url"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

// Reader is what pages read. The store implements it; every list is by key.
type Reader interface {
	// FindRun finds a run by id, or by any unambiguous tail or prefix of at
	// least 4 characters; CodeNotFound, CodeConflict when ambiguous.
	FindRun(ctx context.Context, id string) (domain.Run, error)
	Runs(ctx context.Context, f domain.RunFilter) (domain.List[domain.Run], error)
	// SortedRuns lists the runs with the most of something among the newest that
	// match, and says among how many.
	SortedRuns(ctx context.Context, f domain.RunFilter, by domain.RunSort) ([]domain.Run, domain.SortWindow, error)
	// Uses lists agents, tools and providers that took part in a run.
	Uses(ctx context.Context, run string) ([]domain.Use, error)
	// Known are the values that runs have under a key of the filter: error, by,
	// agent, tool or provider.
	Known(ctx context.Context, key string, limit int) ([]string, error)
	// ActiveByConcurrency are the active runs with a concurrency key, oldest first.
	ActiveByConcurrency(ctx context.Context, key string) ([]domain.Run, error)
	// RunsCount counts matches up to the cap; not whole: there may be more.
	RunsCount(ctx context.Context, f domain.RunFilter, cap int) (n int, whole bool, err error)
	RunCounts(ctx context.Context) (domain.RunCounts, error)
	// Journal gives rows with Seq > after in order, at most limit (0: all).
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]domain.Entry, error)
	// Kept are the digests that the audit log keeps of a run that retention took the
	// journal of.
	Kept(ctx context.Context, run string) (domain.KeptDigests, error)
	Handoffs(ctx context.Context, run string) ([]domain.Handoff, error)
	// HandoffsOf lists handoffs of all runs with what came of them, newest first.
	HandoffsOf(ctx context.Context, f domain.HandoffFilter) (domain.List[domain.HandoffSeen], error)
	// Handoff is one of them; CodeNotFound.
	Handoff(ctx context.Context, id string) (domain.HandoffSeen, error)
	// HandoffsLike are a few whose ids begin as an id does.
	HandoffsLike(ctx context.Context, id string, limit int) ([]domain.HandoffSeen, error)
	// Conversation is what a run's agents said to each other, in order.
	Conversation(ctx context.Context, run string) (domain.Conversation, error)
	// Children, forks and reruns of a run, and what it came from.
	Lineage(ctx context.Context, run string) ([]domain.Run, error)

	Plans(ctx context.Context, f domain.PlanFilter) (domain.List[domain.Plan], error)
	Plan(ctx context.Context, idOrKey string) (domain.Plan, error)
	// LastRuns are the newest runs of a plan, with id, state and times only.
	LastRuns(ctx context.Context, plan string, limit int) ([]domain.Run, error)
	// NextStart is the run of a plan that is the next to start at a time set for it,
	// and when; "": none is, or too many are queued.
	NextStart(ctx context.Context, plan string) (run string, at time.Time, err error)
	// PlanFlow is how the newest runs of a plan that began since a time went through
	// its nodes; version 0 is any. It looks at a bounded number of runs.
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (domain.PlanFlow, error)
	// Steps finds attempts of steps across runs.
	Steps(ctx context.Context, f domain.StepFilter) (domain.StepHits, error)
	// VersionRuns says per version number how many runs ended since a time, how, and
	// how many are under way.
	VersionRuns(ctx context.Context, planID string, since time.Time) (map[int]domain.VersionRuns, error)
	// PlanFacts are what a plan is found by.
	PlanFacts(ctx context.Context, plan string) ([]domain.PlanFact, error)
	// PlansThatRun are the keys of plans that run another plan.
	PlansThatRun(ctx context.Context, plan string, limit int) ([]string, error)
	Versions(ctx context.Context, planID string) ([]domain.Version, error) // newest first, without source
	VersionByNumber(ctx context.Context, planID string, number int) (domain.Version, error)
	VersionByHash(ctx context.Context, hash string) (domain.Version, error)

	// ApprovalsCount counts matches up to the cap.
	ApprovalsCount(ctx context.Context, f domain.ApprovalFilter, cap int) (int, error)
	// EventsAfter gives audit events with Seq > after in order with their
	// journal rows, at most limit; run restricts to one run.
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]domain.AuditEvent, error)
	// LastEvent is the newest audit sequence number.
	LastEvent(ctx context.Context) (int64, error)
	// Outcomes counts how runs ended since a time, per plan and half hour;
	// PlanOutcomes those of one plan.
	Outcomes(ctx context.Context, since time.Time) ([]domain.Outcome, error)
	PlanOutcomes(ctx context.Context, plan string, since time.Time) (map[domain.RunStatus]int64, error)
}

// Drafts makes plans of intents in the background; nothing of them runs before
// somebody accepts it.
type Drafts interface {
	// Start stores a draft and returns; planning goes on, also after a restart.
	Start(ctx context.Context, actor domain.Actor, r domain.DraftRequest) (domain.Draft, error)
	// Refine makes another draft of the same intent, with what should be different
	// or by another provider; CodeConflict while the one is being planned.
	Refine(ctx context.Context, actor domain.Actor, id string, r domain.DraftRequest) (domain.Draft, error)
	// Accept takes the plan of a draft, or an alternative of it, into use.
	Accept(ctx context.Context, actor domain.Actor, id string, a domain.DraftAcceptance) (domain.Draft, error)
	// AcceptAlternative takes an alternative of a version that has no draft into use.
	AcceptAlternative(ctx context.Context, actor domain.Actor, hash string, a domain.DraftAcceptance) (domain.AskedPlan, error)
	Discard(ctx context.Context, actor domain.Actor, id, reason string) (domain.Draft, error)
	Draft(ctx context.Context, id string) (domain.Draft, error)
	// DraftOfVersion is the newest draft whose plan is a version; CodeNotFound.
	DraftOfVersion(ctx context.Context, hash string) (domain.Draft, error)
	Drafts(ctx context.Context, all bool, limit int) ([]domain.Draft, error)
	// DraftsFrom are those that refine a draft, oldest first.
	DraftsFrom(ctx context.Context, parent string) ([]domain.Draft, error)
	// Planners are the providers whose models can plan.
	Planners() []string
}

// Bulk acts on many runs as one act.
type Bulk interface {
	Preview(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.BulkPreview, error)
	// Start returns once the act is durable; CodeStale if other runs than those
	// previewed would be acted on.
	Start(ctx context.Context, actor domain.Actor, r domain.BulkRequest) (domain.Bulk, error)
	Stop(ctx context.Context, actor domain.Actor, id, reason string) (domain.Bulk, error)
	Bulk(ctx context.Context, id string) (domain.Bulk, error)
	Bulks(ctx context.Context, limit int) ([]domain.Bulk, error)
	Items(ctx context.Context, id string, after int64, limit int) ([]domain.BulkItem, error)
}

// Engine is what pages and the API do.
type Engine interface {
	Preview(ctx context.Context, actor domain.Actor, r domain.VerbRequest) (domain.Preview, error)
	// Forecast says for each answer to an open approval what comes next.
	Forecast(ctx context.Context, approval string) ([]domain.Forecast, error)
	// Detail folds a run: its waits, where it stands. Look is Detail together with what
	// resuming would do; a nil resume: ask Preview.
	Detail(ctx context.Context, run string) (domain.RunDetail, error)
	Look(ctx context.Context, actor domain.Actor, run string) (d domain.RunDetail, resume func() (domain.Preview, error), err error)
	// Program compiles a stored version (cached).
	Program(ctx context.Context, hash string) (*planner.Program, error)
	// Effects is what running each node of a stored version may do, in their order, as
	// far as that is known before it has its input.
	Effects(ctx context.Context, hash string) ([]planner.Effect, error)
	// CheckPlan validates without storing.
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
	// TryPlan starts a dry run of a document without saving it.
	TryPlan(ctx context.Context, actor domain.Actor, src []byte, f planner.Format, input domain.RawJSON) (domain.Run, planner.Problems, error)
	// Catalog is what this installation offers to plans.
	Catalog() *planner.Catalog
	// Subscribe delivers events until the context ends. A listener that does
	// not keep up gets its channel closed after a "reset" event.
	Subscribe(ctx context.Context, after int64, run string) (<-chan domain.Event, error)
	// Heard is how many events were published so far; see domain.Event.
	Heard() int64
}

// Auth is who may come in.
type Auth interface {
	// Login checks a name and password and opens a session; it is throttled
	// per account and address (CodeTooMany) and never tells which was wrong.
	Login(ctx context.Context, name, password, address, userAgent string) (secret string, u domain.User, err error)
	// Session finds the user of a session secret; CodeUnauthorized.
	Session(ctx context.Context, secret string) (domain.User, error)
	Logout(ctx context.Context, secret string) error
	// Token finds the principal of an API token; CodeUnauthorized.
	Token(ctx context.Context, token string) (domain.Actor, error)
	// NeedsSetup reports whether there is no user yet.
	NeedsSetup(ctx context.Context) (bool, error)
	// Setup consumes the one-time setup secret, creates the first admin and opens
	// a session for them.
	Setup(ctx context.Context, setup, name, password, address, userAgent string) (secret string, u domain.User, err error)
	// Ways says whether passwords are taken, and the name of the identity provider
	// ("": there is none).
	Ways() (password bool, provider string)
	// BeginSSO gives the address of the identity provider and what the browser
	// keeps meanwhile; redirect is where the provider sends it back to.
	// CodeUnavailable when the provider does not answer.
	BeginSSO(ctx context.Context, redirect, next string) (address, kept string, err error)
	// FinishSSO opens a session for whom the provider vouches, by the query that it
	// sent the browser back with; next is what BeginSSO was given.
	FinishSSO(ctx context.Context, kept string, answer url.Values, address, userAgent string) (secret string, u domain.User, next string, err error)
	// LoginCode finishes a login that waits for a code: Login failed with an error in
	// whose chain is one with NeedsCode() string, the ticket.
	LoginCode(ctx context.Context, ticket, code, address, userAgent string) (secret string, u domain.User, err error)
	// Fresh reports whether the person behind a session proved lately who they are;
	// Confirm proves it again (CodeForbidden, CodeTooMany).
	Fresh(ctx context.Context, secret string) (bool, error)
	Confirm(ctx context.Context, secret, password, code string) error
	// SecondFactor reports whether a user has one, and how many recovery codes are
	// left; NewSecondFactor is a fresh secret, which counts once EnableSecondFactor
	// was given a code of it. It returns recovery codes, shown only then.
	SecondFactor(ctx context.Context, userID string) (on bool, left int, err error)
	NewSecondFactor() string
	// MustEnrol reports whether somebody must set up a second factor before anything
	// else.
	MustEnrol(ctx context.Context, u domain.User) (bool, error)
	EnableSecondFactor(ctx context.Context, u domain.User, secret, code, keep string) (recovery []string, err error)
	DisableSecondFactor(ctx context.Context, actor domain.Actor, idOrName string) error
	// FollowLink uses up a login link and opens a session.
	FollowLink(ctx context.Context, link, address, userAgent string) (secret string, u domain.User, err error)
}

// Audit is where acts are recorded that never reached what they were about.
type Audit interface {
	Audit(ctx context.Context, r domain.AuditRecord) error
}

// System looks after the installation as a whole.
type System interface {
	// Installation says how the daemon and its data are.
	Installation(ctx context.Context) (domain.Installation, error)
	// Vitals is how the daemon does now and did over the last day.
	Vitals(ctx context.Context) (domain.Vitals, error)
	// Log is the newest lines of the daemon's log, newest first, of a level or worse
	// (empty: all) that hold a text (empty: any).
	Log(ctx context.Context, level, text string) ([]domain.DaemonLog, error)
	// Notices are what every page says now; they are cheap.
	Notices(ctx context.Context) []domain.Notice
	// Retention is what is removed by itself, and when.
	Retention() domain.Retention
}
