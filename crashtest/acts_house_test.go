package crashtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
)

// operation is an act of a person or a program on a daemon.
type operation struct {
	name, method, path, body string
	// action is the action of its audit record.
	action string
	// done reports whether the operation has had its effect.
	done func(ctx context.Context, h *house) (bool, error)
	// page: it is a form of the dashboard, sent to it; else a request of the API.
	page bool
	// again: a repeated request is another operation, because the first answer contained a secret
	// that was lost, or because nothing identifies the request.
	again bool
	// once: its idempotency key commits with its effect, not before.
	once bool
	// steps: it does its work in several transactions, and a repetition the rest.
	steps bool
}

// keyed reports whether the operation's request carries an Idempotency-Key.
func (d *operation) keyed() bool {
	return !d.page && !d.again && (d.method == http.MethodPost || d.method == http.MethodPatch)
}

// house is a data directory and the daemon that lives in it.
type house struct {
	bin, dir string
	cmd      *exec.Cmd
	api      *client.Client
	url      string
}

func (h *house) data() string { return filepath.Join(h.dir, "data") }
func (h *house) now() string  { return filepath.Join(h.dir, "now") }

// open starts a daemon in it, which has forgotten how many died before: it would
// execute nothing any more.
func (h *house) open(spec string) error {
	if err := os.Remove(filepath.Join(h.data(), "kairosd.starts")); err != nil && !os.IsNotExist(err) {
		return err
	}
	cmd := exec.Command(h.bin, "serve", "--data", h.data(), "--listen", "127.0.0.1:0", "--config", filepath.Join(h.dir, "kairos.yaml"))
	cmd.Env = append(os.Environ(), failpoint.Env+"="+spec)
	log, err := os.OpenFile(filepath.Join(h.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "kairosd is ready at "); ok {
			go func() {
				for lines.Scan() { // keep the pipe empty
				}
			}()
			h.cmd, h.url = cmd, strings.TrimSuffix(at, "/")
			h.api = client.Unix(filepath.Join(h.data(), "kairosd.sock"))
			h.api.Retry = nil
			return nil
		}
	}
	text, _ := os.ReadFile(filepath.Join(h.dir, "log"))
	return fmt.Errorf("it does not start: %w\n%s", cmd.Wait(), text)
}

// end kills the daemon, if it has not died before.
func (h *house) end() error {
	if err := h.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = h.cmd.Wait() // "signal: killed", from itself or from the test
	return h.api.Close()
}

// send executes the operation once. Without an answer, the status is 0.
func (h *house) send(ctx context.Context, d *operation) (status int, text string, err error) {
	c, base := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, h.url
	if !d.page {
		base = "http://kairosd/api/v1"
		c.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.data(), "kairosd.sock"))
		}}
	} else {
		c.Transport = &http.Transport{DisableKeepAlives: true}
	}
	body := d.body
	if d.action == "setup" { // every start makes a new secret, until there is a user
		secret, err := os.ReadFile(filepath.Join(h.data(), "setup.token"))
		if err != nil && !os.IsNotExist(err) {
			return 0, "", err
		}
		body += "&token=" + url.QueryEscape(strings.TrimSpace(string(secret)))
	}
	r, err := http.NewRequestWithContext(ctx, d.method, base+d.path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	switch {
	case d.page:
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", base)
	case strings.HasPrefix(d.body, "{"):
		r.Header.Set("Content-Type", "application/json")
	case d.body != "":
		r.Header.Set("Content-Type", "application/yaml")
	}
	if d.keyed() {
		r.Header.Set("Idempotency-Key", "the-one")
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, "", nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", nil
	}
	return resp.StatusCode, string(b), nil
}

// records counts the audit records of the operation.
func (h *house) records(ctx context.Context, d *operation) (int, error) {
	list, err := h.api.AuditEvents(ctx, domain.AuditFilter{Query: "action:" + d.action + " result:ok", Page: domain.Page{Limit: 200}})
	return len(list.Items), err
}

