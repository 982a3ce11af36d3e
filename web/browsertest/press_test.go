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

// pressable defines the first shown element of a selector, and a function that reports whether a
// click on another element reaches it.
const pressable = `
  const shown = [...document.querySelectorAll(%s)].find((e) => e.checkVisibility() && e.getClientRects().length);
  const label = shown?.closest("label");
  const reaches = (on) => on && (shown.contains(on) || on.contains(shown) || label && on.closest("label") === label);`

// reached returns the center of an element when a click would reach it. The element must be in view
// and uncovered, and nothing may be loading or swapping, because a swap can move the element.
// Otherwise it returns null.
const reached = `(async () => {` + pressable + `
  if (!shown || document.readyState !== "complete" || !(` + still + `)) return null;
  shown.scrollIntoView({block: "center", inline: "center"});
  const r = shown.getClientRects()[0], x = r.left + r.width / 2, y = r.top + r.height / 2;
  return reaches(document.elementFromPoint(x, y)) ? [x, y] : null;
})()`

// pressing is true while the mouse button is down on the element. It also works when scripts are
// disabled.
const pressing = `(() => {` + pressable + `
  return !!shown && !!reaches([...document.querySelectorAll(":active")].at(-1));
})()`

// awaitClick records whether the next click reaches the element. It requires scripts.
const awaitClick = `(() => {` + pressable + `
  window.kairosClick = "lost";
  const come = (e) => { window.kairosClick = shown && reaches(e.target) ? "" : "elsewhere"; };
  addEventListener("click", come, {capture: true, once: true});
  return true;
})()`

// click taps an element and counts the click.
func (b *tab) click(css string) {
	b.t.Helper()
	b.clicks++
	b.tap(css)
}

// tap clicks an element. It tries again if the click is lost, because the browser can drop a press
// during layout, and an element can move just before the press.
func (b *tab) tap(css string) {
	b.t.Helper()
	if b.keys {
		b.enter(css)
		return
	}
	deadline := time.Now().Add(waitTimeout)
	var last [2]float64
	for time.Now().Before(deadline) {
		at, err := ask[[]float64](b, fmt.Sprintf(reached, quoted(css)))
		if err != nil || len(at) != 2 {
			last = [2]float64{}
			continue
		}
		if now := [2]float64{at[0], at[1]}; now != last { // its position is stable
			last = now
			continue
		}
		if b.pressed(css, at[0], at[1]) {
			return
		}
	}
	b.fail(css + " cannot be clicked")
}

// pressed clicks at a position and reports whether the click reached the element. If the press
// missed, it releases the button elsewhere, so that nothing is clicked.
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
	// The new page after a navigation has no outcome.
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

// follow clicks a link and waits until the new page shows an element. A click during layout can be
// lost, so follow clicks again.
func (b *tab) follow(css, then string) {
	b.t.Helper()
	b.clicks++
	b.leave(func() { b.tap(css) }, css, then)
}

// reach clicks until an element is shown: on this page, in a dialog, or on another page if scripts
// are disabled.
func (b *tab) reach(css, then string) {
	b.t.Helper()
	b.clicks++
	for range 4 {
		b.tap(css)
		if b.waitFor(waitTimeout/4, loaded+" && "+there(then)) == nil {
			return
		}
		b.t.Logf("a click on %s shows no %s", css, then)
		if !eval[bool](b, there(css)) {
			break
		}
	}
	b.until(css+" leads to "+then, loaded+" && "+there(then))
}

// leave performs an action that leads to another page or address. It marks the old page, to detect
// when it was left, even if the browser restores it unchanged.
func (b *tab) leave(do func(), what, then string) {
	b.t.Helper()
	for range 4 {
		b.left++
		from := eval[string](b, fmt.Sprintf(`window.kairosLeft = %d, location.href`, b.left))
		left := fmt.Sprintf(`(window.kairosLeft !== %d || location.href !== %s)`, b.left, quoted(from))
		do()
		if b.waitFor(waitTimeout/4, left) == nil {
			b.until(
				what+" leads to "+then,
				fmt.Sprintf(`%s && %s && !document.querySelector(".htmx-request") && %s`, loaded, left, there(then)),
			)
			return
		}
		b.t.Logf("%s had no effect", what)
	}
	b.fail(what + " leads nowhere")
}

// fill replaces the text of a field.
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

// filter types into the filter of the list. With scripts, the list is filtered during typing.
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

// press sends each key separately. A page that handles a key as a shortcut prevents its input.
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
