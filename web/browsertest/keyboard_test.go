package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/kairosd/kairosd/internal/domain"
)

// focusSeen returns a problem with the focused element: no visible focus, out of view, or covered
// (WCAG 2.4.7, 2.4.11). The result is empty if there is none.
const focusSeen = `(() => {
  const e = document.activeElement;
  if (!e || e === document.body || e === document.documentElement) return "";
  const name = e.outerHTML.slice(0, 110), s = getComputedStyle(e), shown = (s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
  const ring = e.closest("svg") && e.querySelector(".box"); // a node of the graph: its box is drawn thicker
  if (!shown(s) && !(ring && parseFloat(getComputedStyle(ring).strokeWidth) >= 2)) return "the focus is not seen on " + name;
  const r = [...e.getClientRects()].find((r) => r.width > 0 && r.height > 0);
  if (!r) return "the focus is on what has no box: " + name;
  const left = Math.max(0, r.left), right = Math.min(innerWidth, r.right), top = Math.max(0, r.top), bottom = Math.min(innerHeight, r.bottom);
  if (right - left < 1 || bottom - top < 1) return "the focus is out of view: " + name;
  const on = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  if (!on || !(e.contains(on) || on.contains(e) || e.closest("label") && e.closest("label").contains(on))) return "the focus is covered by " + (on ? on.outerHTML.slice(0, 80) : "nothing") + ": " + name;
  return "";
})()`

// focused returns an expression that reports whether the first shown element of a selector has the
// focus.
func focused(css string) string {
	return fmt.Sprintf(
		`document.activeElement === [...document.querySelectorAll(%s)].find((e) => e.checkVisibility() && e.getClientRects().length)`,
		quoted(css),
	)
}

// tabTo presses Tab until the element has the focus, and checks the focus at every stop.
func (b *tab) tabTo(css string) {
	b.t.Helper()
	b.until(css+" is there", loaded+" && "+there(css))
	for range 250 {
		b.leaveEditor()
		b.press(kb.Tab)
		if problem := eval[string](b, focusSeen); problem != "" {
			b.t.Error(problem)
		}
		if eval[bool](b, focused(css)) {
			return
		}
	}
	b.fail("Tab does not lead to " + css)
}

// leaveEditor presses Escape in the editor, where Tab indents. The page documents this.
func (b *tab) leaveEditor() {
	b.t.Helper()
	if eval[bool](b, `document.activeElement.hasAttribute("data-indent")`) {
		b.press(kb.Escape)
	}
}

// Tab reaches every stop of a page and leaves it. Nothing traps the focus, the order is the reading
// order, and the first stop skips the navigation.
func TestTabGoesThroughEveryPage(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	paths := []string{
		"/",
		"/runs",
		"/runs/" + s.Failed.ID,
		"/runs/" + s.Waiting.ID + "?view=graph",
		"/plans/ledger/edit",
		"/settings/tokens",
	}
	if everything() {
		paths = s.Paths()
	}
	for _, path := range paths {
		b.open(path)
		b.press(kb.Tab)
		if !eval[bool](b, `document.activeElement.matches("a.skip")`) {
			t.Errorf("%s: the first Tab stop is %s", path, eval[string](b, `document.activeElement.outerHTML.slice(0, 100)`))
		}
		b.press(kb.Enter)
		b.until("the skip link leads to the page's content", `document.activeElement === document.querySelector("#main")`)
		b.open(path)
		if n := eval[int](b, `document.querySelectorAll("[tabindex]:not([tabindex='0'], [tabindex='-1'])").length`); n > 0 {
			t.Errorf("%s: %d elements have a positive tabindex", path, n)
		}
		// Each stop follows the previous one in the document, until Tab leaves it.
		eval[bool](
			b,
			`(() => { window.kairosStops = []; document.addEventListener("focusin", (e) => kairosStops.push(e.target)); return true; })()`,
		)
		stops := 0
		for ; stops < 400; stops++ {
			b.leaveEditor()
			b.press(kb.Tab)
			if problem := eval[string](b, focusSeen); problem != "" {
				t.Errorf("%s: %s", path, problem)
			}
			if eval[bool](
				b,
				`document.activeElement === document.body || kairosStops.length > 1 && document.activeElement === kairosStops[0]`,
			) {
				break
			}
		}
		if stops == 400 {
			t.Errorf("%s: Tab does not reach the end of the page", path)
		}
		if wrong := eval[[]string](b, `kairosStops.slice(1).filter((e, i) => i < kairosStops.length - 2 && kairosStops[i].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_PRECEDING).map((e) => e.outerHTML.slice(0, 80))`); len(
			wrong,
		) > 0 {
			t.Errorf("%s: the focus order jumps back to %v", path, wrong)
		}
		b.quiet(path)
	}
}