// judge compares what the deed has done with its records: before is how many
// there were.
func (h *house) judge(ctx context.Context, d *operation, before int) (done bool, err error) {
	n, err := h.records(ctx, d)
	if err != nil {
		return false, err
	}
	if done, err = d.done(ctx, h); err != nil {
		return false, err
	}
	switch {
	case d.steps:
	case done && n != before+1:
		err = fmt.Errorf("it was done, and %d records say so", n-before)
	case !done && n != before:
		err = fmt.Errorf("it was not done, and %d records say that it was", n-before)
	}
	return done, err
}

// outcome kills a daemon at a point of a deed, starts another, and repeats the
// request. It reports whether the point was reached.
func (h *house) outcome(ctx context.Context, d *operation, p point) (died bool, err error) {
	if err := h.open("from=" + h.now() + ";" + p.String()); err != nil {
		return false, err
	}
	before, err := h.records(ctx, d)
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(h.now(), nil, 0o600); err != nil {
		return false, err
	}
	status, _, err := h.send(ctx, d)
	if err != nil {
		return false, err
	}
	died = status == 0
	if err := h.end(); err != nil {
		return died, err
	}
	if err := h.open(""); err != nil {
		return died, err
	}
	done, err := h.judge(ctx, d, before)
	if err != nil {
		return died, fmt.Errorf("after the restart: %w", err)
	}
	if !died && !done {
		return died, fmt.Errorf("it was answered with %d and is not there", status)
	}
	if !d.again || !done {
		status, text, err := h.send(ctx, d)
		switch {
		case err != nil:
			return died, err
		case status == http.StatusConflict && strings.Contains(text, "idempotency.pending"):
			return died, fmt.Errorf("a claim of the dead daemon is still waited for: %s", text)
		case status == 0, status >= 500, status >= 400 && !done:
			return died, fmt.Errorf("the repeated request gets %d: %s", status, text)
		}
		if done, err := h.judge(ctx, d, before); err != nil || !done {
			return died, fmt.Errorf("after the repeated request it is done: %v; %w", done, err)
		}
	}
	if err := h.end(); err != nil {
		return died, err
	}
	return died, h.examine(ctx)
}

// examine looks at all of what is left.
func (h *house) examine(ctx context.Context) (err error) {
	s, err := store.Open(ctx, filepath.Join(h.data(), "kairos.db"), store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	checks, err := recovery.Verify(ctx, s)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if len(c.Problems) > 0 {
			return fmt.Errorf("%s: %s", c.Name, strings.Join(c.Problems, "; "))
		}
	}
	return nil
}

// outside is the world that the runs call: what fails, is in doubt, and hangs.
func outside(t *testing.T) (*httptest.Server, chan struct{}) {
	called, over := make(chan struct{}, 1), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			http.Error(w, "not here", http.StatusNotFound)
		case "/later":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case "/hang":
			select {
			case called <- struct{}{}:
			default:
			}
			select {
			case <-r.Context().Done():
			case <-over: // a server that was not asked for the body does not see that the caller is gone
			}
		default:
			http.Error(w, "perhaps", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(func() {
		close(over)
		s.CloseClientConnections() // of daemons that were killed while they waited
		s.Close()
	})
	return s, called
}

var sceneryPlans = []string{
	"id: asks\nnodes:\n  ask: {type: approval, input: {message: go on?}}\n",
	"id: naps\nnodes:\n  nap: {type: wait, input: {for: 10h}}\n",
	"id: fails\nnodes:\n  call: {type: http, effect: read, input: {method: GET, url: \"URL/missing\"}}\n",
	"id: doubts\nnodes:\n  pay: {type: http, effect: unsafe, input: {method: POST, url: \"URL/pay\", body: {n: 1}}}\n",
	"id: tries\nnodes:\n  call: {type: http, effect: read, retry: {max_attempts: 9, backoff: [1h]}, input: {method: GET, " +
		"url: \"URL/later\"}}\n",
	"id: kills\nnodes:\n  call: {type: http, effect: idempotent, input: {method: POST, url: \"URL/hang\", body: {n: 1}}}\n",
	keeps,
}

// scenery is what the deeds act on, by name: a run of every state that a person
// acts on.
type scenery map[string]string
