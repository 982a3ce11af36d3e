package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/planner"
)

// fake is a small world behind the ports: enough to see what a request asks
// for and to answer it.
type fake struct {
	mu       sync.Mutex
	plans    []kairos.Plan
	versions []kairos.Version
	runs     []kairos.Run
	events   []kairos.Event
	subs     map[chan kairos.Event]bool
	acts     []kairos.VerbRequest
	starts   []kairos.StartRequest
	resolved []kairos.ResolveRequest
	filters  []kairos.RunFilter
	views    []kairos.SavedView
	fail     error // what Act and Start answer, if set
	stored   map[string]kairos.StoredResponse
	died     bool // claims without an answer are of an earlier process
	audited  []kairos.AuditEvent
	tokens   map[string]kairos.Actor
	sessions map[string]kairos.User
}

const incarnation = "abc"

func newFake() *fake {
	f := &fake{subs: map[chan kairos.Event]bool{}, stored: map[string]kairos.StoredResponse{}, tokens: map[string]kairos.Actor{},
		sessions: map[string]kairos.User{}}
	for _, r := range kairos.Roles {
		f.tokens[string(r)] = kairos.Actor{Name: "token " + string(r), Role: r, Surface: "api"}
	}
	f.tokens["nobody"] = kairos.Actor{Name: "token nobody", Surface: "api"}
	f.tokens["reader"] = kairos.Actor{Name: "token reader", Role: kairos.RoleAdmin, Surface: "api", Scopes: "runs:read plans:read"}
	f.sessions["marta-session"] = kairos.User{Name: "marta", Role: kairos.RoleAdmin}
	for i := range 5 {
		f.runs = append(f.runs, kairos.Run{ID: fmt.Sprintf("01h000000000000000000000r%d", i), PlanKey: "p", Status: kairos.RunCompleted,
			LastSeq: 3, CreatedAt: time.Unix(int64(i), 0)})
	}
	return f
}

func gone(what, id string) error {
	return kairos.Errorf(kairos.CodeNotFound, "there is no %s %s", what, id)
}

func (f *fake) FindRun(_ context.Context, id string) (kairos.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.runs {
		if strings.HasSuffix(r.ID, id) {
			return r, nil
		}
	}
	return kairos.Run{}, gone("run", id)
}

func (f *fake) Runs(_ context.Context, q kairos.RunFilter) (kairos.List[kairos.Run], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filters = append(f.filters, q)
	runs := slices.Clone(f.runs)
	slices.Reverse(runs)
	if q.Page.After != "" {
		runs = slices.DeleteFunc(runs, func(r kairos.Run) bool { return r.ID >= q.Page.After })
	}
	l := kairos.List[kairos.Run]{Items: runs}
	if len(runs) > q.Page.Limit {
		l.Items = runs[:q.Page.Limit]
		l.Next = l.Items[q.Page.Limit-1].ID
	}
	return l, nil
}

func (f *fake) JournalPage(_ context.Context, _ string, after int64, limit int) ([]kairos.Entry, error) {
	var out []kairos.Entry
	for seq := after + 1; seq <= 3 && len(out) < limit; seq++ {
		out = append(out, kairos.Entry{Seq: seq, Kind: kairos.EntryResult, Node: "n", Visit: 1, Item: -1, Final: true,
			Status: kairos.NodeCompleted, Output: kairos.RawJSON(`12345678901234567890.10`)})
	}
	return out, nil
}

func (f *fake) Conversation(_ context.Context, run string) (kairos.Conversation, error) {
	return kairos.Conversation{Messages: []kairos.Message{{ID: run + ":1", From: "supervisor", To: "writer", Type: kairos.MessageRequest, Metadata: kairos.MessageMetadata{Priority: "medium"}}}, Handoffs: []kairos.Handoff{}}, nil
}

func (f *fake) Uses(context.Context, string) ([]kairos.Use, error) { return nil, nil }

func (f *fake) Lineage(context.Context, string) ([]kairos.Run, error) { return nil, nil }