// Shortcuts move, open, choose, and open previews. None of them performs an action. In a field,
// keys are typed. Users can switch shortcuts off (WCAG 2.1.4).
func TestShortcuts(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	for range 60 {
		d.run("echo", `"more"`)
	}
	b := d.tab()
	before := d.runs()
	at := func(css, what string) { t.Helper(); b.until(what, focused(css)) }
	goes := func(keys, to, what string) {
		t.Helper()
		b.leave(func() { b.press(keys) }, what, to)
		b.t.Logf("%s: %s", keys, what)
	}
	b.open("/runs")
	b.press("j")
	at("#list tbody tr:nth-child(1) a.go", "j goes to the first row")
	b.press("j")
	at("#list tbody tr:nth-child(2) a.go", "j goes to the next row")
	b.press("x")
	b.until("x chooses the row", `document.querySelector("#list tbody tr:nth-child(2) input").checked`)
	b.press("*")
	b.until("* chooses all rows", `[...document.querySelectorAll("#list tbody input[name=run]")].every((i) => i.checked)`)
	b.press("k")
	at("#list tbody tr:nth-child(1) a.go", "k goes to the row before")
	b.press("e")
	at("#q", "e goes to the filter")
	b.press("jx?")
	b.until("keys in a field are typed", `document.querySelector("#q").value === "jx?"`)
	b.open("/runs")
	b.press("/")
	at(".search", "/ goes to the jump field")
	b.open("/runs")
	goes("n", "#list a[rel=prev]", "n shows older runs")
	goes("b", "#list a[rel=next]", "b shows newer runs")
	b.press("j")
	goes("o", "#run-id", "o opens the row")
	goes("?", ".keys", "? lists the shortcuts")
	for key, section := range map[string]string{"r": "/runs", "p": "/plans", "a": "/approvals", "g": "/agents", "u": "/audit",
		"s": "/system", "h": "/"} {
		b.leave(func() { b.press("g"); b.press(key) }, "g "+key, "main")
		if now := eval[string](b, `location.pathname`); now != section {
			t.Errorf("shortcut g %s opens %s", key, now)
		}
	}
	b.open("/runs/" + s.Failed.ID)
	b.press("f")
	b.until("f goes to the failed step", `document.activeElement.closest("tr.bad")`)
	b.press("i")
	at("#ih", "i goes to the inspector")
	b.press("2")
	b.until("2 shows the graph", `/view=graph/.test(location.search) && `+there("#view figure.dag"))
	b.open("/runs/" + s.Failed.ID)
	b.press("r")
	b.until("r opens the preview", there("#preview"))
	if d.status(s.Failed.ID) != domain.RunFailed {
		t.Error("a single key resumed the run")
	}
	b.open("/runs/" + s.Failed.ID)
	b.press("y")
	b.until("y opens the fork's preview", there("#preview"))
	if after := d.runs(); after != before {
		t.Errorf("keys alone started %d runs", after-before)
	}
	b.open("/runs").live()
	b.press("p")
	b.until("p pauses live updates", indicates("paused"))
	b.press("p")
	b.live()
	// When shortcuts are off, keys have no effect.
	b.open("/runs")
	b.click("footer details.display summary")
	b.follow(`button[name="shortcuts"][value="off"]`, "#list")
	b.press("j")
	if eval[bool](b, `document.activeElement.matches("a.go")`) {
		t.Error("j moves the selection with shortcuts disabled")
	}
	b.quiet("shortcuts")
}

