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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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

var errNoBrowser = errors.New("no Chromium in PATH: install Debian's chromium to run the browser tests")

func startChromium() (context.Context, error) {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
		return nil, errNoBrowser
	}
	options := append(
		chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox,
		chromedp.UserDataDir(filepath.Join(scratch, "profile")),
	)
	// Pages change at once: a page that nobody sees is not drawn, and a transition
	// from one to the next would wait for that for seconds, and then fail. Tests of
	// motion ask for it.
	for _, f := range []string{"force-prefers-reduced-motion", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(f, true))
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	endings = append(endings, closeTab, stop)
	return ctx, chromedp.Do(ctx)
}

// tab is a page that somebody looks at.
type tab struct {
	t   testing.TB
	ctx context.Context
	url string // of the daemon
	// keys says that the tab is used without a mouse.
	keys bool
	// left numbers the pages that were left.
	left int

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
	parent, err := chromium()
	if errors.Is(err, errNoBrowser) {
		t.Skip(err)
	}
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
		case *log.EventEntryAdded: // what the network says is the tests' own doing
			if e.Entry.Source != log.EntrySourceNetwork && (e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning) {
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

// fail ends the test and says where the page is; it leaves a picture where
// $KAIROS_SCREENSHOTS says.
func (b *tab) fail(what string) {
	b.t.Helper()
	address, _ := ask[string](b, "location.href")                          // empty says that the browser is gone
	text, _ := ask[string](b, `document.querySelector("main")?.innerText`) // likewise
	b.keep("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-"))
	b.t.Fatalf("%s, at %s:\n%.1500s", what, address, text)
}

// keep saves a picture of the whole page where $KAIROS_SCREENSHOTS says.
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

// there is JavaScript that says whether an element is shown.
func there(css string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && e.getClientRects().length)`, quoted(css))
}

// still is true while htmx neither loads nor swaps anything.
const still = `!document.querySelector(".htmx-request, .htmx-added, .htmx-swapping, .htmx-settling")`

// reached gives the middle of an element once it is where a click would reach it:
// in view, still, and not covered by anything, while nothing is being swapped: a swap
// may move the element between the measurement and the click. Without an answer it is
// none of these yet.
const reached = `(async () => {
  const e = [...document.querySelectorAll(%s)].find((e) => e.checkVisibility() && e.getClientRects().length);
  if (!e || document.readyState !== "complete" || !(` + still + `)) return null;
  e.scrollIntoView({block: "center", inline: "center"});
  const at = () => { const r = e.getClientRects()[0]; return [r.left + r.width / 2, r.top + r.height / 2]; };
  const [x, y] = at();
  const on = document.elementFromPoint(x, y);
  if (!on || !(e.contains(on) || on.contains(e) || on.closest("label") === e.closest("label") && e.closest("label"))) return null;
  return [x, y];
})()`

// click presses the mouse on an element.
func (b *tab) click(css string) {
	b.t.Helper()
	if b.keys {
		b.enter(css)
		return
	}
	deadline := time.Now().Add(patience)
	var last [2]float64
	for time.Now().Before(deadline) {
		at, err := ask[[]float64](b, fmt.Sprintf(reached, quoted(css)))
		if err != nil || len(at) != 2 {
			last = [2]float64{}
			continue
		}
		if now := [2]float64{at[0], at[1]}; now != last { // it must be still
			last = now
			continue
		}
		b.do(chromedp.MouseClickXY(at[0], at[1]))
		return
	}
	b.fail(css + " cannot be clicked")
}

// follow clicks what leads to another page, and waits until that page shows what
// it should. A click that comes while a page is still being laid out can be lost,
// as a person's is; a person clicks again.
func (b *tab) follow(css, then string) {
	b.t.Helper()
	b.leave(func() { b.click(css) }, css, then)
}

// reach clicks until something is shown that was not: on this page, over it, or
// on another one, as scripts or their absence have it.
func (b *tab) reach(css, then string) {
	b.t.Helper()
	for range 4 {
		b.click(css)
		if b.soon(patience/4, loaded+" && "+there(then)) == nil {
			return
		}
		if !eval[bool](b, there(css)) {
			break
		}
	}
	b.until(css+" leads to "+then, loaded+" && "+there(then))
}

// leave does what leads to another page, or to another view of this one, which has
// an address of its own. The old page is marked, so that the new one is told from
// it, also where that comes back as it was left.
func (b *tab) leave(do func(), what, then string) {
	b.t.Helper()
	for range 4 {
		b.left++
		from := eval[string](b, fmt.Sprintf(`window.kairosLeft = %d, location.href`, b.left))
		left := fmt.Sprintf(`(window.kairosLeft !== %d || location.href !== %s)`, b.left, quoted(from))
		do()
		if b.soon(patience/4, left) == nil {
			b.until(
				what+" leads to "+then,
				fmt.Sprintf(`%s && %s && !document.querySelector(".htmx-request") && %s`, loaded, left, there(then)),
			)
			return
		}
	}
	b.fail(what + " leads nowhere")
}

// fill types into a field, in place of what it holds.
func (b *tab) fill(css, text string) {
	b.t.Helper()
	if b.keys {
		b.typed(css, text)
		return
	}
	b.click(css)
	focus := fmt.Sprintf(
		`(() => { const e = [...document.querySelectorAll(%s)].find((e) => e.checkVisibility()); e.focus(); e.select(); return document.activeElement === e; })()`,
		quoted(css),
	)
	if !eval[bool](b, focus) {
		b.fail(css + " takes no focus")
	}
	call(b, input.InsertText, input.InsertTextParams{Text: text})
	b.until(
		css+" holds what was typed",
		fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.value === %s)`, quoted(css), quoted(text)),
	)
}

// filter types into the field of the list, which is filtered along where scripts
// are.
func (b *tab) filter(q string) {
	b.t.Helper()
	b.fill("#q", q)
	b.until(
		"the list is filtered as one types",
		fmt.Sprintf(
			`!window.htmx || new URL(location.href).searchParams.get("q") === %s && !document.querySelector(".htmx-request, .htmx-settling")`,
			quoted(q),
		),
	)
}

// press sends keys, each of them as one press: a page that takes a key for itself
// keeps it from being typed.
func (b *tab) press(keys string) {
	b.t.Helper()
	for _, k := range keys {
		if k <= ' ' || k > '~' {
			b.do(chromedp.KeyEvent(string(k)))
			continue
		}
		down := input.DispatchKeyEventParams{
			Type:           input.DispatchKeyEventTypeKeyDown,
			Key:            string(k),
			Text:           string(k),
			UnmodifiedText: string(k),
		}
		call(b, input.DispatchKeyEvent, down)
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: string(k)})
	}
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
