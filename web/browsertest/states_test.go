package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/internal/domain"
)

// state is a run in one of the statuses that pages show, and the text of that status.
type state struct {
	word string
	run  domain.Run
}

// everyState starts runs in every status that does not require a crash.
func (d *daemon) everyState(t *testing.T) []state {
	t.Helper()
	busy, _ := d.busy(2)
	start := func(r domain.StartRequest) domain.Run {
		t.Helper()
		run, err := d.api.Start(t.Context(), r)
		must(t, err)
		return run
	}
	act := func(run domain.Run, a domain.Action) domain.Run {
		t.Helper()
		run, err := d.api.Act(t.Context(), domain.ActionRequest{Run: run.ID, Action: a, Reason: "for a look"})
		must(t, err)
		return run
	}
	d.plan("id: timer\nnodes:\n  wait: {type: wait, input: {for: 3h}}\n  end: {type: log, input: done}\nedges: [{from: wait, to: end}]\n")
	down := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
	)
	t.Cleanup(down.Close)
	d.plan(
		"id: again\nnodes:\n  call: {type: http, effect: read, retry: {max_attempts: 6, backoff: [3h]}, input: {url: \"" +
			down.URL + "\"}}\n  end: {type: log, input: done}\nedges: [{from: call, to: end}]\n",
	)
	d.plan("id: parent\nnodes:\n  child: {type: plan, plan: refund}\n  end: {type: log, input: done}\nedges: [{from: child, to: end}]\n")
	d.plan(
		"id: bounded\nlimits: {max_steps: 1}\nnodes:\n  one: {type: set, input: 1}\n  two: {type: set, input: 2}\n" +
			"edges: [{from: one, to: two}]\n",
	)
	waits := func(plan string, reason domain.WaitReason) domain.Run {
		t.Helper()
		run := start(domain.StartRequest{Plan: plan})
		for deadline := time.Now().Add(waitTimeout); run.WaitReason != reason; {
			if time.Now().After(deadline) {
				t.Fatalf("run %s of %s is %s %q, and does not come to wait for %s", run.ID, plan, run.Status, run.WaitReason, reason)
			}
			var err error
			run, err = d.api.FindRun(t.Context(), run.ID)
			must(t, err)
		}
		return run
	}
	out := []state{
		{
			"Running",
			busy,
		}, {"Waiting", waits("timer", domain.WaitTimer)}, {"Retrying", waits("again", domain.WaitRetry)},
		{"Waiting", waits("parent", domain.WaitChild)},
		{
			"Action required",
			waits("bounded", domain.WaitBudget),
		}, {"Paused", act(waits("timer", domain.WaitTimer), domain.ActionPause)},
		{"Cancelled", act(waits("timer", domain.WaitTimer), domain.ActionCancel)},
		{"Scheduled", start(domain.StartRequest{Plan: "report", StartAt: time.Now().Add(26 * time.Hour)})},
	}
	one := &domain.Concurrency{Key: "one", Limit: 1}
	start(domain.StartRequest{Plan: "timer", Concurrency: one})
	return append(out, state{"Queued", start(domain.StartRequest{Plan: "report", Concurrency: one})})
}

// Every status has a text and an icon on the run's page and in the list, so that it does not depend
// on color. Its pages are accessible in both themes, fit, and cause no console errors.
func TestEveryStatus(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	all := append(
		d.everyState(t),
		state{"Completed", s.Completed},
		state{"Failed", s.Failed},
		state{"Waiting for approval", s.Waiting},
		state{"In doubt", s.InDoubt},
	)
	b := d.tab()
	visit := func(path, where string) {
		t.Helper()
		b.open(path)
		b.accessible(where)
		for _, f := range eval[[]string](b, fits) {
			t.Errorf("%s: %s", where, f)
		}
		if bare := eval[[]string](b, `[...document.querySelectorAll("main .st")].filter((e) => !e.textContent.trim() || !e.querySelector("use")).map((e) => e.outerHTML.slice(0, 120))`); len(
			bare,
		) > 0 {
			t.Errorf("%s: statuses without a word or a shape: %v", where, bare)
		}
		b.quiet(where)
	}
	for i, l := range []look{{"light", 1440, "en"}, {"dark", 390, "en"}} {
		b.width(l.width)
		b.cookie("theme", l.theme)
		for n, c := range all {
			for _, view := range []string{"", "?view=graph"} {
				where := fmt.Sprintf("%s, %s %s, %s", c.word, c.run.ID, view, l.theme)
				visit("/runs/"+c.run.ID+view, where)
				if got := eval[string](b, `document.querySelector("h1").innerText`); !strings.HasPrefix(got, c.word) {
					t.Errorf("%s: got heading %q", where, got)
				}
				b.keep(fmt.Sprintf("state-%d-%02d%s", i, n, strings.TrimPrefix(view, "?view=")))
			}
		}
		for _, path := range []string{"/", "/runs", "/plans", "/approvals"} {
			visit(path, path+" with every status, "+l.theme)
			b.keep(fmt.Sprintf("states-%d%s", i, strings.ReplaceAll(path, "/", "-")))
		}
	}
	b.open("/runs")
	for _, c := range all {
		if !eval[bool](
			b,
			fmt.Sprintf(
				`[...document.querySelectorAll("#list tbody tr")].some((r) => r.innerHTML.includes(%s) && r.querySelector(".st").textContent.includes(%s))`,
				quoted(c.run.ID),
				quoted(c.word),
			),
		) {
			t.Errorf("the list does not show run %s as %s", c.run.ID, c.word)
		}
	}
}

