package browsertest

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/kairosd/kairosd/internal/domain"
)

// decide approves the pending approval request of a run, outside the browser.
func (d *daemon) decide(run string) {
	d.t.Helper()
	list, err := d.api.Approvals(d.t.Context(), domain.ApprovalFilter{Run: run})
	must(d.t, err)
	if len(list.Items) != 1 {
		d.t.Fatalf("run %s waits for %d decisions", run, len(list.Items))
	}
	_, err = d.api.Decide(d.t.Context(), domain.DecideRequest{Approval: list.Items[0].ID, Approve: true, Comment: "elsewhere"})
	must(d.t, err)
}

// The page of a waiting run is updated without a reload, and typed text remains.
func TestTheRunPageFollowsTheRun(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.open("/runs/" + s.Waiting.ID).live()
	b.fill("input[name=comment]", "half a thought")
	d.decide(s.Waiting.ID)
	b.until("the page shows that the run has completed", there("#head h1 .st.ok"))
	if typed := eval[string](b, `document.querySelector("input[name=comment]").value`); typed != "half a thought" {
		t.Errorf("the refresh removed %q", typed)
	}
	b.until(
		"the title and the icon follow",
		`document.title.startsWith("✓ Completed · ") && document.querySelector("#favicon").getAttribute("href") === document.querySelector("[data-icon]").dataset.icon`,
	)
}

// While runs start and end, an open list keeps its selected rows, its typed text, and the position
// of its rows. New runs are announced in a pill.
func TestAnOpenListLeavesWhatIsHeldAlone(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	box := fmt.Sprintf(`input[name=run][value="%s"]`, s.Failed.ID)
	b.open("/runs").live()
	b.click(box)
	b.fill(".search", "plan:led")
	rows := eval[[]string](b, `[...document.querySelectorAll("#list tbody a.go")].map((a) => a.href)`)
	d.run("report", `null`)
	b.until("the list says that a run is new", there("#pill a"))
	now := eval[[]string](b, `[...document.querySelectorAll("#list tbody a.go")].map((a) => a.href)`)
	if fmt.Sprint(now) != fmt.Sprint(rows) {
		t.Errorf("the list changed without user action from %v to %v", rows, now)
	}
	if !eval[bool](b, fmt.Sprintf("document.querySelector(`%s`).checked", box)) {
		t.Error("a selected row is no longer selected")
	}
	if typed := eval[string](b, `document.querySelector(".search").value`); typed != "plan:led" {
		t.Errorf("the typed text changed to %q", typed)
	}
	// The button of the bar opens the preview of the action for the selected run.
	b.reach(`#bulk button[value="resume"]`, `form[action="/bulk"] button.pri`)
	if chosen := eval[string](b, `document.querySelector('form[action="/bulk"] input[name=run]').value`); chosen != s.Failed.ID {
		t.Errorf("the preview shows %q", chosen)
	}
}

// gate starts a server that does not respond until open is called.
func gate(t testing.TB) (url string, calls <-chan struct{}, open func()) {
	t.Helper()
	seen, answer := make(chan struct{}, 1000), make(chan struct{})
	opened := sync.OnceFunc(func() { close(answer) })
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- struct{}{}
		select {
		case <-answer:
			fmt.Fprint(w, `{"ok": true, "lines": [1, 2, 3]}`)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { opened(); s.Close() })
	return s.URL, seen, opened
}

// busy starts a run that waits for an approval and hangs in a call. After the call returns, it has
// n more steps.
func (d *daemon) busy(n int) (run domain.Run, open func()) {
	d.t.Helper()
	url, calls, open := gate(d.t)
	var b strings.Builder
	fmt.Fprintf(&b, `
id: busy
nodes:
  first: {type: set, input: {order: 4711, lines: [{sku: a, n: 1}, {sku: b, n: 2}], customer: {name: Ada, city: London}}}
  ask: {type: approval, needs: [first], input: {message: "Ship it?"}}
  slow: {type: http, needs: [first], effect: idempotent, timeout: 10m, input: {url: %q}}
`, url)
	before := "slow"
	for i := range n {
		fmt.Fprintf(&b, "  step_%d: {type: set, needs: [%s], input: {value: %d}}\n", i, before, i)
		before = fmt.Sprintf("step_%d", i)
	}
	d.plan(b.String())
	run, err := d.api.Start(d.t.Context(), domain.StartRequest{Plan: "busy"})
	must(d.t, err)
	select {
	case <-calls:
	case <-time.After(waitTimeout):
		d.t.Fatal("the run does not start its call")
	}
	for deadline := time.Now().Add(waitTimeout); ; {
		list, err := d.api.Approvals(d.t.Context(), domain.ApprovalFilter{Run: run.ID})
		must(d.t, err)
		if len(list.Items) == 1 {
			return run, open
		}
		if time.Now().After(deadline) {
			d.t.Fatal("the run has no approval request")
		}
	}
}

