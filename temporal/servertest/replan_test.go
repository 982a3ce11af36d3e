package servertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// model is a provider that plans and answers. While it is slow, it never answers a planning call.
type model struct {
	*httptest.Server
	slow    atomic.Bool
	asked   chan struct{} // a planning call
	planned atomic.Int64  // answered planning calls
}

func openModel(t *testing.T) *model {
	m := &model{asked: make(chan struct{}, 100)}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller was killed
		}
		answer := "found"
		if !strings.Contains(string(body), "What came before") {
			m.asked <- struct{}{}
			if m.slow.Load() {
				<-r.Context().Done()
				return
			}
			m.planned.Add(1)
			answer = `{"requiresMultiStep": true, "summary": "Do it another way", "reasoning": "the clerk can do it",
				"steps": [{"agentId": "clerk", "task": "look into the bills"}]}`
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"model":"m","choices":[{"index":0,"delta":{"content":%s},"finish_reason":"stop"}]}`+"\n\n", text)
		fmt.Fprint(w, `data: {"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(m.CloseClientConnections)
	return m
}

// A step fails, and kairosd is killed during its call of the planner. After its next start, it repeats the call. The run follows the
// new version, and so do its fork and its record.
func TestARunIsReplannedWhileKairosdIsKilled(t *testing.T) {
	s, m := startServer(t), openModel(t)
	s.more = "providers: {fake: {type: openai, base_url: \"" + m.URL + "/v1\", model: m}}\n" +
		"agents: [{id: clerk, name: Clerk, description: Reads bills., provider: fake}]\nplanner: {mode: model, provider: fake}\n"
	k := s.kairosd()
	s.worker(s.config())
	m.slow.Store(true)
	run := k.begin(k.save(`
id: bills
nodes:
  first: {type: tool, tool: json, input: {value: 1}}
  read: {type: fail, needs: [first], on_error: replan, input: {code: lost, message: The bills are gone.}}
  ask: {type: approval, needs: [read], input: {message: "Is it right?"}}
  end: {type: set, needs: [ask], input: "${output.read}"}
`))
	<-m.asked
	k.until(run.ID, domain.RunWaiting, domain.WaitReplan)
	k.kill()
	m.slow.Store(false)
	k.up()
	waiting := k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	if n := m.planned.Load(); n != 1 || waiting.Version != 2 || waiting.Usage.InputTokens != 20 {
		t.Errorf("version %d after %d plans, %+v", waiting.Version, n, waiting.Usage)
	}
	k.kill()
	k.up()
	k.approve(run.ID)
	end := k.until(run.ID, domain.RunCompleted, "")
	if string(end.Output) != `"found"` {
		t.Errorf("output %s", end.Output)
	}
	want := "result:first result:read wait:read substep:read replan intent:read substep:read result:read wait:ask resolve:ask " +
		"result:ask result:end"
	if got := k.rows(run.ID); got != want {
		t.Errorf("the rows are\n%s\nand not\n%s", got, want)
	}
	fork := k.act(run.ID, domain.ActionFork, func(r *domain.ActionRequest) { r.At = 8 })
	k.until(fork.ID, domain.RunWaiting, domain.WaitApproval)
	k.act(fork.ID, domain.ActionCancel)
	k.act(fork.ID, domain.ActionResume)
	k.until(fork.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(fork.ID)
	if end := k.until(fork.ID, domain.RunCompleted, ""); end.Version != 2 || m.planned.Load() != 1 {
		t.Errorf("the fork has version %d after %d plans", end.Version, m.planned.Load())
	}
}

// A run was replanned, and kairosd is restored from an older backup, which has neither the run nor its new version. The run is
// cancelled and resumed: another workflow continues it with all its versions.
func TestAReplannedRunIsResumed(t *testing.T) {
	s, m := startServer(t), openModel(t)
	s.more = "providers: {fake: {type: openai, base_url: \"" + m.URL + "/v1\", model: m}}\n" +
		"agents: [{id: clerk, name: Clerk, description: Reads bills., provider: fake}]\nplanner: {mode: model, provider: fake}\n"
	k := s.kairosd()
	s.worker(s.config())
	v := k.save(`
id: bills
nodes:
  read: {type: fail, on_error: replan, input: {code: lost, message: The bills are gone.}}
  ask: {type: approval, needs: [read], input: {message: "Is it right?"}}
`)
	k.stop()
	backup := filepath.Join(s.dir, "backup")
	copyDatabase(t, k.dir.Database(), backup)
	k.up()
	run := k.begin(v)
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	rows := k.rows(run.ID)
	k.stop()
	copyDatabase(t, backup, k.dir.Database())
	k.up()
	if now := k.until(run.ID, domain.RunWaiting, domain.WaitApproval); now.Version != 2 || k.rows(run.ID) != rows {
		t.Errorf("the restored record has version %d, and the rows\n%s", now.Version, k.rows(run.ID))
	}
	k.act(run.ID, domain.ActionCancel)
	k.until(run.ID, domain.RunCancelled, "")
	k.act(run.ID, domain.ActionResume)
	k.until(run.ID, domain.RunWaiting, domain.WaitApproval)
	k.approve(run.ID)
	if end := k.until(run.ID, domain.RunCompleted, ""); end.Version != 2 || m.planned.Load() != 1 {
		t.Errorf("version %d after %d plans", end.Version, m.planned.Load())
	}
}
