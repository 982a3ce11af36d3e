package browsertest

import (
	"fmt"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// still is true while htmx neither loads nor swaps anything.
const still = `!document.querySelector(".htmx-request, .htmx-added, .htmx-swapping, .htmx-settling")`

// pressable are JavaScript functions: the element that a selector shows first, and
// whether a press on another element reaches it.
const pressable = `
  const shown = [...document.querySelectorAll(%s)].find((e) => e.checkVisibility() && e.getClientRects().length);
  const label = shown?.closest("label");
  const reaches = (on) => on && (shown.contains(on) || on.contains(shown) || label && on.closest("label") === label);`

// reached gives the middle of an element once it is where a click would reach it:
// in view, still, and not covered by anything, while nothing is being swapped: a swap
// may move the element between the measurement and the click. Without an answer it is
// none of these yet.
const reached = `(async () => {` + pressable + `
  if (!shown || document.readyState !== "complete" || !(` + still + `)) return null;
  shown.scrollIntoView({block: "center", inline: "center"});
  const r = shown.getClientRects()[0], x = r.left + r.width / 2, y = r.top + r.height / 2;
  return reaches(document.elementFromPoint(x, y)) ? [x, y] : null;
})()`

// pressing is true while the mouse button is down on the element. It works without
// the page's scripts, too.
const pressing = `(() => {` + pressable + `
  return !!shown && !!reaches([...document.querySelectorAll(":active")].at(-1));
})()`

// awaitClick notes whether the next click comes to the element, where scripts run.
const awaitClick = `(() => {` + pressable + `
  window.kairosClick = "lost";
  const come = (e) => { window.kairosClick = shown && reaches(e.target) ? "" : "elsewhere"; };
  addEventListener("click", come, {capture: true, once: true});
  return true;
})()`

// click is a tap that is counted.
func (b *tab) click(css string) {
	b.t.Helper()
	b.clicks++
	b.tap(css)
}

// tap presses the mouse on an element. The browser can drop a press while it lays out
// the page, and an element can move just before. Then click presses again, as a person
// would.
func (b *tab) tap(css string) {
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
		if b.pressed(css, at[0], at[1]) {
			return
		}
	}
	b.fail(css + " cannot be clicked")
}

// pressed clicks at a position, and reports whether that reached the element. If the
// press did not, the button is released elsewhere, which clicks nothing.
func (b *tab) pressed(css string, x, y float64) bool {
	b.t.Helper()
	if _, err := ask[bool](b, fmt.Sprintf(awaitClick, quoted(css))); err != nil {
		return false
	}
	b.mouse(input.DispatchMouseEventTypeMousePressed, x, y)
	if down, err := ask[bool](b, fmt.Sprintf(pressing, quoted(css))); err != nil || !down {
		b.mouse(input.DispatchMouseEventTypeMouseReleased, 0, 0)
		b.t.Logf("a press on %s was lost", css)
		return false
	}
	b.mouse(input.DispatchMouseEventTypeMouseReleased, x, y)
	if b.plain {
		return true
	}
	// A page that the click led to has no outcome.
	outcome, err := ask[string](b, `window.kairosClick || ""`)
	if err == nil && outcome != "" {
		b.t.Logf("a click on %s was %s", css, outcome)
	}
	return err != nil || outcome == ""
}

// mouse presses or releases the left button at a position.
func (b *tab) mouse(kind input.DispatchMouseEventType, x, y float64) {
	b.t.Helper()
	p := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1}
	call(b, input.DispatchMouseEvent, p)
}

// follow clicks what leads to another page, and waits until that page shows what
// it should. A click that comes while a page is still being laid out can be lost,
// as a person's is; a person clicks again.
func (b *tab) follow(css, then string) {
	b.t.Helper()
	b.clicks++
	b.leave(func() { b.tap(css) }, css, then)
}

// reach clicks until something is shown that was not: on this page, over it, or
// on another one, as scripts or their absence have it.
func (b *tab) reach(css, then string) {
	b.t.Helper()
	b.clicks++
	for range 4 {
		b.tap(css)
		if b.soon(patience/4, loaded+" && "+there(then)) == nil {
			return
		}
		b.t.Logf("a click on %s shows no %s", css, then)
		if !eval[bool](b, there(css)) {
			break
		}
	}
	b.until(css+" leads to "+then, loaded+" && "+there(then))
}

// leave performs an action that leads to another page, or to another view of this one with an address of its
// own. The old page is marked, so that the new one can be distinguished from it, also if it is restored
// unchanged.
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
		b.t.Logf("%s led nowhere", what)
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
	b.tap(css)
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
		down := input.DispatchKeyEventParams{
			Type:           input.DispatchKeyEventTypeKeyDown,
			Key:            string(k),
			Text:           string(k),
			UnmodifiedText: string(k),
		}
		switch {
		case string(k) == kb.Enter:
			down.Key, down.Code, down.WindowsVirtualKeyCode = "Enter", "Enter", 13
		case k <= ' ' || k > '~':
			b.do(chromedp.KeyEvent(string(k)))
			continue
		}
		call(b, input.DispatchKeyEvent, down)
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: down.Key, Code: down.Code,
			WindowsVirtualKeyCode: down.WindowsVirtualKeyCode})
	}
}