func (f *fake) Plans(context.Context, kairos.PlanFilter) (kairos.List[kairos.Plan], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return kairos.List[kairos.Plan]{Items: slices.Clone(f.plans)}, nil
}

func (f *fake) Plan(_ context.Context, id string) (kairos.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.plans {
		if p.ID == id || p.Key == id {
			return p, nil
		}
	}
	return kairos.Plan{}, gone("plan", id)
}

func (f *fake) Versions(context.Context, string) ([]kairos.Version, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.versions), nil
}

func (f *fake) VersionByNumber(_ context.Context, _ string, n int) (kairos.Version, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n < 1 || n > len(f.versions) {
		return kairos.Version{}, gone("version", fmt.Sprint(n))
	}
	return f.versions[n-1], nil
}

func (f *fake) Approvals(context.Context, kairos.ApprovalFilter) (kairos.List[kairos.Approval], error) {
	return kairos.List[kairos.Approval]{Items: []kairos.Approval{{ID: "a1", Status: "open"}}}, nil
}

func (f *fake) Approval(_ context.Context, id string) (kairos.Approval, error) {
	if id != "a1" {
		return kairos.Approval{}, gone("approval", id)
	}
	return kairos.Approval{ID: id, Status: "open"}, nil
}

func (f *fake) AuditEvents(_ context.Context, q kairos.AuditFilter) (kairos.List[kairos.AuditEvent], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list kairos.List[kairos.AuditEvent]
	for _, e := range f.audited {
		if slices.Contains(q.Requests, e.Request.ID) {
			list.Items = append(list.Items, e)
		}
	}
	return list, nil
}

func (f *fake) AuditEvent(_ context.Context, seq int64) (kairos.AuditEvent, error) {
	return kairos.AuditEvent{Seq: seq}, nil
}

func (f *fake) EventsAfter(_ context.Context, after int64, _ string, limit int) ([]kairos.AuditEvent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []kairos.AuditEvent
	for _, e := range f.events {
		if e.Seq > after && len(out) < limit {
			out = append(out, kairos.AuditEvent{Seq: e.Seq})
		}
	}
	return out, nil
}

func (f *fake) LastEvent(context.Context) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.events)), nil
}

func (f *fake) Start(_ context.Context, actor kairos.Actor, r kairos.StartRequest) (kairos.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return kairos.Run{}, f.fail
	}
	for _, run := range f.runs {
		if r.Key != "" && run.Key == r.Key {
			return run, nil
		}
	}
	f.starts = append(f.starts, r)
	run := kairos.Run{ID: kairos.NewID(), PlanKey: r.Plan, Status: kairos.RunQueued, Key: r.Key, Actor: actor.Name, CreatedAt: time.Now()}
	f.runs = append(f.runs, run)
	return run, nil
}

func (f *fake) Preview(_ context.Context, _ kairos.Actor, r kairos.VerbRequest) (kairos.Preview, error) {
	return kairos.Preview{Run: r.Run, Action: r.Action, Allowed: true, Digest: "d"}, nil
}

func (f *fake) Act(_ context.Context, actor kairos.Actor, r kairos.VerbRequest) (kairos.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return kairos.Run{}, f.fail
	}
	f.acts = append(f.acts, r)
	if r.Action == kairos.ActionFork {
		f.record("run.created", f.runs[4].ID, actor)
	}
	f.record("run."+string(r.Action), r.Run, actor)
	return kairos.Run{ID: r.Run, Status: kairos.RunRunning}, nil
}

func (f *fake) Resolve(_ context.Context, _ kairos.Actor, r kairos.ResolveRequest) (kairos.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.resolved = append(f.resolved, r)
	return kairos.Run{ID: r.Run, Status: kairos.RunRunning}, nil
}

func (f *fake) Decide(_ context.Context, _ kairos.Actor, r kairos.DecideRequest) (kairos.Approval, error) {
	return kairos.Approval{ID: r.Approval, Status: "approved"}, nil
}

