package browsertest

import "testing"

// The page of a draft shows progress while kairosd creates the plan, and then the plan. Nothing
// runs. If planning fails, the page shows the reason and offers another attempt.
func TestAPlanIsMadeOfAnIntent(t *testing.T) {
	d := newDaemon(t)
	b := d.tab()
	ask := func(intent, shown string) {
		t.Helper()
		b.open("/ask")
		b.accessible("the form")
		b.fill(`textarea[name="intent"]`, intent)
		b.leave(func() { b.click(`main form button.pri`) }, "the draft", "h1")
		b.until("the page says what planning came to", shown)
		b.accessible("the draft of " + intent)
		b.keep("draft-" + intent)
		b.width(390)
		b.accessible("the draft of " + intent + " on a phone")
		b.keep("draft-" + intent + "-phone")
		b.width(1440)
	}
	ask("regatta", `!!document.querySelector('#accept') && document.body.innerText.includes("the desk has them")`)
	if n := eval[int](b, `document.querySelectorAll("figure svg a").length`); n < 2 {
		t.Errorf("the graph has %d steps", n)
	}
	b.click(`main a[href$="/accept"]`)
	b.until("what is accepted is shown", `!!document.querySelector('dialog[open] form input[name="checks"]')`)
	b.accessible("what is accepted")
	b.keep("draft-accept")
	b.leave(func() { b.click(`dialog[open] form button.pri`) }, "the plan", "h1")
	p, err := d.api.Plan(t.Context(), planOf(b))
	must(t, err)
	if p.Latest != 1 || string(p.Stage) == "draft" {
		t.Errorf("got accepted plan %+v", p)
	}
	ask("break", `!!document.querySelector('button[name="do"][value="retry"]')`)
}

// planOf returns the key of the plan on the current page.
func planOf(b *tab) string {
	b.t.Helper()
	return eval[string](b, `location.pathname.split("/")[2]`)
}
