// Package browsertest looks at the dashboard as people do: in a real browser.
package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/internal/kairos"
	"github.com/kairosd/kairosd/web/webtest"
)

//go:embed testdata/axe.min.js
var axe string

// watch notes what the content security policy blocks and what fails.
const watch = `window.kairosProblems = [];
document.addEventListener("securitypolicyviolation", (e) => kairosProblems.push("csp: " + e.violatedDirective + " " + e.blockedURI));
window.addEventListener("error", (e) => kairosProblems.push("error: " + e.message));`

// open starts a browser with one tab, or skips where there is none.
func open(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		t.Skip("no Chromium in PATH: install Debian's chromium to run the browser tests")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	for _, f := range []string{"disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(f, true))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	_, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
		return chromedp.Void{}, err
	})
	if err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return ctx
}

// patience is how long a test may use its browser.
func patience() time.Duration {
	if everyLook() {
		return 15 * time.Minute
	}
	return 2 * time.Minute
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.80s: %v", js, err)
	}
	return v
}

// setup makes the first user through the pages.
func setup(t *testing.T, ctx context.Context, site *webtest.Site) {
	t.Helper()
	do(t, ctx, chromedp.Navigate(site.URL+"/setup?token="+site.Setup), chromedp.SendKeys(chromedp.CSS("input[name=name]"), "marta"),
		chromedp.SendKeys(chromedp.CSS("input[name=password]"), webtest.Password), chromedp.Submit(chromedp.CSS("main form")), chromedp.WaitVisible(chromedp.CSS("header.top")))
}

// everyLook asks for every page in every look: make ui-test.
func everyLook() bool { return os.Getenv("KAIROS_UI") != "" }

// audited is what axe-core says of a page.
const audited = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) =>
  JSON.stringify(r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", "))))`

func TestPagesAreAccessibleAndWithinPolicy(t *testing.T) {
	site := webtest.New(t)
	seed := site.Seed(t)
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1440, 1000))
	setup(t, ctx, site)
	type look struct {
		theme string
		width int64
		lang  string
	}
	looks := []look{{"light", 1440, "en"}, {"dark", 1440, "en"}, {"light", 390, "en"}, {"dark", 390, "es"}}
	paths := seed.Paths()
	if testing.Short() {
		looks, paths = looks[:1], paths[:8]
	}
	for n, l := range looks {
		do(t, ctx, chromedp.EmulateViewport(l.width, 900))
		eval[string](t, ctx, fmt.Sprintf(`document.cookie = "theme=%s; path=/"; document.cookie = "lang=%s; path=/"`, l.theme, l.lang))
		for i, path := range paths {
			if n > 0 && !everyLook() && i%6 != n { // a sample is enough for the second look
				continue
			}
			do(t, ctx, chromedp.Navigate(site.URL+path))
			where := fmt.Sprintf("%s (%s, %d px, %s)", path, l.theme, l.width, l.lang)
			if over := eval[int](t, ctx, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s: scrolls sideways by %d px", where, over)
			}
			eval[bool](t, ctx, axe+"; true")
			var violations []string
			if err := json.Unmarshal([]byte(eval[string](t, ctx, audited)), &violations); err != nil {
				t.Fatal(err)
			}
			for _, v := range violations {
				t.Errorf("%s: %s", where, v)
			}
			for _, p := range eval[[]string](t, ctx, `kairosProblems`) {
				t.Errorf("%s: %s", where, p)
			}
			screenshot(t, ctx, fmt.Sprintf("%s-%s-%d-%02d", l.lang, l.theme, l.width, i))
		}
	}
}

// screenshot keeps a picture where $KAIROS_SCREENSHOTS says.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	dir := os.Getenv("KAIROS_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Without scripts an operator finds the failed run, reads why it failed, and
// resumes it.
func TestResumeWithoutJavaScript(t *testing.T) {
	site := webtest.New(t)
	seed := site.Seed(t)
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1440, 1000))
	_, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	within := func(d time.Duration, action chromedp.Action[chromedp.Void]) error {
		soon, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		return chromedp.Do(soon, action)
	}
	// A click that comes while a page is still being laid out is lost, as a
	// person's is; a person clicks again.
	follow := func(link, then string) {
		t.Helper()
		var err error
		for range 5 {
			if err = within(20*time.Second, chromedp.Click(chromedp.CSS(link))); err != nil {
				continue
			}
			if err = within(5*time.Second, chromedp.WaitVisible(chromedp.CSS(then))); err == nil {
				return
			}
		}
		address, _ := chromedp.Run(ctx, chromedp.Location()) // empty says that the browser is gone
		screenshot(t, ctx, "failed")
		t.Fatalf("%s does not lead to %s, at %s: %v", link, then, address, err)
	}
	do(t, ctx, chromedp.Navigate(site.URL+"/setup?token="+site.Setup), chromedp.SendKeys(chromedp.CSS("input[name=name]"), "marta"),
		chromedp.SendKeys(chromedp.CSS("input[name=password]"), webtest.Password))
	follow("main button[type=submit]", "nav.nav")
	follow(`nav.nav a[href="/runs"]`, `form[action="/runs"]`)
	follow(`main a[href="/runs/`+seed.Failed.ID+`"]`, "#why")
	follow(`main a[href="/runs/`+seed.Failed.ID+`/resume"]`, "#preview")
	follow(`#preview button[value="act"]`, "#run-id")
	journal, err := site.Store.Journal(t.Context(), seed.Failed.ID, seed.Failed.LastSeq)
	if err != nil || len(journal) == 0 || journal[0].Kind != kairos.EntryReset {
		t.Errorf("the run was not resumed: %d rows, %v", len(journal), err)
	}
}

