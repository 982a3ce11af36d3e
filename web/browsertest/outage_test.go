package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// After an outage, home shows the failed runs as one line with one action. The preview opens in a
// dialog. One run is resumed first, and the operation stops while the outage lasts. After the
// outage, a second operation resumes the rest, and its page shows the progress.
func TestAnOutageIsResumedInTheBrowser(t *testing.T) {
	runs := 40
	if everything() {
		runs = 400
	}
	d := newDaemon(t)
	var up atomic.Bool
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(service.Close)
	d.plan(fmt.Sprintf("id: sync\nnodes:\n  push: {type: http, effect: read, input: {url: %q}}\n", service.URL))
	b := d.tab()
	for range runs {
		d.run("sync", "null")
	}
	b.open("/").live()
	b.until("home says how many failed", fmt.Sprintf(`document.querySelector("#attention .sum").textContent.includes("%d")`, runs))
	if n := eval[int](b, `document.querySelectorAll("#attention tr.bad").length`); n != 1 {
		t.Fatalf("the outage is shown as %d lines, want 1", n)
	}
	b.accessible("home in an outage")
	resume := func(result string) {
		t.Helper()
		b.open("/").live()
		b.reach(`#attention a[href^="/bulk/new?do=resume"]`, `dialog[open] form[action="/bulk"]`)
		if eval[bool](b, there("dialog select[name=tool]")) { // otherwise the operation would wait for the open circuit
			b.choose("dialog select[name=tool]", "do not wait")
		}
		b.leave(func() { b.click(`dialog form[action="/bulk"] button.pri`) }, "the act", "h1")
		if path := eval[string](b, "location.pathname"); !strings.HasPrefix(path, "/bulk/") {
			t.Fatalf("the action redirects to %s", path)
		}
		b.until("the act ends: "+result, fmt.Sprintf(`document.querySelector("main").textContent.includes(%q)`, result))
	}
	resume("failed the same way")
	b.accessible("an act that was stopped")
	up.Store(true)
	// The page counts down to the next automatic test call, and offers to call now.
	b.open("/agents/tools/http").live()
	b.until(
		"the circuit is open, and the page counts down",
		`/half open/.test(document.querySelector("#circuits").textContent) && /^$|^[0-9]+ s$|^1m/.test(document.querySelector("#circuits [data-until]")?.textContent || "")`,
	)
	b.accessible("a circuit that is open")
	b.reach(`#circuits a[href*="/enable"]`, `dialog[open] form[action$="/enable"]`)
	b.leave(func() { b.click(`dialog form[action$="/enable"] button.btn`) }, "the tool", "h1")
	b.until("the circuit is closed", `document.querySelector("#circuits").textContent.includes("Closed: calls go through.")`)
	// A rate of 0 is unlimited. The default rate would take minutes.
	b.open("/").live()
	b.reach(`#attention a[href^="/bulk/new?do=resume"]`, `dialog[open] form[action="/bulk"]`)
	b.fill("dialog input[name=rate]", "0")
	b.leave(func() { b.click(`dialog form[action="/bulk"] button.pri`) }, "the act", "h1")
	b.until("the act ends", `document.querySelector("main").textContent.includes("Finished")`)
	b.open("/").live()
	b.until("nothing is wrong any more", `document.querySelector("#situation").textContent.includes("Nothing needs attention")`)
	b.quiet("the outage")
}
