package browsertest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
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
	"github.com/kairosd/kairosd/internal/store/storetest"
	"github.com/kairosd/kairosd/planner"
	"github.com/kairosd/kairosd/web/webtest"
)

// binary builds the daemon once for all tests and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(scratch, "kairosd")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/kairosd/kairosd/cmd/kairosd").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kairosd: %w\n%s", err, out)
	}
	return bin, nil
})

// admin is the actor of the seed. On the daemon's own socket, the principal is the owner.
var admin = domain.Actor{Name: "marta", Role: domain.RoleAdmin}

// daemon is a running kairosd with its data. It keeps its address across restarts.
type daemon struct {
	t    testing.TB
	dir  string
	data string
	addr string
	url  string
	cmd  *exec.Cmd
	api  *client.Client
	// session contains the cookies of the first administrator.
	session map[string]string
	secret  chan string // from the setup link
}

// config defines agents with a scripted model, and lets plans call servers of the tests.
const config = `
tools: {http: {allow_private: ["127.0.0.0/8"], timeout: 10m, max_bytes: 16777216}}
providers: {script: {type: scripted, file: answers.yaml, model: scripted, prices: {scripted: {input: 1000, output: 2000}}}}
default_provider: script
agents:
  - {id: desk, name: Front desk, description: Answers <everybody>, system_prompt: You are the desk., tools: [handoff]}
  - {id: accountant, name: Accountant, system_prompt: You are the accountant., tools: [calculator], capabilities: [arithmetic]}
default_agent: desk
planner: {mode: model}
`

const answers = `
answers:
  - {contains: break, error: {code: overloaded, message: "the model is <b>overloaded</b>", permanent: true}}
  - contains: regatta
    text: '{"summary": "Report on the regatta", "requiresMultiStep": true, "reasoning": "one reads, one counts", "assumptions": ["the results are out"], "steps": [{"agentId": "desk", "task": "Read the results", "reasoning": "the desk has them"}, {"agentId": "accountant", "task": "Count the points"}]}'
  - {text: "The answer: <i>42</i>"}
`

// newDaemon starts the real daemon on an empty directory, and stops it after the test. It prints
// the daemon's log if the test fails.
func newDaemon(t testing.TB) *daemon {
	t.Helper()
	return daemonOn(t, filepath.Join(t.TempDir(), "data"))
}

// daemonOn starts the daemon on a data directory, which may already exist.
func daemonOn(t testing.TB, data string) *daemon {
	t.Helper()
	d := &daemon{t: t, dir: t.TempDir(), data: data, secret: make(chan string, 1)}
	must(t, os.MkdirAll(data, 0o700))
	must(t, os.WriteFile(filepath.Join(d.dir, "kairos.yaml"), []byte(config), 0o600))
	must(t, os.WriteFile(filepath.Join(d.dir, "answers.yaml"), []byte(answers), 0o600))
	// The port stays the same across restarts, because pages stay open on it.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	d.addr = ln.Addr().String()
	must(t, ln.Close())
	d.url = "http://" + d.addr
	t.Cleanup(func() {
		if d.cmd != nil {
			d.kill()
		}
		if text, err := os.ReadFile(filepath.Join(d.dir, "log")); t.Failed() && err == nil {
			t.Logf("the daemon's log:\n%.4000s", text)
		}
	})
	_, used := os.Stat(filepath.Join(data, "kairos.db"))
	d.start()
	form := url.Values{"csrf": {"anonymous"}, "name": {admin.Name}, "password": {webtest.Password}}
	if used == nil { // an existing database, which may have the user of an earlier test
		if code, session := d.send("/login", form); code == http.StatusSeeOther {
			d.session = session
			return d
		}
	}
	d.session = d.setup()
	return d
}

// start starts the daemon and waits until it is ready.
func (d *daemon) start() {
	d.t.Helper()
	bin, err := binary()
	must(d.t, err)
	d.cmd = exec.Command(bin, "serve", "--data", d.data, "--listen", d.addr, "--config", filepath.Join(d.dir, "kairos.yaml"))
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(d.t, err)
	defer log.Close()
	d.cmd.Stderr = log
	out, err := d.cmd.StdoutPipe()
	must(d.t, err)
	must(d.t, d.cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "kairosd is ready at ") {
	}
	if !strings.HasPrefix(lines.Text(), "kairosd is ready at ") {
		text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
		d.t.Fatalf("no ready line: %q\n%s", lines.Text(), text)
	}
	go func() {
		for lines.Scan() { // drain the pipe
			if _, secret, ok := strings.Cut(lines.Text(), "/setup?token="); ok {
				d.secret <- secret
			}
		}
	}()
	d.api = client.Unix(filepath.Join(d.data, "kairosd.sock"))
}

// kill ends the daemon with SIGKILL, like a crash.
func (d *daemon) kill() {
	d.t.Helper()
	must(d.t, d.cmd.Process.Signal(syscall.SIGKILL))
	_ = d.cmd.Wait() // the error is always "signal: killed"
	d.cmd = nil
	if d.api == nil { // the daemon never became ready
		return
	}
	if err := d.api.Close(); err != nil {
		d.t.Error(err)
	}
}

