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

// operation is an action of a person or a program on a daemon.
type operation struct {
	name, method, path, body string
	// action is the action of its audit record.
	action string
	// done reports whether the operation has had its effect.
	done func(ctx context.Context, inst *instance) (bool, error)
	// page: it is a form of the dashboard. Otherwise it is a request of the API.
	page bool
	// again: a repeated request is another operation, because the first answer contained a secret
	// that was lost, or because nothing identifies the request.
	again bool
	// once: its idempotency key commits with its effect, not before.
	once bool
	// steps: it works in several transactions, and a repeated request executes the rest.
	steps bool
}

// keyed reports whether the operation's request carries an Idempotency-Key.
func (d *operation) keyed() bool {
	return !d.page && !d.again && (d.method == http.MethodPost || d.method == http.MethodPatch)
}

// instance is a data directory with its daemon.
type instance struct {
	bin, dir string
	cmd      *exec.Cmd
	api      *client.Client
	url      string
}

// newInstance returns an instance in a new directory, with an empty configuration. It is not started.
func newInstance(t *testing.T, bin, dir string) *instance {
	t.Helper()
	inst := &instance{bin: bin, dir: dir}
	if err := os.MkdirAll(inst.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kairos.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return inst
}

func (inst *instance) data() string { return filepath.Join(inst.dir, "data") }
func (inst *instance) now() string  { return filepath.Join(inst.dir, "now") }

// open starts a daemon in the directory. It deletes the count of early crashes, because the daemon
// would otherwise start in safe mode.
func (inst *instance) open(spec string) error {
	if err := os.Remove(filepath.Join(inst.data(), "kairosd.starts")); err != nil && !os.IsNotExist(err) {
		return err
	}
	cmd := exec.Command(inst.bin, "serve", "--data", inst.data(), "--listen", "127.0.0.1:0",
		"--config", filepath.Join(inst.dir, "kairos.yaml"))
	cmd.Env = append(os.Environ(), failpoint.Env+"="+spec)
	log, err := os.OpenFile(filepath.Join(inst.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
			inst.cmd, inst.url = cmd, strings.TrimSuffix(at, "/")
			inst.api = client.Unix(filepath.Join(inst.data(), "kairosd.sock"))
			inst.api.Retry = nil
			return nil
		}
	}
	text, _ := os.ReadFile(filepath.Join(inst.dir, "log"))
	return fmt.Errorf("it does not start: %w\n%s", cmd.Wait(), text)
}

// end kills the daemon, unless it has already ended.
func (inst *instance) end() error {
	if err := inst.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = inst.cmd.Wait() // "signal: killed", also without the test
	return inst.api.Close()
}

// send executes the operation once. Without an answer, the status is 0.
func (inst *instance) send(ctx context.Context, d *operation) (status int, text string, err error) {
	c, base := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, inst.url
	if !d.page {
		base = "http://kairosd/api/v1"
		c.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(inst.data(), "kairosd.sock"))
		}}
	} else {
		c.Transport = &http.Transport{DisableKeepAlives: true}
	}
	body := d.body
	if d.action == "setup" { // every start creates a new secret until a user exists
		secret, err := os.ReadFile(filepath.Join(inst.data(), "setup.token"))
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
func (inst *instance) records(ctx context.Context, d *operation) (int, error) {
	list, err := inst.api.AuditEvents(ctx, domain.AuditFilter{Query: "action:" + d.action + " result:ok", Page: domain.Page{Limit: 200}})
	return len(list.Items), err
}

// judge compares the effect of the operation with its audit records. before is the number of
// earlier records.
func (inst *instance) judge(ctx context.Context, d *operation, before int) (done bool, err error) {
	n, err := inst.records(ctx, d)
	if err != nil {
		return false, err
	}
	if done, err = d.done(ctx, inst); err != nil {
		return false, err
	}
	switch {
	case d.steps:
	case done && n != before+1:
		err = fmt.Errorf("it was executed, with %d audit records", n-before)
	case !done && n != before:
		err = fmt.Errorf("it was not executed, with %d audit records", n-before)
	}
	return done, err
}

// outcome kills a daemon at a point of an operation, starts another, and repeats the request. It
// reports whether the point was reached.
func (inst *instance) outcome(ctx context.Context, d *operation, p point) (killed bool, err error) {
	if err := inst.open("from=" + inst.now() + ";" + p.String()); err != nil {
		return false, err
	}
	before, err := inst.records(ctx, d)
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(inst.now(), nil, 0o600); err != nil {
		return false, err
	}
	status, _, err := inst.send(ctx, d)
	if err != nil {
		return false, err
	}
	killed = status == 0
	if err := inst.end(); err != nil {
		return killed, err
	}
	if err := inst.open(""); err != nil {
		return killed, err
	}
	done, err := inst.judge(ctx, d, before)
	if err != nil {
		return killed, fmt.Errorf("after the restart: %w", err)
	}
	if !killed && !done {
		return killed, fmt.Errorf("its response has the status %d, but it has no effect", status)
	}
	if !d.again || !done {
		status, text, err := inst.send(ctx, d)
		switch {
		case err != nil:
			return killed, err
		case status == http.StatusConflict && strings.Contains(text, "idempotency.pending"):
			return killed, fmt.Errorf("the key is still pending after the restart: %s", text)
		case status == 0, status >= 500, status >= 400 && !done:
			return killed, fmt.Errorf("the repeated request returned %d: %s", status, text)
		}
		if done, err := inst.judge(ctx, d, before); err != nil || !done {
			return killed, fmt.Errorf("effect after the repeated request: %v; %w", done, err)
		}
	}
	if err := inst.end(); err != nil {
		return killed, err
	}
	return killed, inst.verify(ctx)
}

// verify opens the remaining database and checks all of it.
func (inst *instance) verify(ctx context.Context) (err error) {
	s, err := store.Open(ctx, filepath.Join(inst.data(), "kairos.db"), store.Options{})
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

// outside is a server that runs call. Its calls fail, are in doubt, or hang.
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
			case <-over: // a server that has not read the body does not notice that the caller is gone
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

var objectPlans = []string{
	"id: asks\nnodes:\n  ask: {type: approval, input: {message: go on?}}\n",
	"id: naps\nnodes:\n  nap: {type: wait, input: {for: 10h}}\n",
	"id: fails\nnodes:\n  call: {type: http, effect: read, input: {method: GET, url: \"URL/missing\"}}\n",
	"id: doubts\nnodes:\n  pay: {type: http, effect: unsafe, input: {method: POST, url: \"URL/pay\", body: {n: 1}}}\n",
	"id: tries\nnodes:\n  call: {type: http, effect: read, retry: {max_attempts: 9, backoff: [1h]}, input: {method: GET, " +
		"url: \"URL/later\"}}\n",
	"id: kills\nnodes:\n  call: {type: http, effect: idempotent, input: {method: POST, url: \"URL/hang\", body: {n: 1}}}\n",
	keeps,
}

// objects maps names to the objects of operations: a run in each status that people act on, and
// others.
type objects map[string]string
