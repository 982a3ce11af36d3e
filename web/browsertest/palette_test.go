package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// The jump box opens the preview of an action by keyboard, sends one request per pause in typing,
// and returns the focus.
func TestTheJumpBoxOpensThePreviewOfAnAction(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.open("/plans")
	key := func(kind input.DispatchKeyEventType) {
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: "k", Modifiers: 2 /* Ctrl */})
	}
	key(input.DispatchKeyEventTypeKeyDown)
	key(input.DispatchKeyEventTypeKeyUp)
	b.until("Ctrl-K goes to the jump box, which shows the newest runs", there(`#jump-list li[data-href^="/runs/"]`))
	option := `#jump-list li[data-href="/runs/` + s.Failed.ID + `/resume"]`
	const asked = `performance.getEntriesByType("resource").filter((e) => e.name.includes("/find/suggest")).length`
	before := eval[int](b, asked)
	eval[bool](b, `(() => { const f = document.querySelector(".search");
		for (const c of "resume ledg") { f.value += c; f.dispatchEvent(new Event("input", {bubbles: true})); }
		return true; })()`)
	b.until("the action is suggested", there(option)+` && document.querySelectorAll("#jump-list li").length === 1`)
	if n := eval[int](b, asked) - before; n != 1 {
		t.Errorf("%d requests for what was typed without a pause", n)
	}
	b.press(kb.ArrowDown)
	b.until("the option is marked", `document.querySelector(".search").getAttribute("aria-activedescendant") === document.querySelector('`+option+`').id`)
	b.press(kb.Enter)
	b.until("the preview opens over the page", there("dialog[open] #preview")+` && location.pathname === "/plans"`)
	b.press(kb.Escape)
	b.until("it closes", `!document.querySelector("dialog[open]")`)
	b.quiet("the jump box")
}
