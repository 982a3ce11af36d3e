// Package a2aclient calls agents of other servers with the Agent2Agent protocol (A2A).
package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	sdk "github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/kairosd/kairosd/planner/jsonvalue"
	"github.com/kairosd/kairosd/planner/walk"
)

const (
	// callTimeout limits one request. Waiting for a task takes many requests.
	callTimeout = 30 * time.Second
	// maxResponse is the maximum size of a response.
	maxResponse = 8 << 20
	// skillKey is the key of the metadata of a message that names the skill. kairosd uses it; other servers ignore it.
	skillKey = "kairosd/skill"
	urlKey   = "kairosd/url"
)

// Failure codes of tasks and of calls.
const (
	CodeUnreachable   = "a2a_unreachable"
	CodeUnauthorized  = "a2a_unauthorized"
	CodeRefused       = "a2a_refused" // the server rejected the request
	CodeTaskNotFound  = "a2a_task_not_found"
	CodeTaskFailed    = "a2a_task_failed"
	CodeTaskCancelled = "a2a_task_cancelled"
	CodeInputRequired = "a2a_input_required"
)

// Config configures a [Client].
type Config struct {
	// URL is the address of the server. Its agent card is at /.well-known/agent-card.json below it.
	URL string
	// Token returns the bearer token of requests. Nil sends none.
	Token func() (string, error)
	// Skill names the skill for servers that have several, such as kairosd. It may be empty.
	Skill string
}

// Client calls one server. It is safe for concurrent use.
type Client struct {
	Config
	http *http.Client

	mu  sync.Mutex
	sdk *sdk.Client // nil: read the card again
}

// New returns a client. It sends requests, and the token, only to the scheme and host of c.URL.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("invalid A2A address %q: use an http or https URL without a user name", c.URL)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil // a proxy would receive the token
	return &Client{Config: c, http: &http.Client{Timeout: callTimeout, Transport: &guarded{t, u, c.Token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// guarded sends requests to one host only, adds the token, and limits responses.
type guarded struct {
	http.RoundTripper
	to    *url.URL
	token func() (string, error)
}

// otherHost is the error of a request that an agent card directs to another server.
type otherHost struct{ host string }

func (e otherHost) Error() string { return "the agent card names another server: " + e.host }

// statusError is a response that is not 200.
type statusError struct{ code int }

func (e statusError) Error() string { return fmt.Sprintf("HTTP status %d", e.code) }

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != g.to.Scheme || r.URL.Host != g.to.Host {
		return nil, otherHost{r.URL.Host}
	}
	r = r.Clone(r.Context())
	if g.token != nil {
		token, err := g.token()
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := g.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, statusError{res.StatusCode}
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxResponse)
	return res, nil
}

// connect reads the agent card once, until a request fails.
func (c *Client) connect(ctx context.Context) (*sdk.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sdk != nil {
		return c.sdk, nil
	}
	card, err := agentcard.NewResolver(c.http).Resolve(ctx, c.URL)
	if err != nil {
		return nil, fmt.Errorf("read the agent card: %w", err)
	}
	made, err := sdk.NewFromCard(ctx, card, sdk.WithDefaultsDisabled(), sdk.WithJSONRPCTransport(c.http))
	if err != nil {
		return nil, (&walk.Failure{Code: CodeRefused, Permanent: true, NoEffect: true, Detail: err.Error()}).
			WithMessage("the server offers no interface of A2A 1.0 over JSON-RPC")
	}
	c.sdk = made
	return made, nil
}

// Task is a task of the server.
type Task struct {
	ID string
	// State is the state of the protocol, without its prefix, in lower case: submitted, working, input_required,
	// completed, failed, canceled, rejected, or auth_required.
	State string
	// Text explains the state. URL is a page about the task. Both may be empty.
	Text, URL string
	// Output is the result of a completed task.
	Output any
}

// Ended reports whether the task can no longer change.
func (t Task) Ended() bool {
	switch t.State {
	case "completed", "failed", "canceled", "rejected":
		return true
	}
	return false
}

// Send sends a message, and returns the task without waiting for its end. If the server answers with a message, the task
// has no ID and is completed.
func (c *Client) Send(ctx context.Context, id string, input any) (Task, error) {
	return c.call(ctx, func(s *sdk.Client) (Task, error) {
		part := a2a.NewDataPart(input)
		if text, ok := input.(string); ok {
			part = a2a.NewTextPart(text)
		}
		m := a2a.NewMessage(a2a.MessageRoleUser, part)
		m.ID = id
		if c.Skill != "" {
			m.Metadata = map[string]any{skillKey: c.Skill}
		}
		r, err := s.SendMessage(ctx, &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true}})
		if err != nil {
			return Task{}, err
		}
		switch r := r.(type) {
		case *a2a.Task:
			return taskOf(r), nil
		case *a2a.Message:
			return Task{State: "completed", Output: outputOf(r.Parts)}, nil
		}
		return Task{}, errors.New("the response is neither a task nor a message")
	})
}

