package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/webtest"
)

// With scripts a preview opens over the page: the heading has the focus, Escape
// closes it, the focus goes back to what opened it, and the act leads on
// (UI 3.2.4).
func TestActsArePreviewedInADialog(t *testing.T) {
	site := webtest.New(t)
	seed := site.Seed(t)
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1440, 1000))
	setup(t, ctx, site)
	run := "/runs/" + seed.Failed.ID
	link := `main a[href="` + run + `/resume"]`
	do(t, ctx, chromedp.Navigate(site.URL+run), chromedp.Click(chromedp.CSS(link)), chromedp.WaitVisible(chromedp.CSS("dialog[open] #preview")))
	if at := eval[string](t, ctx, `document.activeElement.id + " " + location.pathname`); at != "dialog-h "+run {
		t.Errorf("the focus is at %q", at)
	}
	screenshot(t, ctx, "dialog")
	do(t, ctx, chromedp.KeyEvent("\u001b"), chromedp.WaitNotPresent(chromedp.CSS("dialog[open]")))
	if back := eval[string](t, ctx, `document.activeElement.getAttribute("href") || ""`); back != run+"/resume" {
		t.Errorf("after Escape the focus is at %q", back)
	}
	// A rerun that was edited into nonsense is refused where it stands.
	do(t, ctx, chromedp.Click(chromedp.CSS(`main a[href="`+run+`/rerun"]`)), chromedp.WaitVisible(chromedp.CSS("dialog[open] textarea[name=input]")))
	eval[bool](t, ctx, `document.querySelector("dialog textarea[name=input]").value = "{"; true`)
	do(t, ctx, chromedp.Click(chromedp.CSS(`dialog button[value="act"]`)), chromedp.WaitVisible(chromedp.CSS("dialog[open] .note.bad")))
	do(t, ctx, chromedp.KeyEvent("\u001b"), chromedp.WaitNotPresent(chromedp.CSS("dialog[open]")))
	do(t, ctx, chromedp.Click(chromedp.CSS(link)), chromedp.WaitVisible(chromedp.CSS("dialog[open] #preview")),
		chromedp.Click(chromedp.CSS(`dialog button[value="act"]`)), chromedp.WaitNotPresent(chromedp.CSS("dialog[open]")))
	journal, err := site.Store.Journal(t.Context(), seed.Failed.ID, seed.Failed.LastSeq)
	if err != nil || len(journal) == 0 || journal[0].Kind != kairos.EntryReset {
		t.Errorf("the run was not resumed: %d rows, %v", len(journal), err)
	}
	for _, p := range eval[[]string](t, ctx, `kairosProblems`) {
		t.Error(p)
	}
}
