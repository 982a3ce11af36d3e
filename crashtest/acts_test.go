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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/client"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
	"github.com/kairosd/kairosd/internal/testing/failpoint"
	"github.com/kairosd/kairosd/internal/testing/proof"
	"github.com/kairosd/kairosd/planner"
)

// deed is an act of a person or a program on a daemon.
type deed struct {
	name, method, path, body string
	// action is what its record in the audit log says.
	action string
	// done says whether it has had its effect.
	done func(ctx context.Context, h *house) (bool, error)
	// page: it is a form of the dashboard, sent to it; else a request of the API.
	page bool
	// again: a repetition is another act, because the first one's answer was a
	// secret that nobody has, or nothing names the request.
	again bool
	// once: its idempotency key commits with its effect, not before.
	once bool
	// steps: it does its work in several transactions, and a repetition the rest.
	steps bool
}

// keyed reports whether the deed's request carries an Idempotency-Key.
func (d *deed) keyed() bool { return !d.page && !d.again && d.method == http.MethodPost }

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
	_ = h.cmd.Wait() // "signal: killed", by itself or by us
	return h.api.Close()
}

// send carries the deed out once. Without an answer the status is 0.
func (h *house) send(ctx context.Context, d *deed) (status int, text string, err error) {
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

// records counts what the audit log has of the deed.
func (h *house) records(ctx context.Context, d *deed) (int, error) {
	list, err := h.api.AuditEvents(ctx, domain.AuditFilter{Query: "action:" + d.action + " result:ok", Page: domain.Page{Limit: 200}})
	return len(list.Items), err
}

// judge compares what the deed has done with its records: before is how many
// there were.
func (h *house) judge(ctx context.Context, d *deed, before int) (done bool, err error) {
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

// fate kills a daemon at a point of a deed, starts another, and repeats the
// request. It reports whether the point was reached.
func (h *house) fate(ctx context.Context, d *deed, p point) (died bool, err error) {
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
	"id: tries\nnodes:\n  call: {type: http, effect: read, retry: {max_attempts: 9, backoff: [1h]}, input: {method: GET, url: \"URL/later\"}}\n",
	"id: kills\nnodes:\n  call: {type: http, effect: idempotent, input: {method: POST, url: \"URL/hang\", body: {n: 1}}}\n",
	keeps,
}

// scenery is what the deeds act on, by name: a run of every state that a person
// acts on.
type scenery map[string]string

// build lives until every state is there.
func (h *house) build(ctx context.Context, called chan struct{}) (s scenery, err error) {
	s = scenery{}
	if err := h.open(""); err != nil {
		return nil, err
	}
	run := func(name, plan string, until func(domain.Run) bool) error {
		r, err := h.api.Start(ctx, domain.StartRequest{Plan: plan, Input: domain.RawJSON(`{"of": "` + name + `"}`), Session: "the session"})
		if err != nil {
			return err
		}
		s[name] = r.ID
		return follow(ctx, h.api, r.ID, until)
	}
	waits := func(reason domain.WaitReason) func(domain.Run) bool {
		return func(r domain.Run) bool { return r.WaitReason == reason }
	}
	is := func(status domain.RunStatus) func(domain.Run) bool {
		return func(r domain.Run) bool { return r.Status == status }
	}
	nap := waits(domain.WaitTimer)
	for _, err := range []error{
		run("asks", "asks", waits(domain.WaitApproval)), run("naps", "naps", nap), run("paused", "naps", nap), run("fails", "fails", is(domain.RunFailed)),
		run("doubts", "doubts", waits(domain.WaitInDoubt)), run("tries", "tries", waits(domain.WaitRetry)), run("kept", "keeps", is(domain.RunCompleted)),
		run("kept 2", "keeps", is(domain.RunCompleted)),
	} {
		if err != nil {
			return nil, err
		}
	}
	if _, err := h.api.Act(ctx, domain.VerbRequest{Run: s["paused"], Action: domain.ActionPause}); err != nil {
		return nil, err
	}
	list, err := h.api.Approvals(ctx, domain.ApprovalFilter{})
	if err != nil || len(list.Items) != 1 {
		return nil, fmt.Errorf("%d approvals: %w", len(list.Items), err)
	}
	s["approval"] = list.Items[0].ID
	_, token, err := h.api.CreateToken(ctx, actor, "old", domain.RoleViewer, nil, 0)
	if err != nil {
		return nil, err
	}
	s["token"] = token.ID
	if _, err := h.api.CreateUser(ctx, actor, "marta", "a long enough password", domain.RoleOperator); err != nil {
		return nil, err
	}
	asked, err := h.api.Ask(ctx, domain.AskRequest{Query: "collect the sums and then collect them again", PlanOnly: true})
	if err != nil {
		return nil, err
	}
	s["draft"] = asked.Plan.Key
	if proof.Large() > 0 { // three deaths are many for a quick test
		if err := run("kills", "kills", is(domain.RunRunning)); err != nil {
			return nil, err
		}
		for range 3 {
			select {
			case <-called:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if err := h.end(); err != nil {
				return nil, err
			}
			if err := h.open(""); err != nil {
				return nil, err
			}
		}
		if err := follow(ctx, h.api, s["kills"], waits(domain.WaitQuarantined)); err != nil {
			return nil, err
		}
	}
	return s, h.end()
}

// A daemon is killed at every durable step of every act of a person: a start, the
// verbs, a decision, a note, an account, a login, a backup. After the restart the
// act is wholly done, with one record in the audit log, or not at all, with none;
// the same request, sent again with its key, leaves it done once (A44, G1, G10, G12).
func TestKillInEveryAct(t *testing.T) {
	t.Parallel()
	bin, in := build(t), proof.Dir(t)
	server, called := outside(t)
	config := "tools: {http: {allow_private: [\"127.0.0.0/8\"]}}\nskills: [{id: collect, keywords: {en: [collect]}, tool: set, defaults: {sum: 42}}]\nretention: {keep: 1}\n"
	made := 0
	var mu sync.Mutex
	fresh := func(from string) (*house, error) {
		mu.Lock()
		made++
		h := &house{bin: bin, dir: filepath.Join(in, fmt.Sprint(made))}
		mu.Unlock()
		if from == "" {
			if err := os.MkdirAll(h.data(), 0o700); err != nil {
				return nil, err
			}
			return h, os.WriteFile(filepath.Join(h.dir, "kairos.yaml"), []byte(config), 0o600)
		}
		return h, os.CopyFS(h.dir, os.DirFS(from))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	base, err := fresh("")
	if err != nil {
		t.Fatal(err)
	}
	new, err := fresh("") // without a user
	if err != nil {
		t.Fatal(err)
	}
	if err := base.open(""); err != nil {
		t.Fatal(err)
	}
	for _, src := range sceneryPlans {
		if _, _, _, problems, err := base.api.SavePlan(ctx, []byte(strings.ReplaceAll(src, "URL", server.URL)), planner.FormatYAML, "", ""); err != nil {
			t.Fatal(err, problems)
		}
	}
	if err := base.end(); err != nil {
		t.Fatal(err)
	}
	s, err := base.build(ctx, called)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"kairosd.sock", "setup.token"} {
		if err := os.Remove(filepath.Join(base.data(), f)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	deaths := 0
	var wg sync.WaitGroup
	queue := make(chan deed)
	for range 3 {
		wg.Go(func() {
			for d := range queue {
				from := base.dir
				if d.action == "setup" {
					from = new.dir
				}
				all := []point{{"commit.after", 1}}
				if d.keyed() && !d.once {
					all[0].k = 2 // the first one keeps the key
				}
				if proof.Large() > 0 {
					if all, err = tracedDeed(ctx, fresh, from, d); err != nil {
						t.Errorf("%s: %v", d.name, err)
						continue
					}
				}
				for _, p := range all {
					h, err := fresh(from)
					died := false
					if err == nil {
						died, err = h.fate(ctx, &d, p)
					}
					if err != nil {
						text, _ := os.ReadFile(filepath.Join(h.dir, "log"))
						t.Errorf("%s, %s: %v\n%s", d.name, p, err, text)
						if h.cmd != nil {
							_ = h.end() // it may be gone
						}
						break
					}
					if died {
						mu.Lock()
						deaths++
						mu.Unlock()
					}
					if err := os.RemoveAll(h.dir); err != nil {
						t.Error(err)
					}
				}
				t.Logf("%s: %d points", d.name, len(all))
			}
		})
	}
	tried := 0
	for _, d := range deeds(s) {
		if proof.Large() > 0 || quickDeeds[d.name] {
			queue <- d
			tried++
		}
	}
	close(queue)
	wg.Wait()
	if deaths < tried {
		t.Errorf("%d deaths in %d acts: the points are not reached", deaths, tried)
	}
	proof.Figure(t, "crash points", deaths)
}

// tracedDeed lists the points that a deed goes through until it is answered.
func tracedDeed(ctx context.Context, fresh func(string) (*house, error), from string, d deed) ([]point, error) {
	h, err := fresh(from)
	if err != nil {
		return nil, err
	}
	trace := filepath.Join(h.dir, "trace")
	if err := h.open("from=" + h.now() + ";trace=" + trace); err != nil {
		return nil, err
	}
	before, err := h.records(ctx, &d)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(h.now(), nil, 0o600); err != nil {
		return nil, err
	}
	status, text, err := h.send(ctx, &d)
	if err != nil || status >= 400 || status == 0 {
		return nil, fmt.Errorf("undisturbed it gets %d: %s, %w", status, text, err)
	}
	if done, err := h.judge(ctx, &d, before); err != nil || !done {
		return nil, fmt.Errorf("undisturbed it is done: %v, %w", done, err)
	}
	if err := h.end(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		return nil, err
	}
	var all []point
	hits := map[string]int{}
	for name := range strings.FieldsSeq(string(b)) {
		hits[name]++
		all = append(all, point{name, hits[name]})
	}
	return all, os.RemoveAll(h.dir)
}

// form is what a page sends.
func form(pairs ...string) string {
	v := url.Values{"csrf": {"anonymous"}}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}