func (f *fake) Forecast(context.Context, string) ([]kairos.Forecast, error) { return nil, nil }

func (f *fake) AssignApproval(_ context.Context, _ kairos.Actor, id, _, assignee, _ string) (kairos.Approval, error) {
	return kairos.Approval{ID: id, Status: "open", Assignee: assignee}, nil
}

func (f *fake) Detail(ctx context.Context, id string) (kairos.RunDetail, error) {
	run, err := f.FindRun(ctx, id)
	if err != nil {
		return kairos.RunDetail{}, err
	}
	journal, err := f.JournalPage(ctx, id, 0, 10)
	return kairos.RunDetail{Run: run, Journal: journal}, err
}

func (f *fake) SavePlanOver(ctx context.Context, actor kairos.Actor, src []byte, format planner.Format, origin, reason, base string) (kairos.Plan, kairos.Version, bool, planner.Problems, error) {
	f.mu.Lock()
	stale := base != "" && len(f.versions) > 0 && f.versions[len(f.versions)-1].Hash != base
	f.mu.Unlock()
	if stale {
		return kairos.Plan{}, kairos.Version{}, false, nil, kairos.Errorf(kairos.CodeStale, "the plan has a newer version")
	}
	return f.SavePlan(ctx, actor, src, format, origin, reason)
}

func (f *fake) SavePlan(_ context.Context, actor kairos.Actor, src []byte, format planner.Format, _, reason string) (kairos.Plan, kairos.Version, bool, planner.Problems, error) {
	doc, problems := f.CheckPlan(src, format)
	if err := problems.Err(); err != nil {
		return kairos.Plan{}, kairos.Version{}, false, problems, &kairos.Error{Code: kairos.CodeInvalid, Message: "the plan is not valid", Cause: err}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.versions {
		if v.Hash == doc.Hash {
			return f.plans[0], v, false, problems, nil
		}
	}
	v := kairos.Version{PlanID: "p1", PlanKey: doc.ID, Number: len(f.versions) + 1, Hash: doc.Hash, Source: src, Format: string(format),
		Canonical: []byte(`{"nodes":{}}`), Author: actor.Name, Reason: reason}
	f.versions = append(f.versions, v)
	f.plans = []kairos.Plan{{ID: "p1", Key: doc.ID, Latest: v.Number, LatestHash: v.Hash}}
	return f.plans[0], v, true, problems, nil
}

func (f *fake) CheckPlan(src []byte, format planner.Format) (*planner.Document, planner.Problems) {
	return planner.Parse(src, format)
}

func (f *fake) ArchivePlan(_ context.Context, _ kairos.Actor, id string, archived bool, _ string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.plans {
		if f.plans[i].Key == id {
			f.plans[i].Archived = archived
			return nil
		}
	}
	return gone("plan", id)
}

func (f *fake) PausePlan(_ context.Context, actor kairos.Actor, id string, on bool, reason string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.plans {
		if p := &f.plans[i]; p.Key == id {
			if p.Paused = nil; on {
				p.Paused = &kairos.Stop{By: actor.Name, Reason: reason}
			}
			return nil
		}
	}
	return gone("plan", id)
}

// emit stores an event and delivers it; who does not take it gets a reset.
func (f *fake) emit(kind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seq := int64(len(f.events) + 1)
	e := kairos.Event{ID: fmt.Sprintf("%s-%d", incarnation, seq), Seq: seq, Type: kind, At: time.Unix(seq, 0).UTC()}
	f.events = append(f.events, e)
	for c := range f.subs {
		if len(c) < cap(c)-1 {
			c <- e
			continue
		}
		c <- kairos.Event{Type: "reset", At: e.At}
		close(c)
		delete(f.subs, c)
	}
}

func (f *fake) listeners() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

func (f *fake) Subscribe(ctx context.Context, after int64, _ string) (<-chan kairos.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan kairos.Event, 64)
	for _, e := range f.events {
		if e.Seq > after {
			c <- e
		}
	}
	f.subs[c] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.subs[c] {
			delete(f.subs, c)
			close(c)
		}
	})
	return c, nil
}

