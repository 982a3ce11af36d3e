package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// An operator undoes a failed run: the button on its page opens the preview in a dialog, the action leads to
// the undo run, and the page of the first run shows what was undone.
func TestUndoByMouse(t *testing.T) {
	d := newDaemon(t)
	var mu sync.Mutex
	var calls []string
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, r.URL.Path)
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(shop.Close)
	d.plan(strings.ReplaceAll(`{id: shop, nodes: {buy: {type: http, input: {method: POST, url: "URL/buy"},
		undo: {tool: http, input: {method: POST, url: "URL/return"}}}, check: {type: fail, input: {message: no stock}}},
		edges: [{from: buy, to: check}]}`, "URL", shop.URL))
	run := d.run("shop", "null")
	if run.Status != domain.RunFailed {
		t.Fatal(run.Status)
	}
	b := d.tab()
	at := "/runs/" + run.ID
	b.open(at)
	b.reach(`main a[href="`+at+`/undo"]`, "dialog[open] #preview table")
	b.accessible("the preview of the undo")
	b.keep("undo-preview")
	b.leave(func() { b.click(`dialog button[value="act"]`) }, "the undo", "#run-id")
	if path := eval[string](b, "location.pathname"); path == at || !strings.HasPrefix(path, "/runs/") {
		t.Errorf("the undo leads to %s", path)
	}
	b.until("the undo run completes", `document.querySelector("#head .st, #head h1").textContent.includes("Completed")`)
	b.open(at)
	b.until("the run shows what was undone", `document.querySelector("#head").textContent.includes("Undone by run")`)
	b.accessible("the page of an undone run")
	b.keep("undone-run")
	b.quiet("the undo")
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(calls, " "); got != "/buy /return" {
		t.Errorf("calls: %s", got)
	}
}