// On an empty server, every page with a list shows the next step.
func TestEmptyPages(t *testing.T) {
	large(t)
	d := newDaemon(t)
	b := d.tab()
	for _, l := range []look{{"light", 1440, "en"}, {"dark", 390, "es"}} {
		b.width(l.width)
		b.cookie("theme", l.theme)
		b.cookie("lang", l.lang)
		for _, path := range []string{"/", "/runs", "/runs?q=status:failed", "/plans", "/approvals", "/bulk", "/audit",
			"/agents", "/agents/tools", "/agents/providers", "/memory", "/settings/tokens", "/system"} {
			b.open(path)
			where := fmt.Sprintf("%s without anything (%s, %d px)", path, l.theme, l.width)
			if text := eval[string](b, `document.querySelector("main").innerText.trim()`); len(text) < 20 {
				t.Errorf("%s shows only %q", where, text)
			}
			b.accessible(where)
			for _, f := range eval[[]string](b, fits) {
				t.Errorf("%s: %s", where, f)
			}
			b.quiet(where)
			b.keep(fmt.Sprintf("empty-%d%s", l.width, strings.NewReplacer("/", "-", "?", "-").Replace(path)))
		}
	}
}

// Pages are readable for users with color blindness. Pictures of the most colorful pages are saved
// in $KAIROS_SCREENSHOTS. The test uses the browser's emulation. The contrast of colors is tested
// next to the style sheet.
func TestOtherSights(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	d.everyState(t)
	b := d.tab()
	for _, theme := range []string{"light", "dark"} {
		b.cookie("theme", theme)
		for _, path := range []string{"/", "/runs", "/runs/" + s.Failed.ID} {
			b.open(path)
			b.until("the fonts are there", `document.fonts.status === "loaded"`)
			picture := func(sight emulation.SetEmulatedVisionDeficiencyType) string {
				call(b, emulation.SetEmulatedVisionDeficiency, emulation.SetEmulatedVisionDeficiencyParams{Type: sight})
				eval[bool](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
				png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				must(t, err)
				b.keep("sight-" + theme + "-" + string(sight) + strings.ReplaceAll(strings.Split(path, s.Failed.ID)[0], "/", "-"))
				return string(png)
			}
			plain := picture(emulation.SetEmulatedVisionDeficiencyTypeNone)
			for _, sight := range []emulation.SetEmulatedVisionDeficiencyType{
				emulation.SetEmulatedVisionDeficiencyTypeProtanopia, emulation.SetEmulatedVisionDeficiencyTypeDeuteranopia,
				emulation.SetEmulatedVisionDeficiencyTypeTritanopia, emulation.SetEmulatedVisionDeficiencyTypeAchromatopsia} {
				if picture(sight) == plain {
					t.Errorf("%s, %s: the page looks the same with %s", path, theme, sight)
				}
			}
			// Statuses on one page have different icons. Two statuses that look alike have the same
			// text.
			alike := eval[[]string](
				b,
				`(() => { const by = {}; for (const e of document.querySelectorAll("main .st")) (by[e.querySelector("use").getAttribute("href") + e.className] ||= new Set()).add(e.textContent.trim());
			  return Object.entries(by).filter(([, w]) => w.size > 3).map(([k, w]) => k + ": " + [...w].join(", ")); })()`,
			)
			if len(alike) > 0 {
				t.Errorf("%s: one shape has several meanings: %v", path, alike)
			}
		}
	}
}

// By default, pages follow the color scheme of the system.
func TestTheSystemsTheme(t *testing.T) {
	large(t)
	d := newDaemon(t)
	b := d.tab()
	ground := func(scheme string) string {
		b.media("", map[string]string{"prefers-color-scheme": scheme})
		b.open("/")
		return eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	}
	light, dark := ground("light"), ground("dark")
	b.accessible("home, dark as the system is")
	if light != "rgb(246, 246, 247)" || dark != "rgb(11, 12, 15)" {
		t.Errorf("light is %s, dark is %s", light, dark)
	}
	b.cookie("theme", "light")
	if chosen := ground("dark"); chosen != light {
		t.Errorf("light was chosen, the system is dark, and the page is %s", chosen)
	}
}