// Get returns a task as it is now.
func (c *Client) Get(ctx context.Context, id string) (Task, error) {
	return c.call(ctx, func(s *sdk.Client) (Task, error) {
		t, err := s.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(id)})
		if err != nil {
			return Task{}, err
		}
		return taskOf(t), nil
	})
}

// Cancel cancels a task. A task that has ended is not an error.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.call(ctx, func(s *sdk.Client) (Task, error) {
		_, err := s.CancelTask(ctx, &a2a.CancelTaskRequest{ID: a2a.TaskID(id)})
		if errors.Is(err, a2a.ErrTaskNotCancelable) {
			err = nil
		}
		return Task{}, err
	})
	return err
}

// call makes a request. The error is a [*walk.Failure], or the error of the context.
func (c *Client) call(ctx context.Context, f func(*sdk.Client) (Task, error)) (Task, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return Task{}, failureOf(ctx, err, true)
	}
	t, err := f(s)
	if err == nil {
		return t, nil
	}
	c.mu.Lock()
	c.sdk = nil // the next call reads the card again
	c.mu.Unlock()
	return Task{}, failureOf(ctx, err, false)
}

// failureOf describes a failed request. unsent reports that no message was sent.
func failureOf(ctx context.Context, err error, unsent bool) error {
	if f, ok := errors.AsType[*walk.Failure](err); ok {
		return f
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	f := &walk.Failure{Code: CodeUnreachable, NoEffect: unsent, Detail: err.Error()}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		f.NoEffect = true
	}
	refused := func(code string) *walk.Failure {
		f.Code, f.Permanent, f.NoEffect = code, true, true
		return f
	}
	status, _ := errors.AsType[statusError](err)
	if card, ok := errors.AsType[*agentcard.ErrStatusNotOK](err); ok {
		status.code = card.StatusCode
	}
	other, elsewhere := errors.AsType[otherHost](err)
	switch {
	case elsewhere:
		f = refused(CodeRefused).WithMessage("the agent card names another server, %s", other.host)
		f.Suggestion = "set agents.a2a.url to the address in the agent card"
		return f
	case status.code == http.StatusUnauthorized || status.code == http.StatusForbidden || errors.Is(err, a2a.ErrUnauthenticated) ||
		errors.Is(err, a2a.ErrUnauthorized):
		f = refused(CodeUnauthorized).WithMessage("the agent's server refused the token")
		f.Suggestion = "check agents.a2a.token_env, and the scopes of the token"
		return f
	case errors.Is(err, a2a.ErrTaskNotFound):
		return refused(CodeTaskNotFound).WithMessage("the agent's server does not have the task any more")
	case rejected(err) || status.code >= 400 && status.code < 500 && status.code != http.StatusRequestTimeout &&
		status.code != http.StatusTooManyRequests:
		return refused(CodeRefused).WithMessage("the agent's server rejected the request: %s", err)
	case status.code == http.StatusTooManyRequests || status.code == http.StatusServiceUnavailable:
		f.NoEffect = true
	}
	return f.WithMessage("the agent's server could not be reached: %s", err)
}

// rejected reports whether an error of the protocol states that the request is invalid.
func rejected(err error) bool {
	for _, e := range []error{a2a.ErrInvalidParams, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrUnsupportedOperation,
		a2a.ErrUnsupportedContentType, a2a.ErrVersionNotSupported, a2a.ErrExtensionSupportRequired} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func taskOf(t *a2a.Task) Task {
	out := Task{ID: string(t.ID), State: strings.ToLower(strings.TrimPrefix(string(t.Status.State), "TASK_STATE_"))}
	out.URL, _ = t.Metadata[urlKey].(string)
	if m := t.Status.Message; m != nil {
		out.Text, _ = outputOf(m.Parts).(string)
	}
	if t.Status.State != a2a.TaskStateCompleted {
		return out
	}
	var parts a2a.ContentParts
	for _, artifact := range t.Artifacts {
		if artifact != nil {
			parts = append(parts, artifact.Parts...)
		}
	}
	if out.Output = outputOf(parts); len(parts) == 0 && out.Text != "" {
		out.Output = out.Text
	}
	return out
}

// outputOf returns the content of parts: the only one, or a list. Files are left out, except for their address.
func outputOf(parts a2a.ContentParts) any {
	list := []any{}
	for _, p := range parts {
		if p == nil {
			continue
		}
		switch content := p.Content.(type) {
		case a2a.Text:
			list = append(list, string(content))
		case a2a.Data:
			if v, err := jsonvalue.Normalize(content.Value); err == nil {
				list = append(list, v)
			}
		case a2a.URL:
			list = append(list, map[string]any{"url": string(content)})
		}
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return list
}
