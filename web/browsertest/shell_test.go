package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/network"
)

// If a fragment cannot be loaded, the page remains unchanged. A message shows the error and what to
// do, until a request succeeds again.
func TestAFailedRequestLeavesThePageAlone(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.open("/runs/" + s.Failed.ID).live()
	before := eval[string](b, `document.querySelector("#view").innerText`)
	ask := func(path string) {
		t.Helper()
		eval[bool](b, `htmx.ajax("GET", `+quoted(path)+`, {target: "#view", swap: "outerHTML"}).catch(() => 0), true`)
	}
	still := func(when string) {
		t.Helper()
		if now := eval[string](b, `document.querySelector("#view").innerText`); now != before {
			t.Errorf("%s, the part became %.200q", when, now)
		}
		if n := eval[int](b, `document.querySelectorAll("h1").length`); n != 1 {
			t.Errorf("%s, the page has %d headings of the first level", when, n)
		}
	}
	ask("/runs/00000000000000000000000000")
	b.until("the page says what is wrong", there(`#failed [role="alert"] h2`))
	still("after an answer that says no")
	b.accessible("a page with a part that failed")
	ask("/runs/" + s.Failed.ID)
	b.until("what was wrong is gone", `!document.querySelector("#failed")`)
	block := func(urls ...string) {
		t.Helper()
		patterns := []*network.BlockPattern{}
		for _, u := range urls {
			patterns = append(patterns, &network.BlockPattern{URLPattern: u, Block: true})
		}
		call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns})
	}
	before = eval[string](b, `document.querySelector("#view").innerText`)
	block("*://*:*/runs/*")
	ask("/runs/" + s.Failed.ID)
	b.until("the page says that nobody answered", there(`#failed [role="alert"] p`))
	still("without an answer")
	b.click("#failed button")
	b.until("it can be put away", `!document.querySelector("#failed")`)
	block()
}

// The shell of a page works for all users. On a phone, the indicator shows whether the page is out
// of date, without moving anything. Without scripts, a link reloads the page. Users can change the
// width of the inspector.
func TestTheShell(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	run := "/runs/" + s.Failed.ID
	widths := map[string]float64{}
	for _, w := range []string{"s", "", "l"} {
		b.cookie("inspector", w)
		b.open(run)
		widths[w] = eval[float64](b, `document.querySelector("#inspector").getBoundingClientRect().width`)
	}
	if !(widths["s"] < widths[""] && widths[""] < widths["l"]) {
		t.Errorf("the inspector is %v px wide", widths)
	}
	if title := eval[string](b, `document.title`); title != "✕ Failed · ledger · "+s.Failed.ID[len(s.Failed.ID)-4:]+" · kairos" {
		t.Errorf("the title is %q", title)
	}
	if eval[bool](b, there("a.reload")) {
		t.Error("a live page has a reload link")
	}
	b.width(390)
	b.cookie("inspector", "")
	b.open(run).live()
	const place = `document.querySelector("main").getBoundingClientRect().top + scrollY`
	at := eval[float64](b, place)
	d.kill()
	b.until(
		"the phone says that it is stale, and since when",
		indicates("stale")+` && `+there("#live")+` && /\d\d:\d\d:\d\d/.test(document.querySelector("#live").innerText)`,
	)
	if now := eval[float64](b, place); now != at {
		t.Errorf("the message moves the page from %g to %g", at, now)
	}
	d.start()
	b.live()
	plain := d.tab().withoutScripts()
	plain.open(run)
	if !eval[bool](plain, there("a.reload")) {
		t.Error("without scripts, the page has no reload link")
	}
	plain.follow("a.reload", "#run-id")
}
