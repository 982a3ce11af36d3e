package servertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// partner is an agent on another A2A server. Its task works until finish is closed, and shows a text meanwhile.
type partner struct {
	*httptest.Server
	finish chan struct{}
}

func openPartner(t *testing.T, text string) *partner {
	p := &partner{finish: make(chan struct{})}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprintf(w, `{"name": "x", "version": "1", "description": "", "capabilities": {}, "skills": [], "defaultInputModes": [],
				"defaultOutputModes": [], "supportedInterfaces": [{"url": %q, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}`,
				p.URL+"/a2a")
			return
		}
		var call struct {
			ID     any
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		state := "WORKING"
		select {
		case <-p.finish:
			state = "COMPLETED"
		default:
		}
		task := fmt.Sprintf(`{"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_%s", "message": {"messageId": "m-2",
			"role": "ROLE_AGENT", "parts": [{"text": %q}]}}}`, state, text)
		if call.Method == "SendMessage" {
			task = `{"task": ` + task + `}`
		}
		fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "result": %s}`, call.ID, task)
	}))
	t.Cleanup(p.Close)
	return p
}

// A step logs a line, and waits. The line is in the event stream of its run and on its page while the step is active, without the
// secret that it contains. After a restart of kairosd, the page still shows it, and the stream does not repeat it.
func TestTheOutputOfAnActiveStep(t *testing.T) {
	s := startServer(t)
	p := openPartner(t, "half done with "+secret)
	s.more = "agents: [{id: partner, a2a: {url: '" + p.URL + "'}}]\n"
	k := s.kairosd()
	v := k.save("id: slow\nnodes:\n  a: {type: agent, agent: partner, input: {text: Hello}}\n")
	run := k.begin(v)
	first := k.logs(run.ID)
	s.worker(s.config()) // the stream is open before the step begins
	line := <-first
	if !strings.Contains(line, "half done with") || strings.Contains(line, secret) {
		t.Errorf("the stream has the line %q", line)
	}
	b := k.browser()
	shown := func() {
		t.Helper()
		if page := b.page("/runs/" + run.ID + "?view=log"); !strings.Contains(page, "half done with") || strings.Contains(page, secret) {
			t.Errorf("the page does not show the line, or shows the secret")
		}
	}
	shown()
	k.kill()
	k.up()
	shown()
	second := k.logs(run.ID)
	close(p.finish)
	k.until(run.ID, domain.RunCompleted, "")
	for line := range second {
		if strings.Contains(line, "half done") {
			t.Errorf("the stream repeats the line %q", line)
		}
	}
}

// browser logs in to the dashboard as an operator.
func (k *kairosd) browser() *browser {
	k.s.t.Helper()
	if _, err := k.CreateUser(k.s.t.Context(), domain.Actor{}, "ada", "a long password", domain.RoleOperator); err != nil {
		k.s.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		k.s.t.Fatal(err)
	}
	b := &browser{k: k, http: &http.Client{Jar: jar}}
	res, err := b.http.PostForm(k.origin()+"/login", url.Values{"csrf": {"anonymous"}, "name": {"ada"}, "password": {"a long password"}})
	if err != nil {
		k.s.t.Fatal(err)
	}
	_ = res.Body.Close() // the next page shows whether it worked
	return b
}

// browser reads pages of the dashboard.
type browser struct {
	k    *kairosd
	http *http.Client
}

// page returns a page of the dashboard.
func (b *browser) page(path string) string {
	b.k.s.t.Helper()
	res, err := b.http.Get(b.k.origin() + path)
	if err != nil {
		b.k.s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.Request.URL.Path == "/login" {
		b.k.s.t.Fatalf("%s: %v", res.Request.URL, err)
	}
	return string(raw)
}

// origin returns the address of the dashboard.
func (k *kairosd) origin() string { return k.ready[strings.Index(k.ready, "http://"):] }

// logs returns the log lines in the event stream of a run, until its end.
func (k *kairosd) logs(run string) <-chan string {
	k.s.t.Helper()
	events, err := k.Subscribe(k.s.t.Context(), 0, run)
	if err != nil {
		k.s.t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for e := range events {
			if e.Type == "node_log" {
				lines <- fmt.Sprint(e.Data["message"])
			}
			if e.Type == "run_status" && e.Data["status"] == "completed" {
				return
			}
		}
	}()
	return lines
}
