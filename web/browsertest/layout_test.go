package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// fits lists layout problems of a page: horizontal scrolling, text that exceeds its button, chip,
// cell, or heading, text that is cut off without an ellipsis, overlapping elements, and covered
// buttons of a bar of actions.
const fits = `(() => {
  const out = [], root = document.documentElement, seen = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length && !e.closest(".sr, .spr, dialog:not([open])") && getComputedStyle(e.closest("thead") || e).clipPath === "none";
  const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (typeof e.className === "string" && e.className ? "." + e.className.trim().replace(/ +/g, ".") : "") + " " + JSON.stringify((e.textContent || "").trim().slice(0, 40));
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll("body *")].filter((e) => seen(e) && e.getBoundingClientRect().right > root.clientWidth + 1 && ![...function* () { for (let p = e.parentElement; p; p = p.parentElement) yield p; }()].some((p) => p !== document.body && getComputedStyle(p).overflowX !== "visible"));
    const at = document.createRange(); // or a text that is wider than what holds it
    if (!wide.length) wide.push(...[...document.querySelectorAll("body *")].filter((e) => { at.selectNodeContents(e); return seen(e) && !e.children.length && at.getBoundingClientRect().right > root.clientWidth + 1; }));
    out.push("scrolls sideways by " + (root.scrollWidth - root.clientWidth) + " px: " + wide.slice(0, 3).map(name).join(", "));
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let n; (n = walker.nextNode());) {
    if (!n.data.trim() || !seen(n.parentElement)) continue;
    const box = n.parentElement.closest("button, .btn, .chip, .opt, summary, legend, label, th, td, " +
"dt, dd, .tabs a, .nav a, h1, h2, .note, .st");
    if (!box || n.parentElement.closest("svg, pre, select, textarea, .json")) continue;
    range.selectNodeContents(n);
    const r = range.getBoundingClientRect(), b = box.getBoundingClientRect();
    let cut = false; // inside something that scrolls or cuts with an ellipsis, it may be longer
    for (let p = n.parentElement; p && p !== box.parentElement; p = p.parentElement) { const s = getComputedStyle(p); if (s.overflowX === "auto" || s.overflowX === "scroll" || s.textOverflow === "ellipsis") cut = true; }
    if (!cut && (r.right > b.right + 1.5 || r.left < b.left - 1.5)) out.push("text sticks out of " + name(box) + " by " + Math.round(Math.max(r.right - b.right, b.left - r.left)) + " px");
    if (!cut && box.matches("button, .btn, .chip, .opt, .tabs a, .nav a") && (r.bottom > b.bottom + 2 || r.top < b.top - 2)) out.push("text is higher than " + name(box));
  }
  for (const e of document.querySelectorAll("body *")) {
    const s = getComputedStyle(e);
    if (seen(e) && !e.closest("[inert]") && (s.overflowX === "hidden" || s.overflowX === "clip") && s.textOverflow !== "ellipsis" && e.scrollWidth > e.clientWidth + 2 && e.clientWidth > 2 && !(e instanceof SVGElement)) out.push("cut off: " + name(e));
  }
  for (const e of document.querySelectorAll(".row.bar .btn")) {
    if (!seen(e) || document.querySelector("dialog:modal")) continue;
    e.scrollIntoView({block: "nearest", behavior: "instant"});
    const r = e.getBoundingClientRect(), on = document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
    if (!e.contains(on)) out.push(name(e) + " is covered by " + (on ? name(on) : "nothing"));
  }
  scrollTo({top: 0, behavior: "instant"});
  for (const row of document.querySelectorAll(".top, .top .right, .hd, .act, .filters, .row, .facts, " +
".tabs, .more > .row, footer, .attempts")) {
    const kids = [...row.children].filter(seen).map((e) => [e, e.getBoundingClientRect()]);
    for (let i = 0; i < kids.length; i++) for (let j = i + 1; j < kids.length; j++) {
      const [a, x] = kids[i], [b, y] = kids[j];
      if (Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1.5 && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 1.5 && getComputedStyle(a).position !== "absolute" && getComputedStyle(b).position !== "absolute") out.push(name(a) + " lies over " + name(b));
    }
  }
  return [...new Set(out)].slice(0, 12);
})()`

// window is a configuration in which space is scarce.
type window struct {
	name  string
	width int64
	lang  string
	font  int64 // browser's font size in pixels, or 0 for 16
}

