package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/kairosd/kairosd/web/webtest"
)

// interaction is a change that scripts make to a page.
type interaction struct {
	what, path string
	do         func(b *tab, s webtest.Seeded)
}

// shows returns a function that clicks an element and waits until another one is shown.
func shows(css, then string) func(*tab, webtest.Seeded) {
	return func(b *tab, _ webtest.Seeded) { b.reach(css, then) }
}

// interactions returns all kinds of changes that scripts make: replaced fragments, dialogs,
// suggestions, expanded rows, and disclosures.
func interactions(s webtest.Seeded) []interaction {
	failed, waiting, completed := "/runs/"+s.Failed.ID, "/runs/"+s.Waiting.ID, "/runs/"+s.Completed.ID
	out := []interaction{
		{"suggestions for a filter", "/runs", func(b *tab, _ webtest.Seeded) {
			b.click("#q")
			b.press("sta")
			b.until("there are suggestions", there(".suggest li"))
			b.press(kb.ArrowDown)
			b.until("one is marked", there(`.suggest li[aria-selected="true"]`))
		}},
		{"suggestions of the jump box", "/", func(b *tab, _ webtest.Seeded) {
			if !eval[bool](b, there(".search")) {
				return // on a phone, it is a page
			}
			b.click(".search")
			b.press("resume")
			b.until("there are suggestions", there(`#jump-list li[data-href$="/resume"]`))
			b.press(kb.ArrowDown)
			b.until("one is marked", there(`#jump-list li[aria-selected="true"]`))
		}},
		{"a peek", "/runs", shows("#list .pk a", "tr.peek")},
		{"the columns of the list", "/runs", shows(".menu3 summary", ".menu3 form")},
		{"chosen rows", "/runs", func(b *tab, _ webtest.Seeded) {
			b.picking()
			b.click("#list input[name=run]")
			b.until("the row is chosen", `document.querySelector("#selected").textContent === "1"`)
		}},
		{"an act on chosen rows", "/runs", func(b *tab, _ webtest.Seeded) {
			b.picking()
			b.click(fmt.Sprintf(`input[name=run][value="%s"]`, s.Failed.ID))
			b.reach(`#bulk button[value="resume"]`, "dialog[open] h1")
		}},
		{"an edited plan with problems", "/plans/ledger/edit", func(b *tab, _ webtest.Seeded) {
			b.fill(`textarea[name="source"]`, "id: ledger\nnodes:\n  check: {type: nonsense}\n")
			b.until("the problems are shown", there("#problems li"))
		}},
		{"an edited state", completed + "/fork?at=1", func(b *tab, _ webtest.Seeded) {
			b.unfold(`textarea[name="edit.list"]`)
			b.fill(`textarea[name="edit.list"]`, `{"items": [5`)
			b.until(
				"the state is called wrong",
				there(`textarea[aria-invalid="true"], #check .bad, #check .problems, #check [role="alert"]`),
			)
		}},
		{"an edited rerun that is refused", failed, func(b *tab, _ webtest.Seeded) {
			b.reach(`main a[href="`+failed+`/rerun"]`, "dialog[open] textarea[name=input]")
			b.fill("dialog textarea[name=input]", "{")
			b.reach(`dialog button[value="act"]`, "dialog[open] .note.bad")
		}},
		{"the display's choices", "/", shows("footer details.display summary", `button[name="theme"]`)},
		{"a failure to acknowledge", "/", shows("main a[href^='/failures/ack']", "dialog[open] h1")},
		{"a copied ID", failed, func(b *tab, _ webtest.Seeded) {
			b.click("#head [data-copy]")
			b.until("it says so", `document.querySelector("#say").textContent !== ""`)
		}},
		{"another step", failed, func(b *tab, _ webtest.Seeded) {
			b.click(`.timeline tbody tr:first-child a.go`)
			b.until("the step is shown", `/step=1/.test(location.search) && document.querySelector("#inspector").dataset.step === "1"`)
		}},
		{"a run that ended meanwhile", waiting, func(b *tab, _ webtest.Seeded) {
			b.live()
			b.until("it is there", there("#view"))
		}},
	}
	return out
}

// unfold opens the disclosures around an element, from the outside in.
func (b *tab) unfold(css string) {
	b.t.Helper()
	for closed := "details:not([open]):has(" + css + ")"; eval[bool](b, there(closed)); {
		b.click(closed + " > summary")
	}
}

// picking makes the rows of the list selectable, where that requires a click.
func (b *tab) picking() {
	b.t.Helper()
	if eval[bool](b, there("#picking")) {
		b.click("#picking")
		b.until("rows can be chosen", there("#list input[name=run]"))
	}
}

// Pages stay accessible after each interaction, in light on a desktop and in dark on a phone.
func TestInteractionsStayAccessible(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	for _, l := range []look{{"light", 1440, "en"}, {"dark", 390, "es"}} {
		b.width(l.width)
		b.cookie("theme", l.theme)
		b.cookie("lang", l.lang)
		for n, i := range interactions(s) {
			b.open(i.path)
			i.do(b, s)
			where := fmt.Sprintf("%s: %s (%s, %d px)", i.path, i.what, l.theme, l.width)
			b.accessible(where)
			for _, f := range eval[[]string](b, fits) {
				t.Errorf("%s: %s", where, f)
			}
			b.quiet(where)
			b.keep(fmt.Sprintf("act-%d-%02d", l.width, n))
		}
	}
}

