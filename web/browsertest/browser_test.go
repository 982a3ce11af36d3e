// Package browsertest tests the dashboard in a real browser, against the real daemon with plans and
// runs in every state.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/kairosd/kairosd/internal/testing/need"
)

// everything reports whether the tests cover every page in every look and the large cases, as in
// "make ui-test". Otherwise they cover a quick sample.
func everything() bool { return os.Getenv("KAIROS_UI") != "" }

// large skips a test that is not part of the quick sample.
func large(t *testing.T) {
	t.Helper()
	if !everything() {
		t.Skip("make ui-test")
	}
}

// waitTimeout is the maximum time that a test waits for a condition of a page. Tests never wait for a
// fixed time.
const waitTimeout = time.Minute

var (
	scratch string // temporary directory for the daemon and the browser
	endings []func()
	// chromium starts the browser that all tests share. Each test has a separate profile in it.
	chromium = sync.OnceValues(startChromium)
)

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "kairos-browsertest-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch) // a temporary directory, so an error does not matter
		defer func() {
			for _, f := range endings {
				f()
			}
		}()
		return m.Run()
	}()
	os.Exit(code)
}

// names are the names of Chromium to look for in PATH.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

func startChromium() (context.Context, error) {
	program := ""
	for _, name := range slices.Backward(names) {
		if p, err := exec.LookPath(name); err == nil {
			program = p
		}
	}
	options := append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox,
		chromedp.UserDataDir(filepath.Join(scratch, "profile")),
	)
	// Reduced motion disables transitions. Chromium does not draw hidden pages, so a transition
	// would delay a test for seconds and then fail it. Tests of motion enable it. Without
	// allow-pre-commit-input, a page ignores clicks and keys before its first frame.
	for _, f := range []string{"allow-pre-commit-input", "force-prefers-reduced-motion", "disable-gpu", "disable-quic",
		"no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(f, true))
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	endings = append(endings, closeTab, stop)
	return ctx, chromedp.Do(ctx)
}

// tab is a browser tab.
type tab struct {
	t   testing.TB
	ctx context.Context
	url string // of the daemon
	// keys means that the test uses only the keyboard. plain means that scripts are disabled.
	keys, plain bool
	// left is the number of the last page that was left.
	left int
	// clicks counts clicks, and choices by a key.
	clicks int

	mu sync.Mutex
	// problems are the errors from the console and the violations of the content security policy.
	problems []string
}

// watch is a script that collects script errors and violations of the content security policy.
const watch = `window.kairosProblems = [];
document.addEventListener("securitypolicyviolation", (e) => kairosProblems.push("csp: " + e.violatedDirective + " " + e.blockedURI));
window.addEventListener("error", (e) => kairosProblems.push("error: " + e.message));`

// newTab opens a tab with its own cookies, 1440 pixels wide. It skips the test if Chromium is not
// installed.
func newTab(t testing.TB, url string) *tab {
	t.Helper()
	need.Program(t, names...)
	parent, err := chromium()
	if err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return openTab(t, url, parent, chromedp.WithNewBrowserContext())
}

// newSibling opens another tab with the same cookies.
func (b *tab) newSibling() *tab {
	b.t.Helper()
	return openTab(b.t, b.url, b.ctx)
}

func openTab(t testing.TB, url string, parent context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(parent, options...)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, url: url}
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(1440, 1000)))
	b.onEveryPage(watch)
	must(t, chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := ev.(type) {
		case *log.EventEntryAdded: // network errors are caused by the tests
			if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError ||
				e.Entry.Level == log.EntryLevelWarning) {
				b.problems = append(b.problems, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
			}
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Text)
		}
	}))
	return b
}

// onEveryPage runs a script on each page of the tab, before the page's own scripts.
func (b *tab) onEveryPage(js string) {
	b.t.Helper()
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call sends one command of the DevTools protocol to a tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	r, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, command, params)
	})
	must(b.t, err)
	return r
}

// do runs actions on the tab. It fails the test after waitTimeout.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.fail(err.Error())
	}
}

// login sets the cookies of a session.
func (b *tab) login(session map[string]string) *tab {
	b.t.Helper()
	for name, value := range session {
		call(b, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: b.url})
	}
	return b
}

// withoutScripts disables scripts, so that pages remain as the server rendered them.
func (b *tab) withoutScripts() *tab {
	b.t.Helper()
	b.plain = true
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return b
}

// cookie sets a cookie, for example the theme or the language.
func (b *tab) cookie(name, value string) {
	b.t.Helper()
	call(b, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: b.url})
}

// width sets the width of the window.
func (b *tab) width(px int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(px, 900))
}

// open loads a page and waits until its layout is complete.
func (b *tab) open(path string) *tab {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	err := chromedp.Do(ctx, chromedp.Navigate(b.url+path))
	for range 3 { // a script of the page before may navigate at the same time, which aborts this navigation
		if err == nil || !strings.Contains(err.Error(), "net::ERR_ABORTED") {
			break
		}
		err = chromedp.Do(ctx, chromedp.Navigate(b.url+path))
	}
	if err != nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	b.until("the page "+path+" is there", loaded)
	return b
}

const loaded = `document.readyState === "complete" && !!document.body`

// eval evaluates an expression on the page. It also works when the page's scripts are disabled.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.120s: %v", js, err)
	}
	return v
}

// ask is like eval, but returns an error, for a page that may be navigating.
func ask[T any](b *tab, js string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
}

// until waits until a condition holds on the page, and fails the test after waitTimeout.
func (b *tab) until(what, js string) {
	b.t.Helper()
	if err := b.waitFor(waitTimeout, js); err != nil {
		b.fail(fmt.Sprintf("it does not come about that %s: %v", what, err))
	}
}

// waitFor waits up to d for a condition. It returns an error if the condition does not hold by then.
func (b *tab) waitFor(d time.Duration, js string) error {
	deadline := time.Now().Add(d)
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := ask[bool](b, "!!("+js+")")
		switch {
		case err == nil && ok:
			return nil
		case time.Now().After(deadline):
			return errors.Join(fmt.Errorf("not true in %s: %s", d, js), err)
		case b.ctx.Err() != nil:
			return b.ctx.Err()
		}
		<-tick.C
	}
}

// fail ends the test. It logs the text of the page and saves a screenshot in $KAIROS_SCREENSHOTS.
func (b *tab) fail(what string) {
	b.t.Helper()
	address, _ := ask[string](b, "location.href")                          // empty if the browser has ended
	text, _ := ask[string](b, `document.querySelector("main")?.innerText`) // empty if the browser has ended
	b.keep("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	b.t.Fatalf("%s, at %s:\n%.1500s", what, address, text)
}

// keep saves a screenshot of the whole page in $KAIROS_SCREENSHOTS, if it is set.
func (b *tab) keep(name string) {
	dir := os.Getenv("KAIROS_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Logf("no picture %s: %v", name, err)
	}
}

// quoted returns s as a string literal for JavaScript and for selectors.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return strings.TrimSpace(b.String())
}

// there returns a JavaScript expression that reports whether an element is shown.
func there(css string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && e.getClientRects().length)`, quoted(css))
}

// live waits until the page receives live updates.
func (b *tab) live() *tab {
	b.t.Helper()
	b.until("the page is live", `document.querySelector("#live")?.dataset.state === "live"`)
	return b
}

// quiet checks that the tab has no script errors, console errors, or policy violations.
func (b *tab) quiet(where string) {
	b.t.Helper()
	for _, p := range eval[[]string](b, `window.kairosProblems || []`) {
		b.t.Errorf("%s: %s", where, p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("%s: %s", where, p)
	}
	b.problems = nil
}