// Nothing is cut off, exceeds its container, or overlaps. The windows are 320 px wide (also a
// desktop at 400% zoom), or have texts 40% longer than English, or text at 200%.
func TestEverythingFits(t *testing.T) {
	d := newDaemon(t)
	paths := d.furnished().Paths()
	windows := []window{
		{"320 px", 320, "en", 0},
		{"320 px in Spanish", 320, "es", 0},
		{"longer texts", 1440, "en-XA", 0},
		{"longer texts on a tablet", 820, "en-XA", 0},
		{"longer texts on a phone", 390, "en-XA", 0},
		{"text at 200%", 1440, "en", 32},
		{"zoom of 200%", 720, "en", 0},
	}
	for n, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			b := d.tabOf(t)
			b.width(w.width)
			b.cookie("lang", w.lang)
			if w.font != 0 {
				sizes := page.FontSizes{Standard: w.font, Fixed: w.font * 13 / 16}
				call(b, page.SetFontSizes, page.SetFontSizesParams{FontSizes: &sizes})
			}
			for i, path := range paths {
				if !everything() && i%(2*len(windows)) != n {
					continue
				}
				b.open(path)
				b.until(
					"the fonts are there",
					`document.fonts.status === "loaded" && [...document.fonts].some((f) => f.status === "loaded")`,
				)
				where := fmt.Sprintf("%s, %s", path, w.name)
				for _, problem := range eval[[]string](b, fits) {
					t.Errorf("%s: %s", where, problem)
				}
				b.keep(fmt.Sprintf("fits-%d-%02d", n, i))
			}
		})
	}
}

// Between breakpoints, pages do not scroll horizontally, and no table overlaps the inspector next
// to it.
func TestNothingIsTooWideBetweenBreakpoints(t *testing.T) {
	d := newDaemon(t)
	s := d.furnished()
	lists, widths := []string{"/audit"}, []int64{721, 760, 1099}
	if everything() {
		lists, widths = []string{
			"/",
			"/runs",
			"/plans",
			"/plans?state=draft",
			"/approvals",
			"/handoffs",
			"/steps",
			"/agents",
			"/agents/tools",
			"/agents/providers",
			"/audit",
			"/system",
			"/settings/users",
		}, nil
		for w := int64(600); w <= 1280; w += 20 {
			widths = append(widths, w)
		}
		widths = append(widths, 720, 721, 1099, 1181)
	}
	chosen := slices.IndexFunc(s.Paths(), func(path string) bool { return strings.Contains(path, "&handoff=") })
	if chosen < 0 {
		t.Fatal("no page has a selected handoff")
	}
	b := d.tab()
	for _, lang := range []string{"en", "es"} {
		b.cookie("lang", lang)
		for _, path := range lists {
			b.open(path)
			b.until("the fonts are there", `document.fonts.status === "loaded"`)
			for _, w := range widths {
				b.width(w)
				if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s at %d px in %s scrolls sideways by %d px", path, w, lang, over)
				}
			}
		}
		b.width(1440)
		b.open(s.Paths()[chosen])
		b.until("the fonts are there", `document.fonts.status === "loaded"`)
		for _, w := range []int64{1100, 1280, 1440} {
			b.width(w)
			if over := eval[float64](b, `(() => { const column = document.querySelector(".split").firstElementChild.getBoundingClientRect().right;
				return Math.max(...[...document.querySelectorAll(".split table")].map((e) => e.getBoundingClientRect().right)) - column; })()`); over > 1 {
				t.Errorf("the handoffs at %d px in %s lie under the inspector by %.0f px", w, lang, over)
			}
			b.keep(fmt.Sprintf("handoffs-%s-%d", lang, w))
		}
		// On a phone, the background of the selected row is continuous.
		b.width(390)
		if bare := eval[bool](b, `(() => { const row = document.querySelector("table.list tr.sel"); const of = (e) => getComputedStyle(e).backgroundColor, none = "rgba(0, 0, 0, 0)";
			return of(row) === none || [...row.children].some((e) => ![none, of(row)].includes(of(e))); })()`); bare {
			t.Errorf("the selected handoff is not highlighted completely")
		}
		b.keep("handoffs-" + lang + "-390")
	}
}

// The check finds layout problems.
func TestFitsSeesWhatDoesNotFit(t *testing.T) {
	large(t)
	d := newDaemon(t)
	d.seed()
	b := d.tab()
	b.open("/runs")
	eval[bool](b, `(() => { const e = document.querySelector(".btn"); e.style.cssText = "width:20px;padding:0;white-space:nowrap";
	  const h = document.querySelector("h1"); h.style.cssText = "width:3000px"; return true; })()`)
	got := strings.Join(eval[[]string](b, fits), "\n")
	for _, want := range []string{"scrolls sideways", "sticks out"} {
		if !strings.Contains(got, want) {
			t.Errorf("the test does not detect that something %s:\n%s", want, got)
		}
	}
}

