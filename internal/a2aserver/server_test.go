package a2aserver_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/kairosd/kairosd/internal/a2aserver"
	"github.com/kairosd/kairosd/internal/api"
	"github.com/kairosd/kairosd/internal/app/apptest"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/engine"
	"github.com/kairosd/kairosd/internal/engine/enginetest"
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner/walk"
)

var root = domain.Actor{Name: "cli:root", Role: domain.RoleAdmin, Source: "cli"}

const (
	greet = `{id: greet, description: Greets., expose: [a2a], input: {type: object, required: [name], properties: {name: {type: string}}},
		nodes: {a: {type: set, input: "Hello ${input.name}"}}}`
	sum  = `{id: sum, expose: [a2a], nodes: {a: {type: set, input: {total: 3}}}}`
	pay  = `{id: pay, expose: [a2a], nodes: {a: {type: pay}}}`
	slow = `{id: slow, expose: [a2a], nodes: {a: {type: set, input: 1}, b: {type: slow, needs: [a]}}}`
	ask  = `{id: ask, expose: [a2a], nodes: {a: {type: approval, input: {message: "Refund?"}}}}`
	tool = `{id: tool, expose: [mcp], nodes: {a: {type: set, input: 1}}}`
)

// server is a real store, engine, and API with the A2A server on loopback.
type server struct {
	*apptest.World
	t     *testing.T
	auth  apptest.Accounts
	http  *httptest.Server
	begin chan struct{} // lets steps of type slow end
}

func serve(t *testing.T, plans ...string) *server {
	t.Helper()
	s := &server{t: t, begin: make(chan struct{})}
	reg := enginetest.NewRegistry().Tool("slow", walk.EffectRead, func(ctx context.Context, _ *engine.Call) (engine.Result, error) {
		select {
		case <-s.begin:
			return engine.Result{Output: "slept"}, nil
		case <-ctx.Done():
			return engine.Result{}, ctx.Err()
		}
	}).Tool("pay", walk.EffectIdempotent, func(context.Context, *engine.Call) (engine.Result, error) {
		return engine.Result{}, domain.Errorf(domain.CodeInvalid, "the bank is closed")
	})
	s.World = apptest.With(t, storetest.Open(t), reg)
	for _, p := range plans {
		s.Engine.Save(p)
	}
	s.auth = apptest.Accounts{Service: s.Config.Auth, Of: s.Accounts, Keys: s.Tokens, Reader: s.Store}
	a, err := api.New(api.Config{App: s.App, Reader: s.Store, Engine: s.Engine.Engine, Principals: s.auth,
		A2A: a2aserver.New(a2aserver.Config{App: s.App, Wait: time.Minute})})
	if err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(a)
	t.Cleanup(func() { a.Close(); s.http.Close() })
	return s
}

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// connect reads the card with a new token, and returns a client for it.
func (s *server) connect(scopes ...string) (*a2aclient.Client, *a2a.AgentCard) {
	s.t.Helper()
	text, _, err := s.auth.CreateToken(s.t.Context(), root, "agent", domain.RoleOperator, scopes, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	h := &http.Client{Transport: bearer{text}}
	card, err := agentcard.NewResolver(h).Resolve(s.t.Context(), s.http.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := a2aclient.NewFromCard(s.t.Context(), card, a2aclient.WithJSONRPCTransport(h))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Destroy() })
	return c, card
}

// message is a message for a skill.
func message(skill string, part *a2a.Part) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, part)
	if skill != "" {
		m.Metadata = map[string]any{"kairosd/skill": skill}
	}
	return &a2a.SendMessageRequest{Message: m}
}

func (s *server) send(c *a2aclient.Client, req *a2a.SendMessageRequest) *a2a.Task {
	s.t.Helper()
	r, err := c.SendMessage(s.t.Context(), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.(*a2a.Task)
}

// A client reads the card, sends a message to a skill, and gets the output of the run as an artifact. The same
// message again returns the same task.
func TestASkillIsAPlanAndATaskIsARun(t *testing.T) {
	t.Parallel()
	s := serve(t, greet, sum, tool)
	c, card := s.connect("a2a", "runs:read")
	var skills []string
	for _, k := range card.Skills {
		skills = append(skills, k.ID)
	}
	slices.Sort(skills)
	if strings.Join(skills, " ") != "greet sum" || !strings.Contains(card.Skills[0].Description+card.Skills[1].Description, `"required":["name"]`) {
		t.Errorf("%+v", card.Skills)
	}
	req := message("greet", a2a.NewDataPart(map[string]any{"name": "Ada"}))
	task := s.send(c, req)
	if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 1 || task.Artifacts[0].Parts[0].Text() != "Hello Ada" {
		t.Errorf("%+v", task)
	}
	if again := s.send(c, req); again.ID != task.ID {
		t.Errorf("a repeated message started another run: %s", again.ID)
	}
	run, err := s.Store.Run(t.Context(), string(task.ID))
	if err != nil || run.Origin != "a2a" || run.PlanKey != "greet" {
		t.Errorf("%+v %v", run, err)
	}
	if got := s.send(c, message("greet", a2a.NewTextPart(`{"name": "Bob"}`))); got.Artifacts[0].Parts[0].Text() != "Hello Bob" {
		t.Errorf("%+v", got)
	}
	total, _ := s.send(c, message("sum", a2a.NewTextPart("go"))).Artifacts[0].Parts[0].Data().(map[string]any)
	if total["total"] != 3.0 {
		t.Errorf("%v", total)
	}
	list, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: 2})
	if err != nil || len(list.Tasks) != 2 || list.NextPageToken == "" {
		t.Errorf("%+v %v", list, err)
	}
	extended, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
	if err != nil || len(extended.Skills) != 2 {
		t.Errorf("%+v %v", extended, err)
	}
}

