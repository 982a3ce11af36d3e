// Package client calls the HTTP API of kairosd: over the network with a token, or over the Unix
// socket in the data directory of a daemon. Failures are *domain.Error values with the daemon's own
// code, message, and suggestion.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner"
)

const (
	base = "/api/v1"
	// callTimeout limits one call if the caller's context has no deadline.
	callTimeout = 60 * time.Second
	maxAnswer   = 512 << 20
)

// Client calls one daemon. It is safe for concurrent use.
type Client struct {
	origin string // scheme and host
	name   string // for messages
	token  string
	http   *http.Client
	// inProcess is true if the API runs in this process. end stops it.
	inProcess bool
	end       func() error
	// Retry contains the waits before the repetitions of a call that did not reach the daemon or
	// whose answer was lost. Only calls that are safe to repeat are repeated.
	Retry []time.Duration
}

// New returns a client of the daemon at a URL like http://127.0.0.1:8080, or at a Unix socket like
// unix:/run/kairos/kairos.sock, with an API token.
func New(server, token string) (*Client, error) {
	if socket, ok := strings.CutPrefix(server, "unix:"); ok && socket != "" {
		return build(socketOrigin, server, token, through(socket)), nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" ||
		u.User != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "invalid server address %q", server).
			Suggest("use a URL, such as http://127.0.0.1:8080, or unix:/run/kairos/kairos.sock")
	}
	return build(u.Scheme+"://"+u.Host, server, token, http.DefaultTransport.(*http.Transport).Clone()), nil
}

// socketOrigin is the origin of requests over a socket, which has no address.
const socketOrigin = "http://kairosd"

// Unix returns a client of the daemon with this socket in its data directory. A user who can open
// the socket needs no token.
func Unix(socket string) *Client { return build(socketOrigin, socket, "", through(socket)) }

// through returns a transport that sends every request over a socket.
func through(socket string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
	}
}

