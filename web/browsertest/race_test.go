package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// Two operators resume the same failed run. It is resumed once. The second operator sees what has
// changed.
func TestTwoOperatorsResume(t *testing.T) {
	for name, prepare := range map[string]func(*tab) *tab{"with scripts": func(b *tab) *tab { return b },
		"without": (*tab).withoutScripts} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			s := d.seed()
			first, second := prepare(d.tab()), prepare(newTab(t, d.url).login(d.as("otto", domain.RoleOperator)))
			for _, b := range []*tab{first, second} {
				b.open("/runs/" + s.Failed.ID)
				b.reach(`main a[href="/runs/`+s.Failed.ID+`/resume"]`, `#preview button[value="act"]`)
			}
			first.follow(`#preview button[value="act"]`, "#run-id")
			again, err := d.api.Wait(t.Context(), s.Failed.ID)
			must(t, err)
			second.reach(`#preview button[value="act"]`, `#preview [role="alert"]`)
			text := eval[string](second, `document.querySelector("#preview").innerText`)
			t.Logf("the second user sees: %.300s", text)
			// The page offers the action again, for the current revision.
			if rev := eval[string](second, `document.querySelector('#preview input[name="rev"]').value`); rev != fmt.Sprint(again.LastSeq) {
				t.Errorf("the form has revision %s, the run is at %d", rev, again.LastSeq)
			}
			journal, err := d.api.Journal(t.Context(), s.Failed.ID)
			must(t, err)
			resets := 0
			for _, e := range journal {
				if e.Seq > s.Failed.LastSeq && e.Kind == domain.EntryReset {
					resets++
				}
			}
			if resets != 1 {
				t.Errorf("the run was resumed %d times", resets)
			}
			second.follow(`#preview button[value="act"]`, "#run-id") // confirm on purpose
			d.follows(again, domain.EntryReset)
			first.quiet("the first operator")
			second.quiet("the second operator")
		})
	}
}

// Two operators decide the same approval request. The first decision counts, and the second
// operator sees who made it.
func TestTwoOperatorsDecide(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	first, second := d.tab(), newTab(t, d.url).login(d.as("otto", domain.RoleOperator))
	for _, b := range []*tab{first, second} {
		b.open("/runs/" + s.Waiting.ID)
	}
	first.follow(`button[name="answer"][value="approve"]`, "#run-id")
	second.fill("input[name=comment]", "too much")
	second.reach(`button[name="answer"][value="reject"]`, `main [role="alert"]:not([data-notice])`)
	text := eval[string](second, `document.querySelector("main").innerText`)
	if !strings.Contains(text, "marta") {
		t.Errorf("the second user does not see who decided:\n%s", text)
	}
	r, err := d.api.Wait(t.Context(), s.Waiting.ID)
	must(t, err)
	if r.Status != domain.RunCompleted {
		t.Errorf("got run status %s: the second decision was applied", r.Status)
	}
	second.quiet("the second operator")
}

// A double click performs an action once.
func TestADoubleClickForksOnce(t *testing.T) {
	large(t)
	for name, prepare := range map[string]func(*tab) *tab{"with scripts": func(b *tab) *tab { return b },
		"without": (*tab).withoutScripts} {
		t.Run(name, func(t *testing.T) {
			d := newDaemon(t)
			s := d.seed()
			before := d.runs()
			b := prepare(d.tab())
			b.open("/runs/" + s.Completed.ID + "/fork?at=1")
			button := `#preview button[value="act"]`
			b.until("the act is offered", there(button))
			b.leave(func() {
				at := eval[[]float64](b, fmt.Sprintf(reached, quoted(button)))
				if len(at) != 2 {
					b.fail("the button cannot be reached")
				}
				for range 2 {
					b.do(chromedp.MouseClickXY(at[0], at[1]))
				}
			}, "the fork", "#run-id")
			if id := eval[string](b, `document.querySelector("#run-id").textContent`); id == s.Completed.ID {
				t.Error("the page does not show the fork")
			}
			if after := d.runs(); after != before+1 {
				t.Errorf("two clicks started %d runs, want 1", after-before)
			}
			// A reload does not send the form again.
			b.reload("#run-id")
			if after := d.runs(); after != before+1 {
				t.Errorf("after a reload there are %d more runs", after-before)
			}
		})
	}
}

// runs returns the number of runs.
func (d *daemon) runs() int {
	d.t.Helper()
	list, err := d.api.Runs(d.t.Context(), domain.RunFilter{Page: domain.Page{Limit: 200}})
	must(d.t, err)
	return len(list.Items)
}

// reload, back, and forward act like the buttons of the browser.
func (b *tab) reload(then string) {
	b.t.Helper()
	b.leave(func() { call(b, page.Reload, page.ReloadParams{}) }, "a reload", then)
}

func (b *tab) back(then string) {
	b.t.Helper()
	b.leave(func() { b.history(-1) }, "going back", then)
}

