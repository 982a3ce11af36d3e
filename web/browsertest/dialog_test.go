package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/kairosd/kairosd/internal/domain"
)

// With scripts a preview opens over the page: the heading has the focus, Escape
// closes it, the focus goes back to what opened it, and the act leads on.
func TestActsArePreviewedInADialog(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	run := "/runs/" + s.Failed.ID
	link := `main a[href="` + run + `/resume"]`
	b.open(run)
	b.reach(link, "dialog[open] #preview")
	if at := eval[string](b, `document.activeElement.id + " " + location.pathname`); at != "dialog-h "+run {
		t.Errorf("the focus is at %q", at)
	}
	b.keep("dialog")
	b.accessible("the dialog")
	closed := func() {
		t.Helper()
		b.press(kb.Escape)
		b.until("Escape closes the dialog", `!document.querySelector("dialog[open]")`)
	}
	closed()
	if back := eval[string](b, `document.activeElement.getAttribute("href") || ""`); back != run+"/resume" {
		t.Errorf("after Escape the focus is at %q", back)
	}
	// A rerun that was edited into nonsense is refused where it stands.
	b.reach(`main a[href="`+run+`/rerun"]`, "dialog[open] textarea[name=input]")
	b.fill("dialog textarea[name=input]", "{")
	b.reach(`dialog button[value="act"]`, "dialog[open] .note.bad")
	closed()
	b.reach(link, "dialog[open] #preview")
	b.leave(func() { b.click(`dialog button[value="act"]`) }, "the act", "#run-id")
	d.follows(s.Failed, domain.EntryReset)
	b.quiet("the dialog")
}