func build(origin, name, token string, t http.RoundTripper) *Client {
	return &Client{origin: origin, name: name, token: token, Retry: []time.Duration{100 * time.Millisecond, time.Second},
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// InProcess reports whether the API runs in this process. Close then stops the runs that it
// executes.
func (c *Client) InProcess() bool { return c.inProcess }

// Close closes idle connections. It stops an API that runs in this process.
func (c *Client) Close() error {
	if c.inProcess {
		return c.end()
	}
	c.http.CloseIdleConnections()
	return nil
}

// call is one request and the destination of its answer.
type call struct {
	method, path string
	query        url.Values
	body         any    // sent as JSON
	raw          []byte // sent unchanged, if not nil
	media        string // of raw
	match        string // the version of the object for If-Match
	accept       string
	into         any     // decoded from JSON; *[]byte: unchanged; nil: ignored
	tag          *string // the ETag of the answer, if not nil
}

// do sends a request and decodes its answer. A POST has an Idempotency-Key, so that repeating it
// does not repeat its effect. In this process, no key is necessary.
func (c *Client) do(ctx context.Context, k call) (status int, err error) {
	if strings.Contains(k.path, "//") || strings.HasSuffix(k.path, "/") {
		return 0, domain.Errorf(domain.CodeNotFound, "the name is empty")
	}
	if !c.inProcess { // no answer can be lost, and models may take longer
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	if k.body != nil {
		if k.raw, err = json.Marshal(k.body); err != nil {
			return 0, fmt.Errorf("encode the request: %w", err)
		}
		k.media = "application/json"
	}
	key := ""
	if (k.method == http.MethodPost || k.method == http.MethodPatch) && !c.inProcess && k.path != "/tokens" &&
		!strings.HasSuffix(k.path, "/login-link") {
		key = domain.NewID()
	}
	repeatable := k.method == http.MethodGet || key != ""
	for attempt := 0; ; attempt++ {
		status, err = c.once(ctx, k, key)
		e, lost := errors.AsType[*lostError](err)
		if !lost {
			return status, err
		}
		if !repeatable || attempt >= len(c.Retry) || ctx.Err() != nil {
			return 0, c.unreachable(ctx, e)
		}
		select {
		case <-time.After(c.Retry[attempt]):
		case <-ctx.Done():
			return 0, c.unreachable(ctx, e)
		}
	}
}

// read reads an object, and returns its ETag.
func (c *Client) read(ctx context.Context, path string, into any) (tag string, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: path, into: into, tag: &tag})
	return tag, err
}

// lostError is the error of a call without an answer.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	u := c.origin + base + k.path
	if len(k.query) > 0 {
		u += "?" + k.query.Encode()
	}
	var body io.Reader
	if k.raw != nil {
		body = bytes.NewReader(k.raw)
	}
	r, err := http.NewRequestWithContext(ctx, k.method, u, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if k.media != "" {
		r.Header.Set("Content-Type", k.media)
	}
	if k.accept != "" {
		r.Header.Set("Accept", k.accept)
	}
	if k.match != "" {
		r.Header.Set("If-Match", `"`+k.match+`"`)
	}
	return r, nil
}

func (c *Client) once(ctx context.Context, k call, key string) (int, error) {
	r, err := c.request(ctx, k)
	if err != nil {
		return 0, err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, &lostError{err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, &lostError{err}
	}
	if resp.StatusCode == http.StatusConflict && resp.Header.Get("Retry-After") != "" {
		return 0, &lostError{errors.New("the first request with this key is still in progress")}
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, c.failure(resp, text)
	}
	if k.tag != nil {
		*k.tag = strings.Trim(resp.Header.Get("ETag"), `"`)
	}
	switch into := k.into.(type) {
	case nil:
		return resp.StatusCode, nil
	case *[]byte:
		*into = text
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(text, k.into); err != nil {
		return resp.StatusCode, domain.Errorf(domain.CodeUnavailable,
			"unexpected response from %s to %s %s: %w", c.name, k.method, k.path, err).
			Suggest("check that kairosd of this version listens there")
	}
	return resp.StatusCode, nil
}

// problem is an RFC 9457 body as kairosd sends it.
type problem struct {
	Title      string           `json:"title"`
	Code       domain.Code      `json:"code"`
	Reason     string           `json:"reason"`
	Message    string           `json:"message"`
	Suggestion string           `json:"suggestion"`
	Problems   planner.Problems `json:"problems"`
	// These fields belong to a planning request without a plan.
	Recoverable bool     `json:"recoverable"`
	Violations  []string `json:"violations"`
	Answer      string   `json:"answer"`
	Errors      []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
}

// failure converts an error answer to the daemon's error. The problems of a plan are a
// *planner.InvalidError in its chain.
func (c *Client) failure(resp *http.Response, text []byte) error {
	var p problem
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") || json.Unmarshal(text, &p) != nil || p.Code == "" {
		return domain.Errorf(domain.CodeUnavailable, "%s returned %s", c.name, resp.Status).
			Suggest("check that kairosd listens there, and check proxies in between")
	}
	e := &domain.Error{Code: p.Code, Reason: p.Reason, Message: p.Message, Suggestion: p.Suggestion}
	if code := string(p.Code); code == strings.ToUpper(code) { // a planning request without a plan
		e.Code, e.Reason = domain.CodeInvalid, code
		e.Cause = &domain.PlanError{
			Code:        code,
			Message:     p.Message,
			Recoverable: p.Recoverable,
			Suggestion:  p.Suggestion,
			Violations:  p.Violations,
			Answer:      p.Answer,
		}
	}
	if len(p.Errors) > 1 && len(p.Problems) == 0 {
		all := make([]string, len(p.Errors))
		for i, x := range p.Errors {
			all[i] = strings.TrimPrefix(x.Location+": "+x.Message, ": ")
		}
		e.Message = strings.Join(all, "\n")
	}
	if len(p.Problems) > 0 {
		e.Cause = &planner.InvalidError{Problems: p.Problems}
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

func (c *Client) unreachable(ctx context.Context, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	if c.inProcess {
		return domain.Errorf(domain.CodeInternal, "%w", cause)
	}
	e := &domain.Error{Code: domain.CodeUnavailable, Message: "no server at " + c.name, Cause: cause,
		Suggestion: "check the address, or start the server: kairosd serve"}
	if errors.Is(cause, context.DeadlineExceeded) {
		e.Message, e.Suggestion = "the server at "+c.name+" did not respond in time", "try again, or check its log"
	}
	return e
}