// The page of a waiting run follows what happens to it, without a reload, and
// leaves what the operator typed alone.
func TestTheRunPageFollowsTheRun(t *testing.T) {
	site := webtest.New(t)
	seed := site.Seed(t)
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1440, 1000))
	setup(t, ctx, site)
	do(t, ctx, chromedp.Navigate(site.URL+"/runs/"+seed.Waiting.ID), chromedp.WaitVisible(chromedp.CSS(`#live[data-state="live"]`)),
		chromedp.SendKeys(chromedp.CSS("input[name=comment]"), "half a thought"))
	list, err := site.Store.Approvals(t.Context(), kairos.ApprovalFilter{Run: seed.Waiting.ID})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(err)
	}
	if _, err := site.Engine.Decide(t.Context(), site.Admin, kairos.DecideRequest{Approval: list.Items[0].ID, Approve: true, Comment: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.WaitVisible(chromedp.CSS("#head h1 .st.ok")))
	if typed := eval[string](t, ctx, `document.querySelector("input[name=comment]").value`); typed != "half a thought" {
		t.Errorf("the refresh took %q away", typed)
	}
}

// What an operator holds in an open list is left alone while runs come and end:
// chosen rows stay chosen, typed text stays, no row moves; new runs wait in a
// pill (UI 0.8).
func TestAnOpenListLeavesWhatIsHeldAlone(t *testing.T) {
	site := webtest.New(t)
	seed := site.Seed(t)
	ctx := open(t)
	do(t, ctx, chromedp.EmulateViewport(1440, 1000))
	setup(t, ctx, site)
	box := fmt.Sprintf(`input[name=run][value="%s"]`, seed.Failed.ID)
	do(t, ctx, chromedp.Navigate(site.URL+"/runs"), chromedp.WaitVisible(chromedp.CSS(`#live[data-state="live"]`)), chromedp.Click(chromedp.CSS(box)),
		chromedp.SendKeys(chromedp.CSS("#q"), "plan:led"))
	rows := eval[int](t, ctx, `document.querySelectorAll("#list tbody tr").length`)
	site.Run(t, "report", `null`)
	do(t, ctx, chromedp.WaitVisible(chromedp.CSS("#pill a")))
	if n := eval[int](t, ctx, `document.querySelectorAll("#list tbody tr").length`); n != rows {
		t.Errorf("the list went from %d to %d rows by itself", rows, n)
	}
	if !eval[bool](t, ctx, fmt.Sprintf("document.querySelector(`%s`).checked", box)) {
		t.Error("a chosen row is not chosen any more")
	}
	if typed := eval[string](t, ctx, `document.querySelector("#q").value`); typed != "plan:led" {
		t.Errorf("typed text became %q", typed)
	}
	// The chosen run goes to the preview of the act, by its button.
	do(t, ctx, chromedp.Click(chromedp.CSS(`#bulk button[value="resume"]`)), chromedp.WaitVisible(chromedp.CSS(`form[action="/bulk"] button.pri`)))
	if chosen := eval[string](t, ctx, `document.querySelector('form[action="/bulk"] input[name=run]').value`); chosen != seed.Failed.ID {
		t.Errorf("the preview is about %q", chosen)
	}
}
