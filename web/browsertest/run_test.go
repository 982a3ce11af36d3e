package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// On the page of a run, steps, attempts, tabs, and views are swapped at their own addresses. The
// page does not reload or jump, and Back returns to each of them.
func TestARunIsExploredWithoutReloads(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.do(chromedp.EmulateViewport(1440, 500))
	b.open("/runs/" + s.Failed.ID)
	eval[bool](b, `window.kairosSame = true, scrollTo(0, 120), true`)
	at := eval[float64](b, `scrollY`)
	eval[bool](b, `document.querySelector(".timeline tbody tr:first-child a.go").click(), true`)
	b.until("the inspector shows the step", `document.querySelector("#ih").innerText.includes("check")`)
	b.until("the row is marked", `document.querySelector(".timeline tbody tr:first-child").classList.contains("sel")`)
	if !eval[bool](b, `window.kairosSame === true && /step=1/.test(location.search)`) {
		t.Error("selecting a step reloads the page, or does not change the address")
	}
	if now := eval[float64](b, `scrollY`); now != at {
		t.Errorf("selecting a step scrolls from %g to %g", at, now)
	}
	b.click(`#inspector .tabs a:last-child`)
	b.until(
		"the tab is chosen",
		`/tab=definition/.test(location.search) && document.querySelector("#inspector .tabs a[aria-current]").innerText.includes("Definition")`,
	)
	b.click(`#tabs a:nth-child(3)`)
	b.until("the state is shown", `/view=state/.test(location.search) && `+there("#state .checkpoints"))
	b.until("the tab is marked", still+` && document.querySelector("#tabs [aria-current]").innerText.startsWith("State")`)
	if !eval[bool](b, `window.kairosSame === true`) {
		t.Error("switching the view reloads the page")
	}
	b.accessible("the state, swapped")
	b.press(",")
	b.until(", goes to the checkpoint before", `document.querySelector("#sth").innerText.includes("cp 0")`)
	b.until("the page has settled", still)
	eval[bool](
		b,
		`(() => { const r = document.querySelector("input[type=range]"); r.value = r.max; r.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`,
	)
	b.until(
		"the slider goes to the last checkpoint",
		fmt.Sprintf(`!document.querySelector("#sth").innerText.includes("cp 0") && /cp=%s/.test(location.search)`, "[1-9]"),
	)
	b.quiet("exploring a run")
}

// A late response does not replace a view that was chosen after its request. The browser handles a
// click with Ctrl.
func TestTheNewestChoiceWins(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	const (
		click = `document.querySelector('#tabs a[href*="view=%s"]').click();`
		hint  = `document.body.dispatchEvent(new CustomEvent("k:" + document.querySelector("#view").dataset.live));`
	)
	for _, before := range []string{hint, fmt.Sprintf(click, "log"), hint + fmt.Sprintf(click, "log") + hint} {
		b.open("/runs/" + s.Waiting.ID)
		eval[bool](b, before+fmt.Sprintf(click, "events")+hint+`true`)
		b.until(
			"the events are shown after "+before,
			still+` && /view=events/.test(location.search) && document.querySelector("#view table.list") !== null`,
		)
		if at := eval[string](b, `document.querySelector("#tabs [aria-current]").innerText`); !strings.HasPrefix(at, "Events") {
			t.Errorf("after %s, the current tab is %q", before, at)
		}
	}
	const ctrl = `document.querySelector('#tabs a[href*="view=log"]').dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, ctrlKey: true}))`
	if !eval[bool](b, ctrl+` && !document.querySelector(".htmx-request") && /view=events/.test(location.search)`) {
		t.Error("a click with Ctrl swaps the view")
	}
	b.quiet("choosing views quickly")
}

// A run is paused and resumed with one click, and the chosen view remains, with and without
// scripts.
func TestAPauseComesBackToTheView(t *testing.T) {
	d := newDaemon(t)
	run := d.seed().Waiting
	b := d.tab()
	b.open("/runs/" + run.ID)
	b.click(`#tabs a[href*="view=events"]`)
	b.until(
		"the events are shown",
		`/view=events/.test(location.search) && document.querySelector("#tabs [aria-current]").innerText.startsWith("Events")`,
	)
	b.follow(`[form="once-pause"]`, "#done")
	b.until(
		"the events are shown again",
		`/view=events/.test(location.search) && document.querySelector("h1").innerText.startsWith("Paused")`,
	)
	b.quiet("a run that was paused")
	plain := d.tab().withoutScripts()
	plain.open("/runs/" + run.ID + "?view=io")
	plain.follow(`[form="once-unpause"]`, "#done")
	if at := eval[string](plain, `location.search`); at != "?view=io" {
		t.Errorf("without scripts, the link opens %q", at)
	}
}