// A run that waits for a person requires input. The client cannot decide, and can cancel the task.
func TestATaskThatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := serve(t, ask)
	c, _ := s.connect("a2a:ask")
	task := s.send(c, message("", a2a.NewTextPart("please")))
	if task.Status.State != a2a.TaskStateInputRequired || !strings.Contains(task.Status.Message.Parts[0].Text(), "Refund?") {
		t.Fatalf("%+v", task.Status)
	}
	more := message("ask", a2a.NewTextPart("approve"))
	more.Message.TaskID = task.ID
	if _, err := c.SendMessage(t.Context(), more); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("a message to a task that waits: %v", err)
	}
	done, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil || done.Status.State != a2a.TaskStateCanceled {
		t.Fatalf("%+v %v", done, err)
	}
	if again, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil || again.ID != task.ID {
		t.Errorf("a second cancellation: %v", err)
	}
}

// A stream reports the task, its progress, its output, and its last status.
func TestAStreamFollowsTheRun(t *testing.T) {
	t.Parallel()
	s := serve(t, slow)
	c, _ := s.connect("a2a")
	var kinds []string
	for e, err := range c.SendStreamingMessage(t.Context(), message("slow", a2a.NewTextPart("go"))) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.Task:
			kinds = append(kinds, "task")
			close(s.begin)
		case *a2a.TaskArtifactUpdateEvent:
			kinds = append(kinds, "artifact "+e.Artifact.Parts[0].Text())
		case *a2a.TaskStatusUpdateEvent:
			if e.Status.State.Terminal() {
				kinds = append(kinds, string(e.Status.State))
			}
		}
	}
	if got := strings.Join(kinds, ", "); got != "task, artifact slept, TASK_STATE_COMPLETED" {
		t.Errorf("got %s", got)
	}
}

// A client that does not want to wait gets the task at once, and follows it later.
func TestAClientDoesNotWait(t *testing.T) {
	t.Parallel()
	s := serve(t, slow, pay)
	c, _ := s.connect("a2a")
	req := message("slow", a2a.NewTextPart("go"))
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	task := s.send(c, req)
	if task.Status.State.Terminal() {
		t.Fatalf("%+v", task.Status)
	}
	close(s.begin)
	s.Engine.Settle(string(task.ID))
	now, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil || now.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%+v %v", now, err)
	}
	failed := s.send(c, message("pay", a2a.NewTextPart("go")))
	if failed.Status.State != a2a.TaskStateFailed || !strings.Contains(failed.Status.Message.Parts[0].Text(), "the bank is closed") {
		t.Errorf("%+v", failed.Status)
	}
}

// A53: messages that name no skill, have no input that fits, or exceed the scopes of the token are refused.
func TestMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, greet, sum, tool)
	c, card := s.connect("a2a:greet")
	if len(card.Skills) != 1 {
		t.Errorf("%+v", card.Skills)
	}
	long := message("greet", a2a.NewTextPart("x"))
	long.Message.ID = strings.Repeat("x", 129)
	two := message("greet", a2a.NewTextPart("x"))
	two.Message.Parts = append(two.Message.Parts, a2a.NewTextPart("y"))
	other, _ := s.connect("a2a")
	for name, bad := range map[string]struct {
		c    *a2aclient.Client
		req  *a2a.SendMessageRequest
		want error
	}{
		"another plan":       {c, message("sum", a2a.NewTextPart("x")), a2a.ErrUnauthorized},
		"a plan for MCP":     {other, message("tool", a2a.NewTextPart("x")), a2a.ErrInvalidParams},
		"no skill":           {other, message("", a2a.NewTextPart("x")), a2a.ErrInvalidParams},
		"a wrong input":      {c, message("greet", a2a.NewDataPart(map[string]any{"nam": 1})), a2a.ErrInvalidParams},
		"a text for objects": {c, message("greet", a2a.NewTextPart("hello")), a2a.ErrInvalidParams},
		"a file":             {c, message("greet", a2a.NewRawPart([]byte("x"))), a2a.ErrUnsupportedContentType},
		"two parts":          {c, two, a2a.ErrInvalidParams},
		"a long id":          {c, long, a2a.ErrInvalidParams},
	} {
		if _, err := bad.c.SendMessage(t.Context(), bad.req); !errors.Is(err, bad.want) {
			t.Errorf("%s: got %v, want %v", name, err, bad.want)
		}
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "none"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("an unknown task: %v", err)
	}
	mine := s.Engine.Begin(s.Engine.Save(slow), "null")
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: a2a.TaskID(mine.ID)}); !errors.Is(err, a2a.ErrUnauthorized) {
		t.Errorf("a run of somebody else: %v", err)
	}
	if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: a2a.TaskID(mine.ID)}); !errors.Is(err, a2a.ErrUnauthorized) {
		t.Errorf("a cancellation of a run of somebody else: %v", err)
	}
	close(s.begin)
	s.Engine.Settle(mine.ID)
	for _, path := range []string{api.A2APath, api.A2ACardPath} {
		r, err := http.Get(s.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", path, r.StatusCode)
		}
	}
}
