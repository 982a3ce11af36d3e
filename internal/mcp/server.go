package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kairosd/kairosd/planner/message"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The wait before a restart doubles up to a minute. After five ends within ten minutes, the server
// is disabled.
const (
	maxBackoff    = time.Minute
	restartWindow = 10 * time.Minute
	maxRestarts   = 5
	// relist is the interval at which the tools of a server without change notifications are
	// listed.
	relist = 5 * time.Minute
)

// server is one configured server, across its restarts.
type server struct {
	host       *Host
	name       string
	config     Server
	log        *slog.Logger
	refreshNow chan struct{} // its tools may have changed
	retry      chan struct{} // an operator requested a restart
	first      chan struct{} // closed after the first start has succeeded or failed
	once       sync.Once
	cancel     context.CancelFunc // nil: it was not started
	done       chan struct{}      // closed when run has returned

	mu sync.Mutex
	// registry receives the server's tools. It belongs to the server's host.
	registry Registry
	session  *sdk.ClientSession // nil while it is not running
	process  *process           // nil for a URL
	why      message.Message    // the reason why it is not running
	phase    string             // a State; of the server while it is not running
	since    time.Time          // when phase last changed
	// restarts is the number of restarts.
	restarts int
	offered  map[string]Definition
	pins     map[string]pin
}

// run keeps the server running until ctx ends.
func (s *server) run(ctx context.Context) {
	if err := s.config.granted(); err != nil {
		s.log.Warn("MCP server not started", "err", err)
		s.down(StateOff, err)
		s.settled()
		return
	}
	var ends []time.Time
	for {
		began := time.Now()
		err := s.live(ctx)
		s.down(StateUnavailable, err)
		s.settled()
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("MCP server failed", "err", err)
		now := time.Now()
		if now.Sub(began) > restartWindow {
			ends = ends[:0]
		}
		for len(ends) > 0 && now.Sub(ends[0]) > restartWindow {
			ends = ends[1:]
		}
		ends = append(ends, now)
		var wait <-chan time.Time
		if len(ends) <= maxRestarts {
			wait = time.After(min(s.host.o.Backoff<<(len(ends)-1), maxBackoff))
		} else {
			s.down(StateDisabled, fmt.Errorf("disabled after %d restarts: %w", maxRestarts, err))
		}
		select {
		case <-ctx.Done():
			return
		case <-wait:
		case <-s.retry:
			ends = nil
		}
		s.mu.Lock()
		s.restarts++
		s.mu.Unlock()
	}
}

func (s *server) settled() { s.once.Do(func() { close(s.first) }) }

func (s *server) down(phase string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.process = nil, nil
	s.phase, s.since = phase, time.Now()
	if s.why = message.New("it is not running"); err != nil {
		s.why = message.New("%s", err)
	}
}

// live runs the server once, until it or ctx ends.
func (s *server) live(ctx context.Context) (err error) {
	transport, p, err := s.transport()
	if err != nil {
		return err
	}
	if p != nil {
		if err := s.host.orphans.add(p.cmd.Process.Pid); err != nil {
			s.log.Warn("cannot record an MCP process", "err", err)
		}
		defer func() {
			p.close()
			if forget := s.host.orphans.remove(p.cmd.Process.Pid); forget != nil {
				s.log.Warn("cannot remove the record of an MCP process", "err", forget)
			}
			if how := p.how(); how != "" && err != nil {
				err = fmt.Errorf("%w; %s", err, how)
			}
		}()
	}
	start, cancel := context.WithTimeoutCause(ctx, s.config.StartTimeout, fmt.Errorf("it did not respond within %s", s.config.StartTimeout))
	defer cancel()
	session, err := s.connect(start, transport, p)
	if err != nil {
		return err
	}
	defer s.disconnect(session, p)
	if err := s.refresh(start, session); err != nil {
		return err
	}
	s.mu.Lock()
	s.session, s.process, s.why, s.since = session, p, message.Message{}, time.Now()
	s.mu.Unlock()
	s.settled()
	return s.follow(ctx, session, p)
}

// refreshTools lists the server's tools now. A server that does not respond is restarted.
func (s *server) refreshTools() {
	select {
	case s.refreshNow <- struct{}{}:
	default: // a refresh is already pending
	}
}

