package run_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// shop records the calls that it gets, and fails those to one path.
type shop struct {
	mu    sync.Mutex
	calls []string
	down  string
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != "" && r.URL.Path == s.down {
		w.WriteHeader(http.StatusConflict)
		return
	}
	s.calls = append(s.calls, strings.TrimSpace(r.URL.Path+" "+string(body)))
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id": "<b>7</b>"}`)
}

const shopPlan = `
id: shop
nodes:
  buy:
    type: http
    input: {method: POST, url: "URL/buy"}
    undo: {tool: http, input: {method: POST, url: "URL/return", body: "${last.body.id}"}}
  wrap: {type: http, input: {method: POST, url: "URL/wrap"}, undo: {tool: http, input: {method: POST, url: "URL/unwrap"}}}
  check: {type: fail, input: {message: no stock}}
edges: [{from: buy, to: wrap}, {from: wrap, to: check}]
`

// The head of a run is reloaded after events of its undo, until the undo has ended.
func TestTheHeadFollowsTheUndo(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	s := &shop{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	site.Plan(t, strings.ReplaceAll(shopPlan, "URL", server.URL))
	run := site.Run(t, "shop", "null")
	b := site.Browser(t).Login()
	s.mu.Lock() // the calls of the undo wait
	p, err := site.Engine.Preview(t.Context(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionUndo})
	if err != nil {
		t.Fatal(err)
	}
	undo, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionUndo, Digest: p.Digest})
	if err != nil {
		t.Fatal(err)
	}
	both := `data-live="run-` + run.ID + ` run-` + undo.ID + `"`
	webtest.HasTexts(t, b.Get("/runs/"+run.ID), http.StatusOK, both, "k:run-"+undo.ID+" from:body")
	webtest.HasTexts(t, b.Fragment(t, "/runs/"+run.ID, "head"), http.StatusOK, both)
	s.mu.Unlock()
	if _, err := site.Engine.Wait(t.Context(), undo.ID); err != nil {
		t.Fatal(err)
	}
	head := b.Fragment(t, "/runs/"+run.ID, "head")
	webtest.HasTexts(t, head, http.StatusOK, "wrap", "Completed")
	if strings.Contains(head.Body, both) {
		t.Error("the head still follows an undo that has ended")
	}
}

// The page of an ended run with steps to undo leads to the preview of its undo. The preview lists the calls
// in their order. Afterwards, the page of the run shows what was undone, by whom, and offers no resume.
func TestUndoOnThePage(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	s := &shop{down: "/return"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	site.Plan(t, strings.ReplaceAll(shopPlan, "URL", server.URL))
	run := site.Run(t, "shop", "null")
	b := site.Browser(t).Login()
	at := "/runs/" + run.ID
	page := b.Get(at).Body
	if !strings.Contains(page, `href="`+at+`/undo"`) {
		t.Fatal("the page of the run does not offer the undo")
	}
	preview := b.Get(at + "/undo").Body
	text := webtest.Text(preview)
	for _, want := range []string{"1 wrap", "2 buy", `&lt;b&gt;7&lt;/b&gt;`, "Undo the steps of run " + domain.ShortID(run.ID)} {
		if !strings.Contains(text, want) {
			t.Errorf("the preview does not show %q\n%s", want, text)
		}
	}
	field := func(page, name string) string {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no field %s\n%s", name, page)
		}
		return m[1]
	}
	form := url.Values{"csrf": {field(preview, "csrf")}, "idem": {field(preview, "idem")}, "rev": {field(preview, "rev")},
		"digest": {field(preview, "digest")}, "do": {"act"}, "skip": {"wrap#1"}, "reason": {"returned"}}
	// The choice differs from the preview: a new preview follows, and nothing runs.
	again := b.Post(at+"/undo", form)
	if again.Code != http.StatusConflict || !strings.Contains(webtest.Text(again.Body), "left as it is") {
		t.Errorf("another choice: %d\n%s", again.Code, webtest.Text(again.Body))
	}
	delete(form, "skip")
	form.Set("idem", domain.NewID())
	done := b.Post(at+"/undo", form)
	if done.Code != http.StatusSeeOther {
		t.Fatalf("undo: %d\n%s", done.Code, webtest.Text(done.Body))
	}
	undos, err := site.Store.UndoRuns(t.Context(), run.ID)
	if err != nil || len(undos) != 1 {
		t.Fatal(undos, err)
	}
	undo, err := site.Engine.Wait(t.Context(), undos[0].ID)
	if err != nil || undo.Status != domain.RunFailed {
		t.Fatal(undo.Status, err)
	}
	short := domain.ShortID(undo.ID)
	text = webtest.Text(b.Get(at).Body)
	for _, want := range []string{"Undone by run " + short + " Failed", "started by marta", "wrap completed", "buy failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of the run does not show %q\n%s", want, text)
		}
	}
	if strings.Contains(b.Get(at).Body, at+`/resume"`) {
		t.Error("a run that was undone offers a resume")
	}
	page = b.Get("/runs/" + undo.ID).Body
	if text := webtest.Text(page); !strings.Contains(text, "Undo of "+domain.ShortID(run.ID)) ||
		strings.Contains(page, "/runs/"+undo.ID+`/rerun"`) || !strings.Contains(page, "/runs/"+undo.ID+`/resume"`) {
		t.Errorf("the page of the undo run: %s", text)
	}
	if text := webtest.Text(b.Get(at + "/undo").Body); !strings.Contains(text, "The undo run "+short+" did not complete") {
		t.Errorf("a second undo: %s", text)
	}
	s.mu.Lock()
	s.down = ""
	s.mu.Unlock()
	if _, err := site.Engine.Act(t.Context(), site.Admin, domain.ActionRequest{Run: undo.ID, Action: domain.ActionResume}); err != nil {
		t.Fatal(err)
	}
	if undo, err = site.Engine.Wait(t.Context(), undo.ID); err != nil || undo.Status != domain.RunCompleted {
		t.Fatal(undo.Status, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.calls, " | "); got != `/buy | /wrap | /unwrap | /return <b>7</b>` {
		t.Errorf("calls: %s", got)
	}
}
