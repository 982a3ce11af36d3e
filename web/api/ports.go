package api

import (
	"context"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// Reader is what the API reads of the store; see web.Reader for the promises.
type Reader interface {
	FindRun(ctx context.Context, id string) (kairos.Run, error)
	Runs(ctx context.Context, f kairos.RunFilter) (kairos.List[kairos.Run], error)
	JournalPage(ctx context.Context, run string, after int64, limit int) ([]kairos.Entry, error)
	Lineage(ctx context.Context, run string) ([]kairos.Run, error)
	Conversation(ctx context.Context, run string) (kairos.Conversation, error)
	// Uses are the agents, tools and providers of a run.
	Uses(ctx context.Context, run string) ([]kairos.Use, error)

	Plans(ctx context.Context, f kairos.PlanFilter) (kairos.List[kairos.Plan], error)
	Plan(ctx context.Context, idOrKey string) (kairos.Plan, error)
	PlanFlow(ctx context.Context, plan string, version int, since time.Time) (kairos.PlanFlow, error)
	Steps(ctx context.Context, f kairos.StepFilter) (kairos.StepHits, error)
	Versions(ctx context.Context, planID string) ([]kairos.Version, error)
	VersionByNumber(ctx context.Context, planID string, number int) (kairos.Version, error)

	Approvals(ctx context.Context, f kairos.ApprovalFilter) (kairos.List[kairos.Approval], error)
	AssignApproval(ctx context.Context, actor kairos.Actor, id, before, assignee, reason string) (kairos.Approval, error)
	Approval(ctx context.Context, id string) (kairos.Approval, error)
	AuditEvents(ctx context.Context, f kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error)
	AuditEvent(ctx context.Context, seq int64) (kairos.AuditEvent, error)
	EventsAfter(ctx context.Context, after int64, run string, limit int) ([]kairos.AuditEvent, error)
	LastEvent(ctx context.Context) (int64, error)
	FailureGroups(ctx context.Context, limit int) ([]kairos.FailureGroup, error)
	FailureAcks(ctx context.Context, since time.Time, limit int) ([]kairos.FailureAck, error)
	AckFailures(ctx context.Context, actor kairos.Actor, ref kairos.FailureRef, note string) (int64, error)
	UnackFailures(ctx context.Context, actor kairos.Actor, ref kairos.FailureRef) (int64, error)
	// HandoffsOf lists handoffs of all runs with what came of them, newest first.
	HandoffsOf(ctx context.Context, f kairos.HandoffFilter) (kairos.List[kairos.HandoffSeen], error)
	// Handoff is one of them; CodeNotFound.
	Handoff(ctx context.Context, id string) (kairos.HandoffSeen, error)
	Notes(ctx context.Context, run string) ([]kairos.Note, error)
	AddNote(ctx context.Context, actor kairos.Actor, run, text string) (kairos.Note, error)
	// SavedViews are a person's queries of the run list and everybody's; SaveView
	// keeps one, or removes it when the query is empty.
	SavedViews(ctx context.Context, owner string) ([]kairos.SavedView, error)
	SaveView(ctx context.Context, owner, name, query string, said ...kairos.AuditRecord) error
	// AckRun takes note of a failed run; see kairos.Acknowledger.
	AckRun(ctx context.Context, actor kairos.Actor, run, note string) error
}

// Engine is what the API does; see web.Engine for the promises.
type Engine interface {
	Start(ctx context.Context, actor kairos.Actor, r kairos.StartRequest) (kairos.Run, error)
	Preview(ctx context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Preview, error)
	Act(ctx context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Run, error)
	Resolve(ctx context.Context, actor kairos.Actor, r kairos.ResolveRequest) (kairos.Run, error)
	Decide(ctx context.Context, actor kairos.Actor, r kairos.DecideRequest) (kairos.Approval, error)
	Forecast(ctx context.Context, approval string) ([]kairos.Forecast, error)
	Detail(ctx context.Context, run string) (kairos.RunDetail, error)
	SavePlan(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, origin, reason string) (kairos.Plan, kairos.Version, bool, planner.Problems, error)
	// SavePlanOver is SavePlan for a document that was made from the version with
	// the hash base; CodeStale when the plan has a newer one.
	SavePlanOver(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, origin, reason, base string) (kairos.Plan, kairos.Version, bool, planner.Problems, error)
	CheckPlan(src []byte, f planner.Format) (*planner.Document, planner.Problems)
	ArchivePlan(ctx context.Context, actor kairos.Actor, plan string, archived bool, reason string) error
	PausePlan(ctx context.Context, actor kairos.Actor, plan string, on bool, reason string) error
	RestoreVersion(ctx context.Context, actor kairos.Actor, plan string, number int, base, reason string) (kairos.Plan, error)
	AcceptVersion(ctx context.Context, actor kairos.Actor, plan, hash, reason string) (kairos.Plan, error)
	AcceptPlan(ctx context.Context, actor kairos.Actor, plan, reason string) (kairos.Plan, error)
	TryPlan(ctx context.Context, actor kairos.Actor, src []byte, f planner.Format, input kairos.RawJSON) (kairos.Run, planner.Problems, error)
	Subscribe(ctx context.Context, after int64, run string) (<-chan kairos.Event, error)
	// Events gives the stored events after a position, in order: what Subscribe
	// would replay. It reads at most limit rows of the audit log and returns the
	// position up to which it has read.
	Events(ctx context.Context, after int64, run string, limit int) (events []kairos.Event, upto int64, err error)
	Incarnation() string
}

// Principals finds who sends a request.
type Principals interface {
	// Token finds the principal of an API token; CodeUnauthorized.
	Token(ctx context.Context, token string) (kairos.Actor, error)
	// Session finds the user of a browser's session secret; CodeUnauthorized.
	Session(ctx context.Context, secret string) (kairos.User, error)
	// Fresh reports whether the person behind a session proved lately who they are.
	Fresh(ctx context.Context, secret string) (bool, error)
	// MustEnrol reports whether somebody must set up a second factor before anything
	// else.
	MustEnrol(ctx context.Context, u kairos.User) (bool, error)
}

// AuditLog verifies the audit log as a whole.
type AuditLog interface {
	// VerifyAudit begins a verification in the background; CodeConflict while one is
	// under way.
	VerifyAudit(ctx context.Context, actor kairos.Actor) error
	// AuditCheck is the verification under way, else the last one.
	AuditCheck(ctx context.Context) (kairos.AuditCheck, error)
}

// Audit is where acts are recorded that were denied.
type Audit interface {
	Audit(ctx context.Context, r kairos.AuditRecord) error
}

// Accounts manages users and tokens. The actor is recorded with every change.
type Accounts interface {
	Users(ctx context.Context) ([]kairos.User, error)
	User(ctx context.Context, idOrName string) (kairos.User, error)
	// Sessions are a user's open logins; SecondFactor says whether one asks for a code.
	Sessions(ctx context.Context, userID string) ([]kairos.Session, error)
	SecondFactor(ctx context.Context, userID string) (on bool, recoveryCodes int, err error)
	CreateUser(ctx context.Context, actor kairos.Actor, name, password string, role kairos.Role) (kairos.User, error)
	// UpdateUser changes what is not nil; it ends the user's sessions when role,
	// password or access changes.
	UpdateUser(ctx context.Context, actor kairos.Actor, idOrName string, role *kairos.Role, password *string, disabled *bool) (kairos.User, error)
	// LinkUser says by which subject the identity provider knows a user; "" ends
	// the link. It ends the user's sessions.
	LinkUser(ctx context.Context, actor kairos.Actor, idOrName, subject string) (kairos.User, error)
	// LoginLink makes the secret of a link that logs a user in once; only for
	// somebody at the machine itself.
	LoginLink(ctx context.Context, actor kairos.Actor, idOrName string) (secret string, err error)
	// EndSessions ends all open logins of a user but the one with the secret keep
	// (empty: none is kept); DisableSecondFactor takes a second factor away,
	// CodeConflict if there is none.
	EndSessions(ctx context.Context, actor kairos.Actor, idOrName, keep string) error
	DisableSecondFactor(ctx context.Context, actor kairos.Actor, idOrName string) error
	Tokens(ctx context.Context) ([]kairos.Token, error)
	// CreateToken returns the token's text, which is shown only here. A zero
	// lifetime means the default of 90 days.
	CreateToken(ctx context.Context, actor kairos.Actor, name string, role kairos.Role, scopes []string, lifetime time.Duration) (text string, t kairos.Token, err error)
	RevokeToken(ctx context.Context, actor kairos.Actor, id, reason string) error
}

// IdempotencyStore keeps the answers of requests that carry an Idempotency-Key,
// by principal, route and key (ruling 42).
type IdempotencyStore interface {
	// ReserveResponse claims r's principal, route and key for one request. If they
	// are claimed already, the stored record is returned with claimed false: with
	// Status 0 while the first request is still being answered. A claim without an
	// answer that an earlier process left behind, or that is older than staleAfter,
	// can be had: the same body claims it again and is returned with its first
	// CreatedAt, another body replaces it.
	ReserveResponse(ctx context.Context, r kairos.StoredResponse, staleAfter time.Duration) (stored kairos.StoredResponse, claimed bool, err error)
	// CompleteResponse stores the answer of a claimed request.
	CompleteResponse(ctx context.Context, r kairos.StoredResponse) error
	// ReleaseResponse gives a claim up, so that the request may be tried again.
	ReleaseResponse(ctx context.Context, principal, route, key string) error
	// DeleteResponses removes records created before a time.
	DeleteResponses(ctx context.Context, before time.Time) error
}