// Covers every shortcut that TestShortcuts does not.
func TestEveryShortcut(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	for range 6 {
		d.run("echo", `"more"`)
	}
	run, open := d.busy(2)
	defer open()
	b := d.tab()
	down := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
	)
	t.Cleanup(down.Close)
	d.plan(
		"id: twice\nnodes:\n  call: {type: http, effect: read, retry: {max_attempts: 2, backoff: [10ms]}, input: {url: \"" +
			down.URL + "\"}}\n",
	)
	twice := d.run("twice", "null")
	before := d.runs()
	chosen := `document.querySelectorAll("#list tbody input[name=run]:checked").length`
	b.open("/runs")
	b.press("jxjjX")
	b.until("X chooses all rows from the last chosen one", chosen+" === 3")
	b.press("v")
	b.until("v looks at the run", there("tr.peek"))
	b.press("v")
	b.until("v again does not", `!document.querySelector("tr.peek")`)
	b.press(".")
	b.until(". goes to what can be done with the row", `!!document.activeElement.closest("tr.peek")`)
	b.open("/runs")
	b.press("j\r")
	b.until("Enter opens the row", there("#run-id"))
	b.leave(func() { b.press("g"); b.press("d") }, "g d", "main")
	if now := eval[string](b, `location.pathname`); now != "/handoffs" {
		t.Errorf("shortcut g d opens %s", now)
	}
	b.leave(func() { b.press("t") }, "t", "main")
	b.until(
		"t shows times otherwise",
		`document.querySelector(".tz").textContent === "UTC" && /times=utc/.test(document.cookie + document.querySelector("button[name=times][value=utc]").getAttribute("aria-pressed").replace("true", "times=utc"))`,
	)
	b.cookie("times", "")
	b.open("/")
	eval[bool](b, `document.querySelector("footer details").open = true`)
	b.press(kb.Escape)
	b.until("Escape closes what is open", `!document.querySelector("footer details[open]")`)
	// The page of a run.
	failed := "/runs/" + twice.ID
	b.open(failed)
	for i, view := range []string{"timeline", "graph", "state", "log", "handoffs", "events", "io"} {
		b.press(fmt.Sprint(i + 1))
		b.until(
			fmt.Sprintf("%d shows the view %s", i+1, view),
			fmt.Sprintf(
				`/view=%s/.test(location.search) && document.querySelector("#tabs [aria-current]").getAttribute("href").includes("view=%s")`,
				view,
				view,
			),
		)
	}
	b.open(failed)
	b.press("jk")
	at := eval[string](b, `document.activeElement.getAttribute("href") || ""`)
	if !strings.HasPrefix(at, failed) {
		t.Errorf("j and k select %q, want steps", at)
	}
	b.press("F")
	b.until("F goes to the failed step", `!!document.activeElement.closest("tr.bad")`)
	b.press("[")
	b.until("[ shows the attempt before", `/try=1/.test(location.search)`)
	b.press("]")
	b.until("] shows the next attempt", `/try=2/.test(location.search)`)
	b.open("/runs/" + s.Completed.ID + "?view=state")
	last := eval[string](b, `document.querySelector("#sth").innerText`)
	b.press(",")
	b.until(", shows the checkpoint before", `document.querySelector("#sth").innerText !== `+quoted(last))
	b.until("it has settled", `!document.querySelector(".htmx-request, .htmx-settling")`)
	b.press(".")
	b.until(". shows the next checkpoint", `document.querySelector("#sth").innerText === `+quoted(last))
	b.open(failed)
	for _, k := range []string{"c", "m"} {
		eval[bool](b, `document.querySelector("#say").textContent = "", true`)
		b.press(k)
		b.until(k+" copies, and says so", `document.querySelector("#say").textContent === document.body.dataset.wCopied`)
	}
	b.open("/runs/" + run.ID + "?step=1").live()
	b.press("l")
	b.until(
		"l follows the run",
		`!/step=/.test(location.search) || !document.querySelector("#follow") || document.querySelector("#follow").hidden`,
	)
	// On an approval request, the keys move the focus to a button, and Enter presses it.
	b.open("/runs/" + s.Waiting.ID)
	for key, button := range map[string]string{"a": "approve", "r": "reject"} {
		b.press(key)
		b.until(key+" goes to the button", fmt.Sprintf(`document.activeElement.dataset.key === %q`, button))
	}
	if d.status(s.Waiting.ID) != domain.RunWaiting || d.runs() != before {
		t.Error("a key ran an action without confirmation")
	}
	b.quiet("every shortcut")
}

// enter activates an element by keyboard, like a click.
func (b *tab) enter(css string) {
	b.t.Helper()
	b.tabTo(css)
	key := kb.Enter
	if eval[bool](b, `document.activeElement.matches("input[type=checkbox]")`) {
		key = " "
	}
	b.press(key)
}

// typed replaces the text of a field by keyboard.
func (b *tab) typed(css, text string) {
	b.t.Helper()
	b.tabTo(css)
	for _, kind := range []input.DispatchKeyEventType{"rawKeyDown", "keyUp"} { // Control+A
		call(
			b,
			input.DispatchKeyEvent,
			input.DispatchKeyEventParams{
				Type:                  kind,
				Modifiers:             2,
				Key:                   "a",
				Code:                  "KeyA",
				WindowsVirtualKeyCode: 65,
				Commands:              []string{"selectAll"},
			},
		)
	}
	call(b, input.InsertText, input.InsertTextParams{Text: text})
	b.until(css+" holds what was typed", fmt.Sprintf(`document.activeElement.value === %s`, quoted(text)))
}

// picked chooses an option of a select element with the arrow keys.
func (b *tab) picked(css, word string) {
	b.t.Helper()
	b.tabTo(css)
	b.press(kb.Home)
	for range 50 {
		if strings.Contains(eval[string](b, `document.activeElement.selectedOptions[0].text`), word) {
			return
		}
		b.press(kb.ArrowDown)
	}
	b.fail(css + " does not offer " + word)
}