// follow waits for the end of a session and follows the changes of its tools.
func (s *server) follow(ctx context.Context, session *sdk.ClientSession, p *process) error {
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	var gone <-chan struct{}
	if p != nil {
		gone = p.ended
	}
	tick := time.NewTicker(relist)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-ended:
			if err == nil {
				err = errors.New("the connection ended")
			}
			return err
		case <-gone:
			return errors.New("the process ended")
		case <-s.retry: // the server is running
		case <-s.refreshNow:
		case <-tick.C:
		}
		list, cancel := context.WithTimeout(ctx, s.config.StartTimeout)
		err := s.refresh(list, session)
		cancel()
		if err != nil {
			return err
		}
	}
}

// connect initializes the session. A server that does not respond in time is ended.
func (s *server) connect(ctx context.Context, t sdk.Transport, p *process) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "kairosd", Version: s.host.o.Version}, &sdk.ClientOptions{
		// Servers get no capabilities: no sampling, elicitation, or roots.
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.refreshTools()
		},
	})
	client.AddReceivingMiddleware(refuseRequests)
	type answer struct {
		session *sdk.ClientSession
		err     error
	}
	done := make(chan answer, 1)
	go func() {
		session, err := client.Connect(ctx, t, nil)
		done <- answer{session, err}
	}()
	select {
	case a := <-done:
		if a.err != nil && ctx.Err() != nil {
			a.err = context.Cause(ctx)
		}
		return a.session, a.err
	case <-ctx.Done():
		if p != nil {
			p.kill()
		}
		go func() { // its connection ends with its process, or with the request's context
			if a := <-done; a.session != nil {
				_ = a.session.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// refuseRequests refuses every request of a server except ping.
func refuseRequests(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if method == "ping" || strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, r)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not granted"}
	}
}

// disconnect ends a session without waiting for a server that does not respond.
func (s *server) disconnect(session *sdk.ClientSession, p *process) {
	if p != nil {
		p.close()
	}
	closed := make(chan struct{})
	go func() {
		_ = session.Close() // the important part has ended
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeStep):
	}
}

// refresh lists the server's tools.
func (s *server) refresh(ctx context.Context, session *sdk.ClientSession) error {
	offered := map[string]Definition{}
	n := 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("list tools: %w", err)
		}
		if n++; n > maxTools {
			return fmt.Errorf("the server offers more than %d tools", maxTools)
		}
		if !s.permits(t.Name) {
			continue
		}
		d, err := define(t)
		if err != nil {
			s.log.Warn("tool ignored", "tool", clip(t.Name, 80), "err", err)
			continue
		}
		offered[d.Name] = d
	}
	return s.pinOffered(ctx, offered)
}

// transport starts the process, or prepares the connection to the address.
func (s *server) transport() (sdk.Transport, *process, error) {
	if s.config.URL == "" {
		p, err := startProcess(s.config)
		if err != nil {
			return nil, nil, fmt.Errorf("start %s: %w", s.config.Command[0], err)
		}
		return watched{
			&sdk.IOTransport{Reader: io.NopCloser(&unbatched{Reader: p.stdout}), Writer: p.stdin, MaxLineLength: maxFrame},
		}, p, nil
	}
	headers := http.Header{}
	for name, variable := range s.config.HeadersFrom {
		v, ok := os.LookupEnv(variable)
		if !ok {
			return nil, nil, fmt.Errorf("the environment variable %s of header %s is not set", variable, name)
		}
		headers.Set(name, v)
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil // a redirect would send headers with secrets to another host
	client := &http.Client{Transport: &bounded{t, headers}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("redirect to %s refused", r.URL.Host)
	}}
	return &sdk.StreamableClientTransport{
		Endpoint:             s.config.URL,
		HTTPClient:           client,
		MaxRetries:           -1,
		DisableStandaloneSSE: true,
		MaxEventSize:         maxFrame,
	}, nil, nil
}

// bounded adds headers to requests and limits responses.
type bounded struct {
	http.RoundTripper
	headers http.Header
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range b.headers {
		r.Header[name] = values
	}
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") { // events are limited one by one
		res.Body = http.MaxBytesReader(nil, res.Body, maxFrame)
	}
	return res, nil
}