// The preview of each action opens in a dialog, gets the focus, is accessible, and returns the
// focus. All disclosures can be open at once.
func TestDialogsAndDisclosures(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	seen := map[string]bool{}
	for _, path := range s.Paths() {
		b.open(path)
		opened := eval[int](
			b,
			`(() => { let n = 0; for (const d of document.querySelectorAll("details:not(.own)")) if (!d.open) { d.open = true; n++; } return n; })()`,
		)
		where := path + " with everything open"
		if kind := shape(path) + fmt.Sprint(opened); opened > 1 && !seen[kind] {
			seen[kind] = true
			b.accessible(where)
			b.quiet(where)
		}
		for _, href := range eval[[]string](b, `[...document.querySelectorAll("main a[hx-target='#dialog']")].filter((a) => a.checkVisibility()).map((a) => a.getAttribute("href"))`) {
			act, _, _ := strings.Cut(href, "?")
			if act = act[strings.LastIndexByte(act, '/')+1:]; seen["dialog "+act] {
				continue
			}
			seen["dialog "+act] = true
			where := path + ", the preview " + href
			css := "main a[hx-target='#dialog'][href=" + quoted(href) + "]"
			b.open(path)
			b.reach(css, "dialog[open] h1")
			b.accessible(where)
			if at := eval[string](b, `document.activeElement.id`); at != "dialog-h" {
				t.Errorf("%s: the focus is at %q", where, at)
			}
			b.keep("dialog-" + act)
			b.press(kb.Escape)
			b.until("Escape closes the dialog", `!document.querySelector("dialog[open]")`)
			if back := eval[string](b, `document.activeElement.getAttribute("href") || ""`); back != href {
				t.Errorf("%s: after Escape the focus is at %q", where, back)
			}
			b.quiet(where)
		}
	}
	// The user menu covers the page like a dialog, so it is tested on a page where nothing below it
	// is clicked.
	for _, width := range []int64{1440, 390} {
		b.width(width)
		b.open("/help")
		b.click("details.own summary")
		b.accessible(fmt.Sprintf("one's own menu, %d px wide", width))
		b.keep(fmt.Sprintf("own-menu-%d", width))
		b.quiet("one's own menu")
	}
	if len(seen) < 10 {
		t.Errorf("only %d dialogs and pages with disclosures were found", len(seen))
	}
}

// On a phone, targets are at least 44 pixels high. Elsewhere they are at least 24 by 24 pixels,
// except links within text, which axe-core checks.
func TestTargets(t *testing.T) {
	large(t)
	d := newDaemon(t)
	paths := d.furnished().Paths()
	b := d.tab()
	const tooSmall = `((least, css) => [...document.querySelectorAll(css)].filter((e) => e.checkVisibility() && e.getClientRects().length && !e.closest(".sr, dialog:not([open])")).map((e) => [e, e.getBoundingClientRect()])
	  .filter(([, r]) => r.height < least - .5 || r.width < Math.min(least, 24) - .5).map(([e, r]) => Math.round(r.width) + " x " + Math.round(r.height) + " px: " + e.outerHTML.slice(0, 110)).slice(0, 5))`
	for _, c := range []struct {
		width, least int64
		css          string
	}{
		{1440, 24, `button, .btn, .chip, .opt, summary, select, textarea, input:not([type=hidden], [type=checkbox], [type=radio], [type=range]), label:has(> input[type=checkbox]), .tabs a, .nav a, .top a, .ranges a, td:first-child > a.go`},
		{390, 44, `main .btn, main .chip, main select, main textarea, main input:not([type=hidden], [type=checkbox], [type=radio], [type=range]), nav.tabs a`},
		{390, 24, `button, summary, label:has(> input[type=checkbox]), td:first-child > a.go`},
	} {
		b.width(c.width)
		for _, path := range paths {
			b.open(path)
			for _, s := range eval[[]string](b, fmt.Sprintf("%s(%d, %s)", tooSmall, c.least, quoted(c.css))) {
				t.Errorf("%s at %d px: less than %d px: %s", path, c.width, c.least, s)
			}
		}
	}
}

// The checks find one deliberate fault of each kind.
func TestTheHarnessSeesFaults(t *testing.T) {
	large(t)
	d := newDaemon(t)
	d.seed()
	b := d.tab()
	b.open("/runs")
	eval[bool](
		b,
		`(() => { const m = document.querySelector("main"), img = document.createElement("img"), bad = document.createElement("button");
	  img.src = "/static/none.png"; m.append(img); bad.style.cssText = "color:#999;background:#aaa"; bad.textContent = "unreadable"; m.append(bad);
	  const s = document.createElement("script"); s.textContent = "window.pwned = 1"; m.append(s); console.error("on purpose"); return true; })()`,
	)
	eval[bool](b, axe+"; true")
	found := eval[string](b, audited)
	for _, want := range []string{"image-alt", "color-contrast"} {
		if !strings.Contains(found, want) {
			t.Errorf("axe-core does not report %s: %s", want, found)
		}
	}
	b.until("the policy complains", `kairosProblems.some((p) => p.startsWith("csp:"))`)
	if eval[bool](b, `!!window.pwned`) {
		t.Error("an inline script ran")
	}
	b.mu.Lock()
	said := strings.Join(b.problems, "\n")
	b.problems = nil
	b.mu.Unlock()
	if !strings.Contains(said, "Content Security Policy") {
		t.Errorf("console errors are not recorded: %q", said)
	}
	b.open("/runs")
	eval[bool](
		b,
		`(() => { const s = document.createElement("div"); s.style.cssText = "position:fixed;inset:0;z-index:99;background:#fff"; document.body.append(s); document.querySelector("#q").focus(); return true; })()`,
	)
	if problem := eval[string](b, focusSeen); !strings.Contains(problem, "covered") {
		t.Errorf("a covered focus is not detected: %q", problem)
	}
}
