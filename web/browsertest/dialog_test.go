package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/kairosd/kairosd/internal/domain"
)

// With scripts, a preview opens in a dialog. The heading gets the focus, Escape closes the dialog,
// the focus returns to the link, and the action leads to the next page.
func TestActionsArePreviewedInADialog(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	run := "/runs/" + s.Failed.ID
	link := `main a[href="` + run + `/resume"]`
	b.open(run)
	b.reach(link, "dialog[open] #preview")
	if at := eval[string](b, `document.activeElement.id + " " + location.pathname`); at != "dialog-h "+run {
		t.Errorf("the focus is on %q", at)
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
		t.Errorf("after Escape, the focus is on %q", back)
	}
	// A rerun with an invalid input shows the error in the dialog.
	b.reach(`main a[href="`+run+`/rerun"]`, "dialog[open] textarea[name=input]")
	b.fill("dialog textarea[name=input]", "{")
	b.reach(`dialog button[value="act"]`, "dialog[open] .note.bad")
	closed()
	b.reach(link, "dialog[open] #preview")
	b.click("dialog .shut")
	b.until("its button closes the dialog", `!document.querySelector("dialog[open]")`)
	b.reach(link, "dialog[open] #preview")
	b.click("dialog a.back")
	b.until("Back closes the dialog", `!document.querySelector("dialog[open]")`)
	b.reach(link, "dialog[open] #preview")
	b.mouse(input.DispatchMouseEventTypeMousePressed, 5, 5)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, 5, 5)
	b.until("a click outside closes the dialog", `!document.querySelector("dialog[open]")`)
	b.reach(link, "dialog[open] #preview")
	b.leave(func() { b.click(`dialog button[value="act"]`) }, "the act", "#run-id")
	d.follows(s.Failed, domain.EntryReset)
	b.quiet("the dialog")
}

// A peek opens below its row, and its link is marked as expanded. A second click closes it.
func TestAPeekOpensAndCloses(t *testing.T) {
	d := newDaemon(t)
	d.seed()
	b := d.tab()
	b.open("/runs")
	expanded := func() string {
		return eval[string](b, `document.querySelector("#list .pk a").getAttribute("aria-expanded") + " " + location.pathname`)
	}
	b.reach("#list .pk a", "#list tr:first-child + tr.peek")
	if now := expanded(); now != "true /runs" {
		t.Errorf("with the dialog open, got aria-expanded %s", now)
	}
	b.click("#list .pk a")
	b.until("the row is gone", `!document.querySelector("tr.peek")`)
	if now := expanded(); now != "false /runs" {
		t.Errorf("with the dialog closed, got aria-expanded %s", now)
	}
	b.quiet("the peek")
}

// If a preview cannot be shown, the dialog shows the reason. If the daemon does not respond, the
// page shows it. If the response to a form is lost, a note appears next to the form.
func TestDialogsShowErrors(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	run := "/runs/" + s.Failed.ID
	link := `main a[href="` + run + `/resume"]`
	b.open(run)
	eval[bool](b, `document.body.addEventListener("htmx:configRequest", (e) => e.detail.path = "/runs/missing/resume", {once: true}), true`)
	b.reach(link, `dialog[open] [role="alert"] h1`)
	b.accessible("an error in a dialog")
	b.press(kb.Escape)
	b.until("Escape closes the dialog", `!document.querySelector("dialog[open]")`)
	b.block("*://*:*/runs/*/resume*")
	b.reach(link, "#failed .note")
	b.block()
	b.reach(link, "dialog[open] #preview")
	b.block("*://*:*/runs/*/resume*")
	b.reach(`dialog button[value="act"]`, "dialog #failed .note")
	b.block()
	b.leave(func() { b.click(`dialog button[value="act"]`) }, "the act", "#run-id")
	d.follows(s.Failed, domain.EntryReset)
	b.quiet("errors in dialogs")
}