func (b *tab) forward(then string) {
	b.t.Helper()
	b.leave(func() { b.history(1) }, "going forward", then)
}

func (b *tab) history(by int64) {
	b.t.Helper()
	h := call(b, page.GetNavigationHistory, cdp.Empty{})
	call(b, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: h.Entries[h.CurrentIndex+by].ID})
}

// After filtering a list and opening a run, Back shows the same list at the same scroll position,
// as a full page, and Forward works. A reload keeps the view.
func TestHistory(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	for range 40 {
		d.run("echo", `"more"`)
	}
	b := d.tab()
	b.do(chromedp.EmulateViewport(1440, 500))
	b.open("/runs")
	b.filter("plan:echo")
	if eval[bool](b, `[...document.querySelectorAll("#list a.go")].some((a) => !a.textContent.includes("echo"))`) {
		t.Error("typing does not filter the list")
	}
	b.follow(`form[action="/runs"] button`, "#list tbody tr")
	b.live()
	const list = `JSON.stringify([location.search, document.querySelector("#q").value, [...document.querySelectorAll("#list a.go")].map((a) => a.href)])`
	eval[bool](b, `scrollTo(0, 700), true`)
	before, at := eval[string](b, list), eval[float64](b, `scrollY`)
	if at < 300 {
		t.Fatalf("the list does not scroll: %g", at)
	}
	// This row is in view, so opening it does not scroll.
	target := eval[string](
		b,
		`[...document.querySelectorAll("#list a.go")].find((a) => { const r = a.getBoundingClientRect(); return r.top > 150 && r.bottom < 400; }).getAttribute("href")`,
	)
	b.leave(func() { eval[bool](b, `document.querySelector('a[href="`+target+`"]').click(), true`) }, "the row", "#run-id")
	b.back("#list tbody tr")
	if after := eval[string](b, list); after != before {
		t.Errorf("Back shows a different list:\n%s\n%s", before, after)
	}
	b.until("the list is where it was", fmt.Sprintf("Math.abs(scrollY - %g) < 3", at))
	if n := eval[int](b, `document.querySelectorAll("header.top, main, footer").length`); n != 3 {
		t.Errorf("back shows a fragment: %d of header, main and footer", n)
	}
	b.forward("#run-id")
	if here := eval[string](b, `location.pathname`); here != target {
		t.Errorf("Forward opens %s, want %s", here, target)
	}
	// The selected step is in the address, so a reload keeps it.
	b.open("/runs/" + s.Failed.ID)
	b.click(`.timeline tbody a.go`)
	b.until("the step is in the address", `/[?&]step=1/.test(location.search) && document.querySelector("#inspector").dataset.step === "1"`)
	step := eval[string](b, `document.querySelector("#ih").innerText`)
	b.reload("#inspector")
	if now := eval[string](b, `document.querySelector("#ih").innerText`); now != step {
		t.Errorf("after reloading, got step %q, want %q", now, step)
	}
	b.quiet("history")
}

