package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kairosd/kairosd/db"
	"github.com/kairosd/kairosd/internal/cli"
	"github.com/kairosd/kairosd/internal/cli/kairosd"
	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/internal/store"
	"github.com/kairosd/kairosd/internal/store/recovery"
)

// listeningAt writes the daemon's log, and reads the address from it.
type listeningAt struct {
	output
	once sync.Once
	url  chan string
}

var listensAt = regexp.MustCompile(`"url":"(http[^"]+)"`)

func (l *listeningAt) Write(b []byte) (int, error) {
	n, err := l.output.Write(b)
	if m := listensAt.FindStringSubmatch(l.String()); m != nil {
		l.once.Do(func() { l.url <- m[1] })
	}
	return n, err
}

// upgrading is a daemon during an upgrade with five migrations. The third blocks until the test
// releases it.
type upgrading struct {
	url   string
	goOn  func()
	ready chan string // the ready line
	code  chan int
	stop  context.CancelFunc
	log   *listeningAt
}

// moreMigrations returns the migrations of this binary and some of a later one.
func moreMigrations(t *testing.T, more int) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	if err := fs.WalkDir(db.Migrations(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(db.Migrations(), path)
		files[path] = &fstest.MapFile{Data: text}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= more; i++ {
		n := store.SchemaVersion() + int64(i)
		files[fmt.Sprintf("%05d_more.sql", n)] = &fstest.MapFile{
			Data: fmt.Appendf(nil, "-- +goose Up\nCREATE TABLE more_%d (x INTEGER NOT NULL) STRICT;\n", n),
		}
	}
	return files
}

func startUpgrade(t *testing.T) *upgrading {
	t.Helper()
	data := t.TempDir()
	before, err := store.Open(t.Context(), filepath.Join(data, "kairos.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	files := moreMigrations(t, 5)
	reached, release := make(chan struct{}), make(chan struct{})
	program := kairosd.Opening(func(ctx context.Context, path string, o recovery.Options) (*store.Store, error) {
		report := o.Progress
		o.Progress = func(p domain.Startup) {
			report(p)
			if p.Stage == domain.StartMigrating && p.Step == 3 {
				close(reached)
				<-release
			}
		}
		o.Migrations = files
		return recovery.Open(ctx, path, o)
	})
	u := &upgrading{
		goOn:  sync.OnceFunc(func() { close(release) }),
		ready: make(chan string, 1),
		code:  make(chan int, 1),
		log:   &listeningAt{url: make(chan string, 1)},
	}
	var ctx context.Context
	ctx, u.stop = context.WithCancel(context.Background())
	go func() {
		u.code <- program(ctx, cli.Streams{In: strings.NewReader(""), Out: &output{line: u.ready}, Err: u.log,
			Env: func(string) string { return "" }},
			[]string{"serve", "--data", data, "--listen", "127.0.0.1:0"})
	}()
	t.Cleanup(func() {
		u.goOn()
		u.stop()
		<-u.code
	})
	select {
	case u.url = <-u.log.url:
	case code := <-u.code:
		u.code <- code
		t.Fatalf("serve ended with %d: %s", code, u.log)
	}
	select {
	case <-reached:
	case code := <-u.code:
		u.code <- code
		t.Fatalf("serve ended with %d: %s", code, u.log)
	}
	return u
}

// asked is one response.
type asked struct {
	status int
	head   http.Header
	body   string
}

func (u *upgrading) ask(t *testing.T, method, path string, head map[string]string) asked {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, u.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range head {
		req.Header.Set(k, v)
	}
	if head["Host"] != "" {
		req.Host = head["Host"]
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return asked{res.StatusCode, res.Header, string(b)}
}

// During a long upgrade, the daemon responds that it is alive and not ready, and reports its
// progress: to people in their language, and to programs as JSON. Then the pages replace these
// responses, on the same listener and on open connections.
func TestAStartingDaemonReportsItsProgress(t *testing.T) {
	t.Parallel()
	u := startUpgrade(t)
	const far = "kairosd is starting: migration 3 of 5, 40%"
	for name, c := range map[string]struct {
		method, path string
		head         map[string]string
		status       int
		text         string
	}{
		"it lives":            {"GET", "/healthz", nil, 200, "ok"},
		"it is not ready":     {"GET", "/readyz", nil, 503, far},
		"the home page":       {"GET", "/", nil, 503, "<h1>" + far + "</h1>"},
		"a page with a query": {"GET", "/runs?q=status:failed", nil, 503, `href="/runs?q=status:failed"`},
		"in Spanish": {"GET", "/runs", map[string]string{"Accept-Language": "es"}, 503,
			"<h1>kairosd se está iniciando: migración 3 de 5, 40%</h1>"},
		"in the reader's theme":    {"GET", "/login", map[string]string{"Cookie": "theme=dark"}, 503, `data-theme="dark"`},
		"a form was sent":          {"POST", "/login", nil, 503, "kairosd did not process what you sent."},
		"the part that asks again": {"GET", "/runs", map[string]string{"HX-Request": "true", "HX-Target": "starting"}, 200, far},
		"a part of an open page":   {"GET", "/runs", map[string]string{"HX-Request": "true", "HX-Target": "list"}, 503, far},
		"the API":                  {"GET", "/api/v1/runs", nil, 503, far},
		"an act by the API": {"POST", "/api/v1/runs", map[string]string{"Content-Type": "application/json"}, 503,
			`"reason":"starting"`},
		"metrics":                     {"GET", "/metrics", nil, 503, far},
		"a stream of events":          {"GET", "/live?t=runs", nil, 503, far},
		"another host's name":         {"GET", "/", map[string]string{"Host": "evil.example"}, 421, "not served here"},
		"a file that is not there":    {"GET", "/static/x/none.css", nil, 404, ""},
		"the style sheet of the page": {"GET", "/static/x/k.css", nil, 200, "--now"},
	} {
		a := u.ask(t, c.method, c.path, c.head)
		if a.status != c.status || !strings.Contains(a.body, c.text) {
			t.Errorf("%s: %d %s\nwant %d with %q", name, a.status, a.body, c.status, c.text)
		}
		if a.status == 503 && a.head.Get("Retry-After") != "2" {
			t.Errorf("%s: Retry-After is %q", name, a.head.Get("Retry-After"))
		}
		if a.head.Get("Content-Security-Policy") == "" || a.head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: lacks the headers of every answer: %v", name, a.head)
		}
		if strings.HasPrefix(c.path, "/api/") {
			var p struct{ Status int }
			if kind := a.head.Get("Content-Type"); kind != "application/problem+json" || json.Unmarshal([]byte(a.body), &p) != nil ||
				p.Status != 503 {
				t.Errorf("%s: %s %s", name, kind, a.body)
			}
		}
	}

	// A connection that stays open.
	old, err := net.Dial("tcp", strings.TrimPrefix(u.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	answers := bufio.NewReader(old)
	overOld := func(path string) int {
		t.Helper()
		if _, err := fmt.Fprintf(old, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, strings.TrimPrefix(u.url, "http://")); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	if code := overOld("/setup"); code != 503 {
		t.Errorf("before: %d", code)
	}
	// New connections are accepted all the time.
	asking, enough := context.WithCancel(t.Context())
	defer enough()
	lost := make(chan error, 1)
	go func() {
		lost <- func() error {
			for asking.Err() == nil {
				c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
				res, err := c.Get(u.url + "/healthz")
				if err != nil {
					return err
				}
				if err := res.Body.Close(); err != nil || res.StatusCode != 200 {
					return fmt.Errorf("%d %w", res.StatusCode, err)
				}
			}
			return nil
		}()
	}()
	u.goOn()
	select {
	case line := <-u.ready:
		if line != "kairosd is ready at "+u.url {
			t.Errorf("the ready line: %q", line)
		}
	case code := <-u.code:
		u.code <- code
		t.Fatalf("serve ended with %d: %s", code, u.log)
	}
	if code := overOld("/setup"); code != 200 {
		t.Errorf("after: %d", code)
	}
	enough()
	if err := <-lost; err != nil {
		t.Errorf("a request was lost: %v", err)
	}
	if a := u.ask(t, "GET", "/readyz", nil); a.status != 200 {
		t.Errorf("ready: %d %s", a.status, a.body)
	}
	if a := u.ask(t, "GET", "/runs", map[string]string{"HX-Request": "true", "HX-Target": "starting"}); a.head.Get("HX-Refresh") != "true" {
		t.Errorf("the page that waited is not loaded again: %d %v", a.status, a.head)
	}
}

// A daemon that is stopped during an upgrade ends normally, and the next one continues with the
// unchanged database.
func TestAStartingDaemonCanBeStopped(t *testing.T) {
	t.Parallel()
	u := startUpgrade(t)
	u.stop()
	u.goOn()
	code := <-u.code
	u.code <- code
	if code != 0 {
		t.Errorf("it ended with %d: %s", code, u.log)
	}
	if _, err := http.Get(u.url + "/healthz"); err == nil {
		t.Error("something still listens")
	}
}

// A daemon that cannot start releases its address.
func TestADaemonThatCannotStartReleasesItsAddress(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	serve(t, data)
	log := &listeningAt{url: make(chan string, 1)}
	code := kairosd.Run(
		t.Context(),
		cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: log, Env: func(string) string { return "" }},
		[]string{"serve", "--data", data, "--listen", "127.0.0.1:0"},
	)
	if code != 75 {
		t.Errorf("the second daemon on the same data ended with %d: %s", code, log)
	}
	if _, err := http.Get(<-log.url + "/healthz"); err == nil {
		t.Error("it still listens")
	}
}