// hold puts a run page into the state of an operator at work: a partly typed comment, an open
// disclosure, a selection, the focus, and the position of the field. The returned function checks
// that all of it is unchanged.
func (b *tab) hold() (held func(when string)) {
	b.t.Helper()
	b.fill("input[name=comment]", "half a thought")
	state := `JSON.stringify({
	  typed: document.querySelector("input[name=comment]").value,
	  open: [...document.querySelectorAll("main details")].map((d) => d.open),
	  selected: getSelection().toString(),
	  focus: document.activeElement.getAttribute("name")})`
	eval[bool](b, `(() => {
	  const d = [...document.querySelectorAll("#inspector details")]; d[d.length - 1].open = !d[d.length - 1].open;
	  document.querySelector("main details").open = true;
	  getSelection().selectAllChildren(document.querySelector("#ih span"));
	  document.querySelector("input[name=comment]").focus({preventScroll: true});
	  getSelection().selectAllChildren(document.querySelector("#ih span"));
	  scrollTo(0, 60);
	  return true;
	})()`)
	const place = `document.querySelector("input[name=comment]").getBoundingClientRect().top`
	before, at := eval[string](b, state), eval[float64](b, place)
	if !strings.Contains(before, "half a thought") || eval[float64](b, "scrollY") < 40 || strings.Contains(before, `"selected":""`) {
		b.fail("nothing could be taken hold of: " + before)
	}
	return func(when string) {
		b.t.Helper()
		if now := eval[string](b, state); now != before {
			b.t.Errorf("%s, the page changed the user's input or selection:\nbefore %s\nafter  %s", when, before, now)
		}
		if now := eval[float64](b, place); math.Abs(now-at) > 2 {
			b.t.Errorf("%s, the visible content moved from %g to %g", when, at, now)
		}
	}
}

// small makes the window so low that the page scrolls.
func (b *tab) small() *tab {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(1440, 500))
	return b
}

// indicates returns an expression that reports whether the live indicator shows a state.
func indicates(state string) string {
	return fmt.Sprintf(`document.querySelector("#live")?.dataset.state === %q`, state)
}

// The daemon is killed and restarted while a page is open. The page shows since when it is
// disconnected, polls, reconnects, and shows the current state. The operator's input remains.
func TestAPageSurvivesTheDaemon(t *testing.T) {
	d := newDaemon(t)
	run, open := d.busy(3)
	b := d.tab().small()
	b.open("/runs/" + run.ID + "?step=1").live()
	held := b.hold()
	heading := eval[string](b, `document.querySelector("h1").innerText`)
	d.kill()
	b.until(
		"the page says that it lost the daemon",
		indicates("stale")+` && /\d\d:\d\d:\d\d/.test(document.querySelector("#live").textContent)`,
	)
	if said := eval[string](b, `document.querySelector("#say").textContent`); !strings.Contains(
		said,
		eval[string](b, `document.querySelector("#live").textContent`),
	) {
		t.Errorf("the live region for screen readers contains %q", said)
	}
	if now := eval[string](b, `document.querySelector("h1").innerText`); now != heading {
		t.Errorf("without the daemon, the page shows %q", now)
	}
	held("without the daemon")
	open()
	d.start()
	b.live()
	b.until("the page shows what happened", `document.querySelector("#view").innerText.includes("step_2") && `+
		`![...document.querySelectorAll("#view tbody tr")].some((r) => /step_|slow/.test(r.innerText) && !r.querySelector(".st.ok"))`)
	held("after the daemon came back")
	// Live updates continue. The run ends, and the page shows it.
	d.decide(run.ID)
	b.until("the page shows the end of the run", there("#head h1 .st.ok"))
	held("after the run has ended")
	if s := d.status(run.ID); s != domain.RunCompleted {
		t.Errorf("the page shows completed, the run is %s", s)
	}
	b.quiet("a page over a restart")
}

// Fifty updates do not change the operator's input.
func TestFiftyHintsTakeNothingAway(t *testing.T) {
	large(t)
	d := newDaemon(t)
	run, open := d.busy(60)
	b := d.tab().small()
	b.open("/runs/" + run.ID + "?step=1").live()
	held := b.hold()
	open()
	b.until("the page shows the last step", `document.querySelector("#view").innerText.includes("step_59")`)
	b.until("all steps are done", `document.querySelectorAll("#view tbody .st.ok").length >= 62`)
	held("after 60 steps")
	b.quiet("a page with many hints")
}

