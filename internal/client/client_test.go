package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/apitypes"
	"github.com/kairosd/kairosd/internal/app"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/auth"
	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/planner/walk"
)

var root = domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}

// me is an actor that the client sends. The daemon ignores it and uses the token.
var me = domain.Actor{Name: "somebody", Role: domain.RoleAdmin}

// daemon is a real store, engine, auth service, and API on loopback.
type daemon struct {
	engine *enginetest.Engine
	auth   apptest.Accounts
	api    *api.API
	server *httptest.Server
	// lose is the number of next answers that are lost after the request was executed.
	lose atomic.Int32
	fail atomic.Bool // whether the node "flaky" fails
}

func start(t *testing.T) *daemon {
	t.Helper()
	d := &daemon{}
	reg := enginetest.NewRegistry().Handle("flaky", walk.EffectIdempotent, func(_ context.Context, c *engine.Call) (engine.Result, error) {
		if d.fail.Load() {
			return engine.Result{}, errors.New("the other side is away")
		}
		return engine.Result{Output: c.Input}, nil
	})
	d.engine = enginetest.Open(t, reg)
	s := d.engine.Store
	var err error
	config := apptest.Config(t, s, d.engine.Engine)
	a := app.New(config)
	d.auth = apptest.Accounts{Service: config.Auth, Of: a.Accounts, Keys: a.Tokens, Reader: s}
	d.api, err = api.New(api.Config{App: a, Reader: s, Engine: d.engine.Engine, Principals: d.auth,
		Version: apitypes.Version{Version: "1.2.3"}, Heartbeat: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && d.lose.Load() > 0 {
			d.lose.Add(-1)
			d.api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		d.api.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { d.api.Close(); d.server.Close() })
	return d
}

func (d *daemon) as(t *testing.T, role domain.Role) *client.Client {
	t.Helper()
	text, _, err := d.auth.CreateToken(t.Context(), root, string(role)+domain.NewID()[20:], role, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(d.server.URL, text)
	if err != nil {
		t.Fatal(err)
	}
	c.Retry = []time.Duration{0, 0}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// settled waits for a run with its events, as a program would.
func settled(t *testing.T, c *client.Client, id string) apitypes.RunDetail {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range c.Events(ctx, id, "") {
		r, err := c.View(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status.Final() || r.WaitReason.NeedsPerson() {
			return r
		}
	}
	r, err := c.View(t.Context(), id)
	t.Fatalf("the run does not settle: %s %s, %v", r.Status, r.WaitReason, err)
	return r
}

const chain = `id: chain
nodes:
  a: {type: set, input: {n: 12345678901234567890.10}}
  b: {type: flaky, input: {saw: "${output.a.n}"}}
edges:
  - {from: a, to: b}
`

func TestRunAndApproveOverTheNetwork(t *testing.T) {
	t.Parallel()
	d := start(t)
	author, operator, viewer := d.as(t, domain.RoleAuthor), d.as(t, domain.RoleOperator), d.as(t, domain.RoleViewer)

	p, v, created, _, err := author.SavePlan(t.Context(), []byte(chain), planner.FormatAuto, "", "first")
	if err != nil || !created || v.Number != 1 || p.Key != "chain" || v.Hash == "" {
		t.Fatalf("SavePlan = %+v %+v %v, %v", p, v, created, err)
	}
	if _, again, created, _, err := author.SavePlan(t.Context(), []byte(chain), planner.FormatYAML, "", ""); err != nil || created ||
		again.Hash != v.Hash {
		t.Errorf("the same content = %+v, %v", again, err)
	}
	if v, err := viewer.VersionByNumber(t.Context(), "chain", 0); err != nil || string(v.Source) != chain || v.Reason != "first" ||
		len(v.Canonical) == 0 {
		t.Errorf("Version = %+v, %v", v, err)
	}

	d.fail.Store(true)
	s, err := operator.Start(
		t.Context(),
		domain.StartRequest{Plan: "chain", Input: domain.RawJSON(`{"x":[1,2]}`), Labels: map[string]string{"env": "prod"},
			Limits: domain.Limits{MaxDuration: time.Hour}},
	)
	if err != nil || s.Labels["env"] != "prod" {
		t.Fatalf("Start = %+v, %v", s, err)
	}
	r := settled(t, viewer, s.ID)
	if r.Status != domain.RunFailed || r.Error == nil || r.Error.Node != "b" || !slices.Equal(r.Path, []string{"a"}) ||
		string(r.Outputs["a"]) != `{"n":12345678901234567890.10}` || r.Limits.MaxDurationMs != 3600000 || string(r.Input) != `{"x":[1,2]}` {
		t.Fatalf("the failed run is %+v", r)
	}
	list, err := viewer.Runs(
		t.Context(),
		domain.RunFilter{Statuses: []domain.RunStatus{domain.RunFailed, domain.RunCancelled}, PlanKey: "chain",
			Labels: map[string]string{"env": "prod"}, NeedsAttention: true},
	)
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != s.ID {
		t.Errorf("Runs = %+v, %v", list, err)
	}

	preview, err := operator.Preview(t.Context(), domain.ActionRequest{Run: s.ID, Action: domain.ActionResume})
	if err != nil || !preview.Allowed || len(preview.Keep) != 1 || preview.Digest == "" {
		t.Fatalf("Preview = %+v, %v", preview, err)
	}
	d.fail.Store(false)
	if _, err := operator.Act(t.Context(), domain.ActionRequest{Run: s.ID, Action: domain.ActionResume, Reason: "it is back",
		Digest: preview.Digest}); err != nil {
		t.Fatalf("resume: %v", err)
	}
	r = settled(t, viewer, s.ID)
	if r.Status != domain.RunCompleted || !slices.Equal(r.Path, []string{"a", "b"}) ||
		string(r.Output) != `{"saw":12345678901234567890.10}` {
		t.Fatalf("the resumed run is %+v", r)
	}
	journal, err := viewer.Journal(t.Context(), s.ID)
	if err != nil || len(journal) == 0 || journal[0].Seq != 1 || int64(len(journal)) != r.Rev {
		t.Errorf("journal of %d rows (rev %d), %v", len(journal), r.Rev, err)
	}

	_, err = operator.Act(t.Context(), domain.ActionRequest{Run: s.ID, Action: domain.ActionResume})
	if err == nil || statusOf(err) != 409 {
		t.Errorf("A39: resuming a completed run: %v", err)
	}
	forked, err := operator.Act(
		t.Context(),
		domain.ActionRequest{Run: s.ID, Action: domain.ActionFork, At: 1, Edits: map[string]domain.RawJSON{"a": domain.RawJSON(`{"n":2}`)}},
	)
	if err != nil || forked.ID == s.ID || forked.ForkedFrom != s.ID {
		t.Fatalf("fork = %+v, %v", forked, err)
	}
	if r := settled(t, viewer, forked.ID); string(r.Output) != `{"saw":2}` {
		t.Errorf("the fork gave %s (%s, %v)", r.Output, r.Status, r.Error)
	}
	rerun, err := operator.Act(t.Context(), domain.ActionRequest{Run: s.ID, Action: domain.ActionRerun, Input: domain.RawJSON(`7`)})
	if err != nil || rerun.RerunOf != s.ID {
		t.Fatalf("rerun = %+v, %v", rerun, err)
	}
	settled(t, viewer, rerun.ID)
	if r, err := viewer.View(t.Context(), s.ID[len(s.ID)-8:]); err != nil || len(r.Related) < 2 {
		t.Errorf("related runs %+v, %v", r.Related, err)
	}
	if _, err := operator.Act(t.Context(), domain.ActionRequest{Run: rerun.ID, Action: domain.ActionDelete, Reason: "no use"}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// statusOf returns the HTTP status of a code.
func statusOf(err error) int {
	switch domain.CodeOf(err) {
	case domain.CodeConflict, domain.CodeStale, domain.CodeNotResumable:
		return 409
	case domain.CodeForbidden:
		return 403
	case domain.CodeUnauthorized:
		return 401
	}
	return 0
}

func TestErrorsKeepAllFields(t *testing.T) {
	t.Parallel()
	d := start(t)
	author, viewer := d.as(t, domain.RoleAuthor), d.as(t, domain.RoleViewer)
	_, _, _, problems, err := author.SavePlan(t.Context(), []byte("nodes:\n  a: {type: sett}\n  b: {}\n"), planner.FormatYAML, "", "")
	bad, ok := errors.AsType[*planner.InvalidError](err)
	if !ok || len(problems) < 2 || len(bad.Problems) < 2 || bad.Problems[0].Line == 0 || domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an invalid plan: %v (%+v)", err, bad)
	}
	if c, err := viewer.CheckPlan(t.Context(), []byte(`{"nodes":{"a":{"type":"sett"}}}`), planner.FormatAuto, ""); err != nil || c.Valid ||
		len(c.Problems) == 0 {
		t.Errorf("CheckPlan = %+v, %v", c, err)
	}
	_, err = viewer.Start(t.Context(), domain.StartRequest{Plan: "chain"})
	if e, ok := errors.AsType[*domain.Error](err); !ok || e.Code != domain.CodeForbidden || e.Suggestion == "" {
		t.Errorf("a viewer starts a run: %#v", err)
	}
	if _, err = viewer.View(t.Context(), "zzzz"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("an unknown run: %v", err)
	}
	wrong, err := client.New(d.server.URL, "kro_wrong")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = wrong.Me(t.Context()); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("a wrong token: %v", err)
	}
	for _, address := range []string{"", "127.0.0.1:8080", "ftp://x", "http://x/y", "http://u:p@x"} {
		if _, err := client.New(address, ""); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("address %q: %v", address, err)
		}
	}
	away, err := client.New("http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	away.Retry = nil
	if _, err = away.Me(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("nobody there: %v", err)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer other.Close()
	stranger, err := client.New(other.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = stranger.Me(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("another server: %v", err)
	}
}

func TestLostResponsesAreRequestedAgain(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator := d.as(t, domain.RoleOperator)
	d.engine.Save(chain)
	d.lose.Store(1)
	s, err := operator.Start(t.Context(), domain.StartRequest{Plan: "chain"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := operator.Runs(t.Context(), domain.RunFilter{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != s.ID {
		t.Errorf("A44: a start whose answer was lost left %d runs (%v), want the one that was answered", len(list.Items), err)
	}
}

func TestTwoOperatorsAtOnce(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.fail.Store(true)
	run := d.engine.Settle(d.engine.Run(chain, "").ID)
	one, two := d.as(t, domain.RoleOperator), d.as(t, domain.RoleOperator)
	results := make(chan error, 2)
	for _, c := range []*client.Client{one, two} {
		go func() {
			_, err := c.Act(t.Context(), domain.ActionRequest{Run: run.ID, Action: domain.ActionResume, Rev: run.LastSeq})
			results <- err
		}()
	}
	a, b := <-results, <-results
	if (a == nil) == (b == nil) {
		t.Fatalf("A38: two resumes at once: %v and %v, want one winner", a, b)
	}
	if err := cmpError(a, b); statusOf(err) != 409 {
		t.Errorf("A38: the loser gets %v", err)
	}
}

func cmpError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	d := start(t)
	operator, viewer := d.as(t, domain.RoleOperator), d.as(t, domain.RoleViewer)
	d.engine.Save(`id: gate
nodes:
  ask: {type: approval, input: {message: "ship it?", form: {type: object, properties: {n: {type: integer}}}}}
`)
	s, err := operator.Start(t.Context(), domain.StartRequest{Plan: "gate"})
	if err != nil {
		t.Fatal(err)
	}
	r := settled(t, viewer, s.ID)
	if r.Status != domain.RunWaiting || r.WaitReason != domain.WaitApproval || len(r.Waits) != 1 {
		t.Fatalf("the run is %s %s %+v", r.Status, r.WaitReason, r.Waits)
	}
	open, err := viewer.Approvals(t.Context(), domain.ApprovalFilter{Run: s.ID})
	if err != nil || len(open.Items) != 1 || open.Items[0].Message != "ship it?" || open.Items[0].ID != r.Waits[0].Approval {
		t.Fatalf("Approvals = %+v, %v", open, err)
	}
	q := open.Items[0]
	if _, err := viewer.Decide(t.Context(), domain.DecideRequest{Approval: q.ID, Approve: true}); domain.CodeOf(
		err,
	) != domain.CodeForbidden {
		t.Errorf("a viewer decides: %v", err)
	}
	if _, err := operator.Decide(t.Context(), domain.DecideRequest{Approval: q.ID, Approve: true, Digest: "another"}); statusOf(
		err,
	) != 409 {
		t.Errorf("A42: approved with another digest: %v", err)
	}
	done, err := operator.Decide(
		t.Context(),
		domain.DecideRequest{Approval: q.ID, Approve: true, Comment: "go", Digest: q.Digest, Values: domain.RawJSON(`{"n":3}`)},
	)
	if err != nil || done.Status != "approved" || !strings.HasPrefix(done.DecidedBy, "token operator") {
		t.Fatalf("Decide = %+v, %v", done, err)
	}
	if _, err := operator.Decide(t.Context(), domain.DecideRequest{Approval: q.ID, Approve: false}); statusOf(err) != 409 {
		t.Errorf("A42: decided twice: %v", err)
	}
	if r := settled(t, viewer, s.ID); r.Status != domain.RunCompleted || !strings.Contains(string(r.Output), `"n":3`) {
		t.Errorf("the run ends %s with %s", r.Status, r.Output)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	d := start(t)
	admin, viewer := d.as(t, domain.RoleAdmin), d.as(t, domain.RoleViewer)
	u, err := admin.CreateUser(t.Context(), me, "marta", "four unrelated words", domain.RoleOperator)
	if err != nil || u.Role != domain.RoleOperator {
		t.Fatalf("CreateUser = %+v, %v", u, err)
	}
	if u, err = admin.UpdateUser(t.Context(), me, "marta", new(domain.RoleAuthor), nil, new(true)); err != nil ||
		u.Role != domain.RoleAuthor ||
		!u.Disabled {
		t.Errorf("UpdateUser = %+v, %v", u, err)
	}
	if users, err := admin.Users(t.Context()); err != nil || len(users) != 1 || users[0].PasswordHash != "" {
		t.Errorf("Users = %+v, %v", users, err)
	}
	text, tok, err := admin.CreateToken(t.Context(), me, "ci", domain.RoleViewer, []string{"runs:read"}, time.Hour)
	if err != nil || !auth.WellFormed(text) {
		t.Fatalf("CreateToken = %q %+v, %v", text, tok, err)
	}
	ci, err := client.New(d.server.URL, text)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := ci.Me(t.Context()); err != nil || who.Name != auth.TokenActor(tok) {
		t.Errorf("Me = %+v, %v", who, err)
	}
	if _, err := ci.Plans(t.Context(), domain.PlanFilter{}); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("A21: a token without the scope lists plans: %v", err)
	}
	if err := admin.RevokeToken(t.Context(), me, tok.ID, "it was lost"); err != nil {
		t.Fatal(err)
	}
	if _, err := ci.Me(t.Context()); domain.CodeOf(err) != domain.CodeUnauthorized {
		t.Errorf("A21: a revoked token works: %v", err)
	}
	if _, err := viewer.Users(t.Context()); domain.CodeOf(err) != domain.CodeForbidden {
		t.Errorf("a viewer lists users: %v", err)
	}
	if v, err := viewer.DaemonVersion(t.Context()); err != nil || v.Version != "1.2.3" {
		t.Errorf("DaemonVersion = %+v, %v", v, err)
	}
}