func (f *fake) Events(_ context.Context, after int64, _ string, limit int) ([]kairos.Event, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []kairos.Event
	for _, e := range f.events {
		if e.Seq > after && len(out) < limit {
			out, after = append(out, e), e.Seq
		}
	}
	return out, after, nil
}

func (f *fake) Incarnation() string { return incarnation }

func (f *fake) Token(_ context.Context, token string) (kairos.Actor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.tokens[token]
	if !ok {
		return a, kairos.Errorf(kairos.CodeUnauthorized, "this API token is not valid")
	}
	return a, nil
}

// Fresh is every session.
func (f *fake) Fresh(context.Context, string) (bool, error) { return true, nil }

func (f *fake) MustEnrol(context.Context, kairos.User) (bool, error) { return false, nil }

func (f *fake) Session(_ context.Context, secret string) (kairos.User, error) {
	u, ok := f.sessions[secret]
	if !ok {
		return u, kairos.Errorf(kairos.CodeUnauthorized, "you are not logged in")
	}
	return u, nil
}

func (f *fake) Users(context.Context) ([]kairos.User, error) {
	return []kairos.User{{Name: "marta", PasswordHash: "$argon2id$secret"}}, nil
}

func (f *fake) User(_ context.Context, id string) (kairos.User, error) {
	return kairos.User{ID: id, Name: "marta", PasswordHash: "$argon2id$secret"}, nil
}

func (f *fake) Sessions(_ context.Context, id string) ([]kairos.Session, error) {
	return []kairos.Session{{IDHash: "secret-hash", UserID: id, Address: "192.0.2.1"}}, nil
}

func (f *fake) SecondFactor(context.Context, string) (bool, int, error) { return true, 3, nil }

func (f *fake) CreateUser(_ context.Context, _ kairos.Actor, name, _ string, role kairos.Role) (kairos.User, error) {
	return kairos.User{ID: "u1", Name: name, Role: role}, nil
}

func (f *fake) LinkUser(_ context.Context, _ kairos.Actor, id, subject string) (kairos.User, error) {
	return kairos.User{ID: id, Name: id, Role: kairos.RoleViewer, Issuer: "https://login.example", Subject: subject}, nil
}

func (f *fake) EndSessions(context.Context, kairos.Actor, string, string) error { return nil }

func (f *fake) DisableSecondFactor(context.Context, kairos.Actor, string) error { return nil }

func (f *fake) LoginLink(context.Context, kairos.Actor, string) (string, error) { return "secret", nil }

func (f *fake) UpdateUser(_ context.Context, _ kairos.Actor, id string, _ *kairos.Role, _ *string, _ *bool) (kairos.User, error) {
	return kairos.User{ID: id}, nil
}

func (f *fake) Tokens(context.Context) ([]kairos.Token, error) {
	return []kairos.Token{{ID: "t1", SecretHash: "secret-hash"}}, nil
}

func (f *fake) CreateToken(_ context.Context, _ kairos.Actor, name string, role kairos.Role, scopes []string, _ time.Duration) (string, kairos.Token, error) {
	return "kro_text", kairos.Token{ID: "t1", Name: name, Role: role, Scopes: scopes, SecretHash: "secret-hash"}, nil
}

func (f *fake) RevokeToken(context.Context, kairos.Actor, string, string) error { return nil }

func (f *fake) ReserveResponse(_ context.Context, r kairos.StoredResponse, _ time.Duration) (kairos.StoredResponse, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := r.Principal + r.Route + r.Key
	if s, ok := f.stored[k]; ok {
		if s.Status == 0 && f.died { // its process did
			return s, true, nil
		}
		return s, false, nil
	}
	f.stored[k] = r
	return r, true, nil
}