// setup creates the first administrator and returns the cookies of the session.
func (d *daemon) setup() map[string]string {
	d.t.Helper()
	select {
	case secret := <-d.secret:
		return d.post("/setup", url.Values{"csrf": {"anonymous"}, "token": {secret}, "name": {admin.Name}, "password": {webtest.Password}})
	case <-time.After(waitTimeout):
		d.t.Fatal("the daemon does not print a setup link")
		return nil
	}
}

// as creates another user, logs in, and returns the cookies of the session.
func (d *daemon) as(name string, role domain.Role) map[string]string {
	d.t.Helper()
	_, err := d.api.CreateUser(d.t.Context(), admin, name, webtest.Password, role)
	must(d.t, err)
	return d.post("/login", url.Values{"csrf": {"anonymous"}, "name": {name}, "password": {webtest.Password}})
}

func (d *daemon) post(path string, form url.Values) map[string]string {
	d.t.Helper()
	code, cookies := d.send(path, form)
	if code != http.StatusSeeOther {
		d.t.Fatalf("%s: got status %d, want %d", path, code, http.StatusSeeOther)
	}
	return cookies
}

// send posts a form like a browser, and returns the status and the cookies of the response.
func (d *daemon) send(path string, form url.Values) (code int, cookies map[string]string) {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	must(d.t, err)
	c := http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequest(http.MethodPost, d.url+path, strings.NewReader(form.Encode()))
	must(d.t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", d.url)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := c.Do(req)
	must(d.t, err)
	defer resp.Body.Close()
	u, err := url.Parse(d.url)
	must(d.t, err)
	cookies = map[string]string{}
	for _, c := range jar.Cookies(u) {
		cookies[c.Name] = c.Value
	}
	return resp.StatusCode, cookies
}

// seed creates plans and runs in the states that pages show.
func (d *daemon) seed() webtest.Seeded {
	d.t.Helper()
	return webtest.Seed(d.t, d.furnishing(), admin)
}

// furnished returns a seed with additional data that only some pages show.
func (d *daemon) furnished() webtest.Seeded {
	d.t.Helper()
	return webtest.Furnish(d.t, d.furnishing(), admin, d.seed())
}

func (d *daemon) furnishing() furnishing {
	return furnishing{d.api, filepath.Join(d.data, "kairos.db")}
}

// furnishing adapts the client to the interface of webtest, whose methods take an actor. It ignores
// the actor and uses the client's own principal. Its Damage method alters the database.
type furnishing struct {
	*client.Client
	path string
}

func (f furnishing) SavePlan(
	ctx context.Context,
	_ domain.Actor,
	src []byte,
	format planner.Format,
	origin, reason string,
) (domain.Plan, domain.Version, bool, planner.Problems, error) {
	return f.Client.SavePlan(ctx, src, format, origin, reason)
}

func (f furnishing) Start(ctx context.Context, _ domain.Actor, r domain.StartRequest) (domain.Run, error) {
	return f.Client.Start(ctx, r)
}

func (f furnishing) StartDraft(ctx context.Context, _ domain.Actor, r domain.DraftRequest) (domain.Draft, error) {
	return f.Client.StartDraft(ctx, r)
}

// OpenCircuit calls the host until its circuit opens. The daemon tests the circuit from time to
// time, so it may be half-open later.
func (f furnishing) OpenCircuit(tb testing.TB, host string) {
	tb.Helper()
	webtest.Plan(tb, f, admin, "id: knock\nnodes:\n  call: {type: http, effect: read, input: {url: \"http://"+host+"/x\"}}\n")
	for range 5 {
		webtest.Run(tb, f, admin, "knock", "null")
	}
}

func (f furnishing) StartBulk(ctx context.Context, _ domain.Actor, r domain.BulkRequest) (domain.Bulk, error) {
	b, err := f.Client.StartBulk(ctx, r)
	return b.Bulk, err
}

func (f furnishing) Damage(tb testing.TB, statements string) {
	tb.Helper()
	storetest.Alter(tb, f.path, statements)
}

func (d *daemon) plan(src string) {
	d.t.Helper()
	webtest.Plan(d.t, d.furnishing(), admin, src)
}

func (d *daemon) run(plan, input string) domain.Run {
	d.t.Helper()
	return webtest.Run(d.t, d.furnishing(), admin, plan, input)
}

// status returns the status of a run from the daemon.
func (d *daemon) status(id string) domain.RunStatus {
	d.t.Helper()
	r, err := d.api.FindRun(d.t.Context(), id)
	must(d.t, err)
	return r.Status
}

// tab opens a tab with the session of the administrator.
func (d *daemon) tab() *tab {
	d.t.Helper()
	return newTab(d.t, d.url).login(d.session)
}

// tabOf is like tab, for a subtest.
func (d *daemon) tabOf(t testing.TB) *tab {
	t.Helper()
	return newTab(t, d.url).login(d.session)
}