// A log follows its end while a run is active. It stops when the user scrolls up, shows the number
// of new lines, and continues on request.
func TestALogIsFollowed(t *testing.T) {
	d := newDaemon(t)
	d.plan(`
id: chatty
nodes:
  list: {type: set, input: {n: [` + strings.TrimSuffix(strings.Repeat("1,", 150), ",") + `]}}
  talk: {type: log, needs: [list], foreach: "${output.list.n}", input: "a line of it"}
  ask: {type: approval, needs: [talk], input: {message: "More?"}}
  more: {type: log, needs: [ask], input: "the last line"}
`)
	r := d.run("chatty", "null")
	b := d.tab()
	b.open("/runs/" + r.ID + "?view=log").live()
	const end = `(() => { const l = document.querySelector("#log"); return l.scrollHeight - l.clientHeight - l.scrollTop; })()`
	b.until("the log begins at its end", end+" < 4")
	if eval[bool](b, there("#follow")) {
		t.Error("a log that is being followed offers to follow it")
	}
	eval[bool](
		b,
		`document.querySelector("#log").dispatchEvent(new WheelEvent("wheel", {deltaY: -100, bubbles: true})), document.querySelector("#log").scrollTop = 0, true`,
	)
	b.until("the log says that it is not followed", there("#follow"))
	d.decide(r.ID)
	b.until(
		"the log says how much is new",
		`/\(1 new\)/.test(document.querySelector("#follow").innerText) || !document.querySelector("#log[data-follow]")`,
	)
	if top := eval[float64](b, `document.querySelector("#log").scrollTop`); top > 4 {
		t.Errorf("the log scrolled to %g without user action", top)
	}
	b.click(`.log li:nth-child(2) a.ln`)
	b.until("a line is in the address", `/line=2/.test(location.search) && location.hash === "#L2"`)
	b.quiet("following a log")
}

// Rows out of view are rendered later, but screen readers find every step of a long timeline.
func TestAScreenReaderFindsEveryRow(t *testing.T) {
	d := newDaemon(t)
	d.plan(chain("chain-300", 300))
	run := d.run("chain-300", `null`)
	b := d.tab()
	b.open("/runs/" + run.ID)
	b.until("all rows are drawn", `"drawn" in document.documentElement.dataset`)
	cells, rows := 0, 0
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		switch string(n.Role.Value) {
		case `"row"`:
			rows++
		case `"cell"`:
			cells++
		}
	}
	if rows != 301 || cells != 300*3 {
		t.Errorf("screen readers see %d rows with %d cells", rows, cells)
	}
}

// The menu of a run opens on a click, stays open while the page is refreshed, and its links open
// dialogs.
func TestTheMenuOfARun(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.do(chromedp.EmulateViewport(1440, 700))
	b.open("/runs/" + s.Failed.ID)
	const open = `document.querySelector("#more").matches(":popover-open")`
	if eval[bool](b, open) {
		t.Error("the menu is open initially")
	}
	b.click(`[popovertarget=more]`)
	b.until("the menu is open", open)
	eval[bool](
		b,
		`(window.refreshed = false, document.body.addEventListener("htmx:afterSettle", () => window.refreshed = true), htmx.trigger(document.body, document.querySelector("#head").getAttribute("hx-trigger").split(" ")[0]), true)`,
	)
	b.until("the head was refreshed", `window.refreshed`)
	if !eval[bool](b, open) {
		t.Error("a refresh closes the menu")
	}
	b.click(`#more a[href$="/ack"]`)
	b.until("the dialog is open", `document.querySelector("dialog[open]") !== null`)
	b.quiet("the menu of a run")
}

// The graph of a run fits its page at each width, above the timeline and in its own view. Nothing
// is cut off or requires scrolling, and its texts are readable. On a phone, it is an overview.
func TestTheGraphOfALongChainFits(t *testing.T) {
	d := newDaemon(t)
	b := d.tab()
	for _, steps := range []int{15, 40} {
		id := fmt.Sprintf("row-of-%d", steps)
		d.plan(chain(id, steps))
		run := d.run(id, `null`)
		for _, c := range []struct {
			width int64
			least float64 // minimum size of a text, in pixels
		}{{1440, 9}, {1180, 9}, {820, 7}, {390, 2}} {
			b.width(c.width)
			for _, view := range []string{"", "?view=graph"} {
				if c.width == 390 && view == "" {
					continue // a phone shows only the timeline
				}
				b.open("/runs/" + run.ID + view)
				where := fmt.Sprintf("%d steps at %d px, %q", steps, c.width, view)
				if out := eval[string](b, `(() => {
					const f = document.querySelector("figure.dag"), s = f.querySelector("svg[viewBox]");
					const frame = f.getBoundingClientRect();
					if (f.scrollWidth > f.clientWidth || f.scrollHeight > f.clientHeight) return "it scrolls";
					for (const g of s.querySelectorAll(".node")) {
						const r = g.getBoundingClientRect();
						if (r.left < frame.left || r.right > frame.right || r.top < frame.top || r.bottom > frame.bottom)
							return g.textContent.trim() + " is cut off";
					}
					return s.querySelectorAll(".node").length < 10 ? "it has no nodes" : "";
				})()`); out != "" {
					t.Errorf("%s: %s", where, out)
				}
				size := eval[float64](b, `(() => {
					const s = document.querySelector("figure.dag svg[viewBox]"), r = s.getBoundingClientRect(), v = s.viewBox.baseVal;
					return 12.9 * Math.min(r.width / v.width, r.height / v.height);
				})()`)
				if size < c.least {
					t.Errorf("%s: its texts are %.1f px high", where, size)
				}
			}
		}
	}
}