// A view that was reached by clicks is the same when another user opens its address.
func TestEveryViewIsItsAddress(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b, colleague := d.tab(), newTab(t, d.url).login(d.as("otto", domain.RoleAdmin))
	// shown is the text of a page without the parts that depend on the user and on the time.
	const shown = `(() => { const m = document.querySelector("main").cloneNode(true);
	  m.querySelectorAll("input[type=hidden], select[name=assignee], [data-since], time, script").forEach((e) => e.remove());
	  return m.textContent.replace(/\s+/g, " ").replace(/\d+ \w+ ago/g, "").replace(/(\d+(\.\d+)? (ms|s)|\d+[mhd] \d+[smh])(?=\D)/g, "") + [...m.querySelectorAll("[aria-current]")].map((e) => e.textContent).join("|"); })()`
	visit := func(path string, links string) {
		t.Helper()
		b.open(path)
		hrefs := eval[[]string](
			b,
			fmt.Sprintf(`[...new Set([...document.querySelectorAll(%s)].map((a) => a.getAttribute("href")))]`, quoted(links)),
		)
		if len(hrefs) == 0 {
			t.Errorf("%s has no %s", path, links)
		}
		if !everything() {
			hrefs = hrefs[:min(len(hrefs), 3)]
		}
		for _, href := range hrefs {
			b.open(path)
			place, _, _ := strings.Cut(href, "#") // compared without the fragment
			there := fmt.Sprintf(`%s && location.pathname + location.search === %s`, loaded, quoted(place))
			for range 4 { // a click during layout can be lost
				b.click(fmt.Sprintf(`main a[href=%s]`, quoted(href)))
				if b.waitFor(waitTimeout/4, there) == nil {
					break
				}
			}
			b.until("the address is "+href, there)
			address := strings.TrimPrefix(eval[string](b, `location.href`), d.url)
			colleague.open(address)
			theirs := eval[string](colleague, shown)
			if err := b.waitFor(waitTimeout/4, shown+" === "+quoted(theirs)); err != nil {
				t.Errorf("%s shows another user different content:\n%s", address, firstDifference(eval[string](b, shown), theirs))
			}
		}
	}
	// Each parameter alone has an effect, and shows the same view to another user.
	b.open("/runs/" + s.Failed.ID)
	for base, queries := range map[string][]string{
		"/runs/" + s.Failed.ID: {"view=graph", "view=graph&node=done", "view=graph&zoom=fit", "view=graph&paint=took",
			"view=state", "view=state&cp=0", "view=log", "view=handoffs", "view=events", "view=io", "step=1", "tab=input",
			"tab=definition", "only=failed", "sort=took", "critical=show"},
		"/runs/" + s.Completed.ID: {"view=graph&mode=ran", "view=state&cp=5&against=1", "step=1&tab=change", "only=completed"},
		"/runs":                   {"q=status:failed", "q=plan:report", "sort=took", "n=25"},
		"/audit":                  {"q=actor:system", "q=action:plan.version"},
		"/approvals":              {"status=approved"},
	} {
		b.open(base)
		plain := eval[string](b, shown)
		for _, query := range queries {
			b.open(base + "?" + query)
			colleague.open(base + "?" + query)
			mine, theirs := eval[string](b, shown), eval[string](colleague, shown)
			if mine != theirs {
				t.Errorf("%s?%s shows another user different content:\n%s", base, query, firstDifference(mine, theirs))
			}
			if mine == plain && query != "view=log" && !strings.Contains(query, "since") && !strings.Contains(query, "zoom") {
				t.Errorf("%s?%s has no effect on the page", base, query)
			}
		}
	}
	visit("/runs/"+s.Completed.ID, `nav.tabs[aria-label="Run views"] a`)
	visit("/runs/"+s.Failed.ID, ".timeline tbody a.go")
	visit("/runs/"+s.Failed.ID, "#inspector .tabs a")
	visit("/runs/"+s.Completed.ID+"?view=state", ".checkpoints a")
	visit("/runs", `nav.filters a.chip:not([href*="by%3A"])`) // the filter of own runs depends on the user
	visit("/approvals", "nav.filters a.chip")
}

// firstDifference returns the parts of two texts around their first difference.
func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-60)
	return fmt.Sprintf("%q\n%q", a[from:min(len(a), i+120)], b[from:min(len(b), i+120)])
}

// A rejected form keeps its text. An accepted form is sent once, also after Back, Forward, and
// Reload.
func TestAFormIsSentOnce(t *testing.T) {
	large(t)
	d := newDaemon(t)
	d.seed()
	before := d.runs()
	b := d.tab().withoutScripts()
	b.open("/plans/ledger/start")
	b.click("main form details summary")
	b.fill(`main form textarea[name="input"]`, `{"amount": "many"}`)
	b.follow(`main form.form button[type="submit"]`, `main [role="alert"]:not([data-notice])`)
	if kept := eval[string](b, `document.querySelector('main form textarea[name="input"]').value`); !strings.Contains(kept, "many") {
		t.Errorf("the typed text was lost: got %q", kept)
	}
	b.open("/plans/ledger/start")
	b.click("main form details summary")
	b.fill(`main form textarea[name="input"]`, `{"amount": 5}`)
	b.follow(`main form.form button[type="submit"]`, "#run-id")
	b.reload("#run-id")
	b.back("main form.form")
	b.forward("#run-id")
	b.reload("#run-id")
	if after := d.runs(); after != before+1 {
		t.Errorf("%d runs were started", after-before)
	}
	b.quiet("forms and history")
}

// If a session ends while a user types, the text is not lost. The page shows that the session
// ended, and after the next login the text is still there.
func TestWhatWasTypedOutlivesALogin(t *testing.T) {
	large(t)
	d := newDaemon(t)
	d.seed()
	b := d.tab()
	b.open("/plans/ledger/start")
	b.click("main form details summary")
	b.fill(`main form textarea[name="input"]`, `{"amount": 4711}`)
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	b.follow(`main form.form button[type="submit"]`, `input[name="password"]`)
	if !eval[bool](b, there(`main .note[role="status"]`)) {
		b.fail("the login does not say that what was typed is kept")
	}
	b.accessible("the login after a session's end")
	b.fill(`input[name="name"]`, admin.Name)
	b.fill(`input[name="password"]`, webtest.Password)
	b.follow(`main form button[type="submit"]`, `main form textarea[name="input"]`)
	if v := eval[string](b, `document.querySelector('main form textarea[name="input"]').value`); v != `{"amount": 4711}` {
		t.Errorf("after the login the field holds %q", v)
	}
	b.reload("main form.form")
	if eval[bool](b, `!!sessionStorage.getItem("kept")`) {
		t.Error("the draft text is never deleted")
	}
	b.quiet("a login that ended")
}
