// Package browsertest looks at the dashboard as people do: in a real browser,
// on the real daemon with plans and runs in every state.
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

// everything asks for every page in every look and for the large cases: make
// ui-test. Without it the tests are a quick slice of the same.
func everything() bool { return os.Getenv("KAIROS_UI") != "" }

// large skips what is not in the quick slice.
func large(t *testing.T) {
	t.Helper()
	if !everything() {
		t.Skip("make ui-test")
	}
}

// patience is how long a page may take to become what a test waits for. Nothing
// is ever waited for by time alone.
const patience = time.Minute

var (
	scratch string // a directory for the daemon, the browser and what they write
	endings []func()
	// chromium is one browser for all tests; each test has its own profile in it.
	chromium = sync.OnceValues(startChromium)
)

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "kairos-browsertest-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch) // a temporary directory; nothing depends on it
		defer func() {
			for _, f := range endings {
				f()
			}
		}()
		return m.Run()
	}()
	os.Exit(code)
}

// names are those of Chromium in PATH.
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
	// Pages change at once: Chromium does not draw hidden pages, and a transition would wait for that for
	// seconds, and then fail. Tests of motion turn it on. A page accepts clicks and keys before its first
	// frame, otherwise they would be lost.
	for _, f := range []string{"allow-pre-commit-input", "force-prefers-reduced-motion", "disable-gpu", "disable-quic",
		"no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(f, true))
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	endings = append(endings, closeTab, stop)
	return ctx, chromedp.Do(ctx)
}

// tab is a page in the browser.
type tab struct {
	t   testing.TB
	ctx context.Context
	url string // of the daemon
	// keys means that the tab is used without a mouse, plain that it runs no scripts.
	keys, plain bool
	// left numbers the pages that were left.
	left int
	// clicks counts what was clicked, or chosen by a key.
	clicks int

	mu sync.Mutex
	// problems are what the browser's console and the content security policy
	// complain of.
	problems []string
}

// watch notes what the content security policy blocks and what fails.
const watch = `window.kairosProblems = [];
document.addEventListener("securitypolicyviolation", (e) => kairosProblems.push("csp: " + e.violatedDirective + " " + e.blockedURI));
window.addEventListener("error", (e) => kairosProblems.push("error: " + e.message));`

// newTab opens a browser of its own, with its own cookies, or skips where there
// is none. It is 1440 pixels wide.
func newTab(t testing.TB, url string) *tab {
	t.Helper()
	need.Program(t, names...)
	parent, err := chromium()
	if err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return openTab(t, url, parent, chromedp.WithNewBrowserContext())
}

// beside opens another tab of the same person.
func (b *tab) beside() *tab {
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
		case *log.EventEntryAdded: // the network's messages are caused by the tests
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

// onEveryPage runs a script on each page of the tab before the page's own.
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

// call sends one command of the browser's protocol to a tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, command, params)
	})
	must(b.t, err)
	return r
}

// do acts on the tab, for at most as long as anything may take.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.fail(err.Error())
	}
}

// login gives the tab a session's cookies.
func (b *tab) login(session map[string]string) *tab {
	b.t.Helper()
	for name, value := range session {
		call(b, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: b.url})
	}
	return b
}

// without scripts, pages are what the server sent.
func (b *tab) withoutScripts() *tab {
	b.t.Helper()
	b.plain = true
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return b
}

// cookie sets one of the display's cookies.
func (b *tab) cookie(name, value string) {
	b.t.Helper()
	call(b, network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: b.url})
}

// width makes the window that wide.
func (b *tab) width(px int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(px, 900))
}

// open goes to an address and waits until it has been laid out.
func (b *tab) open(path string) *tab {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(b.url+path)); err != nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	b.until("the page "+path+" is there", loaded)
	return b
}

const loaded = `document.readyState === "complete" && !!document.body`

// eval asks the page. It works without the page's scripts, too.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.120s: %v", js, err)
	}
	return v
}

// ask is eval for a page that may be on its way to another one.
func ask[T any](b *tab, js string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
}

// until waits until something is true of the page.
func (b *tab) until(what, js string) {
	b.t.Helper()
	if err := b.soon(patience, js); err != nil {
		b.fail(fmt.Sprintf("it does not come about that %s: %v", what, err))
	}
}

// soon waits at most that long; it is an error if nothing came about.
func (b *tab) soon(d time.Duration, js string) error {
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

// fail ends the test and logs the state of the page; it saves a picture in $KAIROS_SCREENSHOTS.
func (b *tab) fail(what string) {
	b.t.Helper()
	address, _ := ask[string](b, "location.href")                          // empty means that the browser is gone
	text, _ := ask[string](b, `document.querySelector("main")?.innerText`) // likewise
	b.keep("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	b.t.Fatalf("%s, at %s:\n%.1500s", what, address, text)
}

// keep saves a picture of the whole page in $KAIROS_SCREENSHOTS.
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

// quoted is a text as JavaScript and selectors write it.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always has a JSON form
	}
	return strings.TrimSpace(b.String())
}

// there is JavaScript that returns whether an element is shown.
func there(css string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && e.getClientRects().length)`, quoted(css))
}

// live waits until the page follows what happens.
func (b *tab) live() *tab {
	b.t.Helper()
	b.until("the page is live", `document.querySelector("#live")?.dataset.state === "live"`)
	return b
}

// quiet checks that neither the console nor the policy complained.
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