func (f *fake) CompleteResponse(_ context.Context, r kairos.StoredResponse) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored[r.Principal+r.Route+r.Key] = r
	return nil
}

func (f *fake) ReleaseResponse(_ context.Context, principal, route, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.stored, principal+route+key)
	return nil
}

func (f *fake) DeleteResponses(context.Context, time.Time) error { return nil }

func (f *fake) AckFailures(context.Context, kairos.Actor, kairos.FailureRef, string) (int64, error) {
	return 0, nil
}
func (f *fake) UnackFailures(context.Context, kairos.Actor, kairos.FailureRef) (int64, error) {
	return 0, nil
}
func (f *fake) Handoff(_ context.Context, id string) (kairos.HandoffSeen, error) {
	return kairos.HandoffSeen{}, gone("handoff", id)
}

func (f *fake) HandoffsOf(context.Context, kairos.HandoffFilter) (kairos.List[kairos.HandoffSeen], error) {
	return kairos.List[kairos.HandoffSeen]{}, nil
}
func (f *fake) Notes(context.Context, string) ([]kairos.Note, error) { return nil, nil }
func (f *fake) SavedViews(_ context.Context, owner string) ([]kairos.SavedView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.views), func(v kairos.SavedView) bool { return v.Owner != "" && v.Owner != owner }), nil
}

func (f *fake) SaveView(_ context.Context, owner, name, query string, said ...kairos.AuditRecord) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.views = slices.DeleteFunc(f.views, func(v kairos.SavedView) bool { return v.Owner == owner && v.Name == name })
	if query != "" {
		f.views = append(f.views, kairos.SavedView{Owner: owner, Name: name, Query: query})
	}
	return nil
}

func (f *fake) AddNote(_ context.Context, actor kairos.Actor, run, text string) (kairos.Note, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record("run.note", run, actor)
	return kairos.Note{ID: 1, Run: run, Actor: actor.Name, Text: text}, nil
}

func (f *fake) record(action, run string, actor kairos.Actor) {
	f.audited = append(f.audited, kairos.AuditEvent{Seq: int64(len(f.audited)) + 1, AuditRecord: kairos.AuditRecord{Action: action, Run: run, Actor: actor.Name, Request: actor.Request}})
}

func (f *fake) AckRun(context.Context, kairos.Actor, string, string) error { return nil }
func (f *fake) FailureAcks(context.Context, time.Time, int) ([]kairos.FailureAck, error) {
	return nil, nil
}
func (f *fake) FailureGroups(context.Context, int) ([]kairos.FailureGroup, error) { return nil, nil }

func (f *fake) RestoreVersion(context.Context, kairos.Actor, string, int, string, string) (kairos.Plan, error) {
	return kairos.Plan{}, kairos.Errorf(kairos.CodeNotFound, "no such version")
}

func (f *fake) AcceptVersion(context.Context, kairos.Actor, string, string, string) (kairos.Plan, error) {
	return kairos.Plan{}, nil
}

func (f *fake) AcceptPlan(context.Context, kairos.Actor, string, string) (kairos.Plan, error) {
	return kairos.Plan{}, kairos.Errorf(kairos.CodeConflict, "no draft")
}

func (f *fake) TryPlan(context.Context, kairos.Actor, []byte, planner.Format, kairos.RawJSON) (kairos.Run, planner.Problems, error) {
	return kairos.Run{ID: "tried", Status: kairos.RunQueued}, nil, nil
}

func (f *fake) PlanFlow(context.Context, string, int, time.Time) (kairos.PlanFlow, error) {
	return kairos.PlanFlow{Whole: true, Runs: 1, Nodes: map[string]*kairos.NodeFlow{"a": {Runs: 1, Failures: []kairos.StepHit{{Run: "r", Node: "a"}}}}}, nil
}

func (f *fake) Steps(context.Context, kairos.StepFilter) (kairos.StepHits, error) {
	return kairos.StepHits{Items: []kairos.StepHit{{Run: "r", Node: "a"}}}, nil
}