// media sets the media type and the media features of the browser.
func (b *tab) media(medium string, features map[string]string) {
	b.t.Helper()
	p := emulation.SetEmulatedMediaParams{Media: medium}
	for name, value := range features {
		p.Features = append(p.Features, &emulation.MediaFeature{Name: name, Value: value})
	}
	call(b, emulation.SetEmulatedMedia, p)
}

// Reduced motion disables animations. Otherwise the page animates active runs.
func TestReducedMotion(t *testing.T) {
	large(t)
	d := newDaemon(t)
	run, open := d.busy(1)
	defer open()
	b := d.tab()
	const moving = `document.getAnimations().filter((a) => a.playState === "running").map((a) => (a.animationName || a.transitionProperty || "") + " on " + a.effect.target.outerHTML.slice(0, 80))`
	for _, path := range []string{"/", "/runs", "/runs/" + run.ID, "/runs/" + run.ID + "?view=graph"} {
		b.media("", map[string]string{"prefers-reduced-motion": "reduce"})
		b.open(path)
		for _, m := range eval[[]string](b, moving) {
			t.Errorf("%s moves: %s", path, m)
		}
		if s := eval[string](b, `getComputedStyle(document.documentElement).scrollBehavior`); s != "auto" {
			t.Errorf("%s scrolls %sly", path, s)
		}
	}
	b.media("", map[string]string{"prefers-reduced-motion": "no-preference"})
	b.open("/runs/" + run.ID)
	if len(eval[[]string](b, moving)) == 0 {
		t.Error("nothing is animated without reduced motion: this test cannot fail")
	}
}

// With forced colors, nothing depends on color alone. Bars of failed and completed steps have
// different strokes, buttons have borders, and the focus and the selected row are visible.
func TestForcedColors(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.media("", map[string]string{"forced-colors": "active"})
	b.open("/runs/" + s.Failed.ID)
	if !eval[bool](b, `matchMedia("(forced-colors: active)").matches`) {
		t.Fatal("the browser does not force colours")
	}
	look := func(css string) string {
		t.Helper()
		if !eval[bool](b, `!!document.querySelector(`+quoted(css)+`)`) {
			b.fail("there is no " + css)
		}
		return eval[string](
			b,
			`(() => { const s = getComputedStyle(document.querySelector(`+quoted(
				css,
			)+`)); return [s.fill, s.stroke, s.strokeWidth, s.strokeDasharray].join(" "); })()`,
		)
	}
	if bad, good := look("svg rect.g-fail"), look("svg rect.g-ok"); bad == good {
		t.Errorf("bars of failed and completed steps look the same: %s", bad)
	}
	for _, css := range []string{".btn", ".failure", ".tabs a[aria-current]"} {
		if edge := eval[string](b, `(() => { const s = getComputedStyle(document.querySelector(`+quoted(css)+
			`)); return [s.borderTopWidth, s.borderBottomWidth, s.borderLeftWidth, s.outlineWidth].map(parseFloat).some((w) => w > 0) ? "" : s.cssText || "none"; })()`); edge != "" {
			t.Errorf("%s has no edge", css)
		}
	}
	b.press("\t")
	if w := eval[float64](b, `parseFloat(getComputedStyle(document.activeElement).outlineWidth)`); w < 2 {
		t.Errorf("the focus is outlined by %g px", w)
	}
	// Every status has a text.
	b.open("/runs")
	if bare := eval[[]string](b, `[...document.querySelectorAll(".st")].filter((e) => !e.textContent.trim()).map((e) => e.outerHTML)`); len(
		bare,
	) > 0 {
		t.Errorf("statuses without a text: %v", bare)
	}
}

// Printed pages have no bars or buttons, nothing is cut off, and links show their address.
func TestPrint(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.media("print", nil)
	b.open("/runs/" + s.Failed.ID)
	for _, css := range []string{".top", ".act", "#inspector .attempts", "#inspector button"} {
		if eval[bool](b, there(css)) {
			t.Errorf("%s is printed", css)
		}
	}
	if !eval[bool](b, there("#inspector")) {
		t.Error("the inspector is not printed")
	}
	if cut := eval[[]string](b, `[...document.querySelectorAll("main pre, main .json, main .dag, main .src")].filter((e) => e.scrollHeight > e.clientHeight + 2 || e.scrollWidth > e.clientWidth + 2).map((e) => e.outerHTML.slice(0, 90))`); len(
		cut,
	) > 0 {
		t.Errorf("clipped in print: %v", cut)
	}
	if address := eval[string](b, `getComputedStyle(document.querySelector("main a.go"), "::after").content`); !strings.HasPrefix(address, `" (/runs`) {
		t.Errorf("a printed link has the address %s", address)
	}
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil || len(pdf) < 1000 {
		t.Errorf("the page cannot be printed: %d bytes, %v", len(pdf), err)
	}
}