// A selection in a changing part of the page remains. After it is cleared, the part shows the
// current state.
func TestASelectionHoldsAPartUntilItIsLetGo(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.open("/runs/" + s.Waiting.ID).live()
	eval[bool](b, `(() => { getSelection().selectAllChildren(document.querySelector("#run-id")); window.kairosHints = 0;
	  document.body.addEventListener("k:run-`+s.Waiting.ID+`", () => kairosHints++); return true; })()`)
	d.decide(s.Waiting.ID)
	b.until("the other part shows the end", `document.querySelectorAll("#view tbody .st.ok").length >= 2`)
	if now := eval[string](b, `getSelection().toString()`); now != s.Waiting.ID {
		t.Errorf("the selection changed to %q", now)
	}
	eval[bool](b, `getSelection().removeAllRanges(), true`)
	b.until("the part catches up", there("#head h1 .st.ok"))
}

// If streams are blocked, the page polls the same addresses and shows this. When streams work
// again, it is live.
func TestPollingShowsTheSame(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.block("*://*:*/live*")
	b.open("/runs/" + s.Waiting.ID)
	b.until("the page polls", indicates("polling"))
	b.fill("input[name=comment]", "half a thought")
	d.decide(s.Waiting.ID)
	b.until("the page shows that the run has completed", there("#head h1 .st.ok"))
	if typed := eval[string](b, `document.querySelector("input[name=comment]").value`); typed != "half a thought" {
		t.Errorf("polling removed %q", typed)
	}
	b.block()
	b.live()
}

// block blocks requests to matching addresses. Without arguments, it allows all requests.
func (b *tab) block(urls ...string) {
	b.t.Helper()
	patterns := make([]*network.BlockPattern, 0, len(urls))
	for _, u := range urls {
		patterns = append(patterns, &network.BlockPattern{URLPattern: u, Block: true})
	}
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: patterns})
}

// Polling keeps the operator's input, shows that the daemon is unreachable, and shows the current
// state after it returns, like a stream does.
func TestPollingHoldsAndRecovers(t *testing.T) {
	large(t)
	d := newDaemon(t)
	run, open := d.busy(3)
	b := d.tab().small()
	b.block("*://*:*/live*")
	b.open("/runs/" + run.ID + "?step=1")
	b.until("the page polls", indicates("polling"))
	held := b.hold()
	d.kill()
	b.until("the page says that it lost the daemon", indicates("stale"))
	held("without the daemon")
	open()
	d.start()
	b.until("the page polls again", indicates("polling"))
	b.until("the page shows what happened", `document.querySelector("#view").innerText.includes("step_2") && `+
		`![...document.querySelectorAll("#view tbody tr")].some((r) => /step_|slow/.test(r.innerText) && !r.querySelector(".st.ok"))`)
	held("after the daemon came back")
	d.decide(run.ID)
	b.until("the page shows the end of the run", there("#head h1 .st.ok"))
	held("after the run has ended")
}

// Eight tabs of one browser load and receive live updates, although a browser opens only six
// connections to one host. A hidden tab has no stream.
func TestManyTabs(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	first := d.tab()
	tabs := []*tab{first}
	for range 7 {
		tabs = append(tabs, first.newSibling())
	}
	for _, b := range tabs {
		b.open("/runs/" + s.Waiting.ID)
		b.until("the tab knows how it follows", indicates("live")+" || "+indicates("polling"))
	}
	d.decide(s.Waiting.ID)
	for i, b := range tabs {
		b.until(fmt.Sprintf("tab %d shows that the run has completed", i), there("#head h1 .st.ok"))
	}
	// The stream of a hidden tab ends.
	streams := &streamWatch{open: map[network.RequestID]bool{}}
	b := first
	must(t, chromedp.Listen(b.ctx, streams.event))
	b.open("/runs").live()
	if streams.count() != 1 {
		t.Fatalf("a live tab has %d streams, want 1", streams.count())
	}
	eval[bool](
		b,
		`(() => { Object.defineProperty(document, "hidden", {value: true, configurable: true}); document.dispatchEvent(new Event("visibilitychange")); return true; })()`,
	)
	for deadline := time.Now().Add(waitTimeout); streams.count() > 0; eval[bool](b, "true") {
		if time.Now().After(deadline) {
			t.Fatal("a hidden tab keeps its stream")
		}
	}
	eval[bool](b, `(() => { delete document.hidden; document.dispatchEvent(new Event("visibilitychange")); return true; })()`)
	b.live()
}

// streamWatch counts the open live streams of a tab.
type streamWatch struct {
	mu   sync.Mutex
	open map[network.RequestID]bool
}

func (s *streamWatch) event(ev any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		if strings.Contains(e.Request.URL, "/live?") {
			s.open[e.RequestID] = true
		}
	case *network.EventLoadingFinished:
		delete(s.open, e.RequestID)
	case *network.EventLoadingFailed:
		delete(s.open, e.RequestID)
	}
}

func (s *streamWatch) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}
