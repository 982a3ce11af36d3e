package browsertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/kairosd/kairosd/internal/domain"
)

// strict reports whether the tests enforce the time budgets, as in "make ui-budget" on an idle
// machine. Otherwise they print times and allow a multiple of the budget. Sizes are always
// enforced.
func strict() bool { return os.Getenv("KAIROS_BUDGET") != "" }

// budget prints a measurement next to its limit, and fails the test if it is above the limit.
func budget(t *testing.T, what string, got, limit float64, unit string) {
	t.Helper()
	t.Logf("budget | %-46s | %8.2f | %6.2f | %s", what, got, limit, unit)
	if unit == "ms" && !strict() {
		limit *= 40
	}
	if got > limit || got < 0 {
		t.Errorf("%s: %.2f %s, the budget is %.2f", what, got, unit, limit)
	}
}

// observe is a script that records the largest contentful paint, the layout shift, and the longest
// interaction of a page.
const observe = `window.kairosSeen = {lcp: -1, cls: 0, inp: -1};
new PerformanceObserver((l) => { for (const e of l.getEntries()) kairosSeen.lcp = e.startTime; }).observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver((l) => { for (const e of l.getEntries()) if (!e.hadRecentInput) kairosSeen.cls += e.value; }).observe({type: "layout-shift", buffered: true});
new PerformanceObserver((l) => { for (const e of l.getEntries()) if (e.interactionId) kairosSeen.inp = Math.max(kairosSeen.inp, e.duration); }).observe({type: "event", durationThreshold: 16, buffered: true});`

// reader sends requests without a browser, to measure only the daemon.
type reader struct {
	t *testing.T
	d *daemon
}

var timing = regexp.MustCompile(`total;dur=([0-9.]+)`)

// get returns a page, its size in bytes on the wire, and the server's own time in milliseconds.
func (r reader) get(path string, header ...string) (text string, wire int, server float64) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.d.url+path, nil)
	must(r.t, err)
	for name, value := range r.d.session {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	must(r.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(r.t, err)
	if resp.StatusCode != http.StatusOK {
		return "", len(b), -1
	}
	wire = len(b)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(b))
		must(r.t, err)
		b, err = io.ReadAll(z)
		must(r.t, err)
	}
	m := timing.FindStringSubmatch(resp.Header.Get("Server-Timing"))
	if m == nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return string(b), wire, -1
	}
	server, err = strconv.ParseFloat(m[1], 64)
	must(r.t, err)
	return string(b), wire, server
}

// p95 returns the 95th percentile of the server's own time over n requests. It measures a second
// time if the result is above the limit, because other load on the machine only increases it.
func (r reader) p95(n int, limit float64, path string, header ...string) float64 {
	r.t.Helper()
	best := -1.0
	for range 2 {
		times := make([]float64, n)
		for i := range times {
			_, _, times[i] = r.get(path, header...)
		}
		slices.Sort(times)
		if p := times[n*95/100]; best < 0 || p < best {
			best = p
		}
		if best <= limit {
			break
		}
	}
	return best
}

var (
	link  = regexp.MustCompile(`<a [^>]*href="(/[^"#]*)`)
	runID = regexp.MustCompile(`^[0-9a-z]{26}$`)
	acts  = regexp.MustCompile(
		`/(resume|fork|rerun|cancel|delete|pause|continue|archive|ack|unack|retry-now|start-now|start|new|edit|stop|try|revoke|export|raw|logout|metrics|accept|release|limits)(/|$)|\.(json|yaml|csv|txt|svg|md|jsonl)$|^/api/`,
	)
	listing = regexp.MustCompile(`^(plan-\d+|[0-9]+|[0-9a-f-]{36})$`)
)

// shape returns the kind of a page: its path without ids, and the names of its parameters.
func shape(href string) string {
	path, query, _ := strings.Cut(strings.ReplaceAll(href, "&amp;", "&"), "?")
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if runID.MatchString(p) || listing.MatchString(p) {
			parts[i] = "…"
		}
	}
	names := map[string]bool{}
	for _, q := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(q, "=")
		switch name {
		case "", "before", "after", "from", "to", "cp", "step", "try", "at", "n", "a", "b", "against", "node", "run", "token", "open":
		case "q":
			name += "=" + strings.SplitN(strings.SplitN(value, "%3A", 2)[0], "+", 2)[0]
		default:
			name += "=" + value
		}
		if name != "" {
			names[name] = true
		}
	}
	return strings.Join(parts, "/") + "?" + strings.Join(slices.Sorted(maps.Keys(names)), "&")
}

// kinds follows links and returns one page of each kind, at most max pages.
func (r reader) kinds(max int) []string {
	r.t.Helper()
	seen, out, queue := map[string]bool{shape("/"): true}, []string{}, []string{"/"}
	for len(queue) > 0 && len(out) < max {
		path := queue[0]
		queue = queue[1:]
		text, _, server := r.get(path)
		if server < 0 {
			continue
		}
		out = append(out, path)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			href := strings.ReplaceAll(m[1], "&amp;", "&")
			if p, _, _ := strings.Cut(href, "?"); acts.MatchString(p) || seen[shape(href)] ||
				strings.Contains(shape(href), "&") { // combinations of parameters are unlimited
				continue
			}
			seen[shape(href)] = true
			queue = append(queue, href)
		}
	}
	return out
}

// named returns the short name of a page for the table.
func named(path string) string {
	p, query, _ := strings.Cut(path, "?")
	parts := strings.Split(p, "/")
	for i := range parts {
		if runID.MatchString(parts[i]) {
			parts[i] = "…"
		}
	}
	p = strings.Join(parts, "/")
	if query != "" {
		p += "?" + query
	}
	if len(p) > 46 {
		p = p[:45] + "…"
	}
	return p
}

// chain returns the source of a plan with n steps in a row.
func chain(id string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\nlimits: {max_steps: 5000}\nnodes:\n", id)
	for i := range n {
		fmt.Fprintf(&b, "  step_%d: {type: set, input: {value: %d}}\n", i, i)
	}
	b.WriteString("edges:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "  - {from: step_%d, to: step_%d}\n", i, i+1)
	}
	return b.String()
}

// All budgets hold on the real daemon with many runs and in the browser. "make ui-budget" prints
// them as a table. If $KAIROS_MILLION_DIR is set, the database has a million runs.
func TestBudgets(t *testing.T) {
	large(t)
	data, million := past(t)
	d := daemonOn(t, data)
	if million {
		d.databaseChecked()
	}
	d.plan(chain("chain-50", 50))
	d.plan(chain("chain-500", 500))
	fifty, long := d.run("chain-50", `null`), d.run("chain-500", `null`)
	r := reader{t, d}
	const kib = 1024.0

	// Sizes on the wire.
	size := func(path string) float64 {
		_, wire, server := r.get(path)
		if server < 0 {
			t.Fatalf("%s is not a page", path)
		}
		return float64(wire) / kib
	}
	budget(t, "HTML of the run list, 50 rows, gzip", size("/runs"), 14, "KB")
	budget(t, "HTML of a run page, 50 steps, gzip", size("/runs/"+fifty.ID), 25, "KB")
	budget(t, "graph of 500 nodes, page, gzip", size("/runs/"+long.ID+"?view=graph"), 20, "KB")
	budget(t, "timeline of 500 steps, page, gzip", size("/runs/"+long.ID), 10, "KB")
	home, _, _ := r.get("/")
	var js, css, fonts float64
	for _, m := range regexp.MustCompile(`(?:src|href)="(/static/[^"]+\.(js|css))"`).FindAllStringSubmatch(home, -1) {
		text, wire, _ := r.get(m[1])
		if m[2] == "js" {
			js += float64(len(text))
			continue
		}
		css += float64(wire)
		for _, f := range regexp.MustCompile(`url\(([a-z]+\.woff2)\)`).FindAllStringSubmatch(text, -1) {
			_, wire, _ := r.get(m[1][:strings.LastIndexByte(m[1], '/')+1] + f[1])
			fonts += float64(wire)
		}
	}
	budget(t, "scripts, raw", js/kib, 100, "KB")
	budget(t, "styles, gzip", css/kib, 15, "KB")
	budget(t, "fonts", fonts/kib, 30, "KB")

	// Measurements in the browser.
	b := d.tab()
	b.observed()
	b.open("/runs")
	first := b.cost()
	b.open("/runs")
	again := b.cost()
	budget(t, "first visit, everything", first.bytes/kib, 100, "KB")
	budget(t, "repeat visit, everything", again.bytes/kib, 25, "KB")
	for _, c := range []struct {
		what, path string
		limit      float64
	}{{"home", "/", 200}, {"the run list", "/runs", 200}, {"a run page", "/runs/" + fifty.ID, 200},
		{"the graph of 500 nodes", "/runs/" + long.ID + "?view=graph", 200}, {"the timeline of 500 steps", "/runs/" + long.ID, 200}} {
		lcp, cls := b.painted(c.path)
		budget(t, "LCP of "+c.what+", median", lcp, c.limit, "ms")
		budget(t, "CLS of "+c.what, cls, 0.01, "")
	}
	inp, of := b.interactions(fifty)
	budget(t, "INP ("+of+")", inp, 100, "ms")
	b.quiet("the budgets")

	// Server time of each kind of page, and of fragments.
	n, most := 20, 40
	if million {
		n, most = 200, 400
	}
	worst := ""
	top := -1.0
	for _, path := range append(r.kinds(most), "/runs/"+long.ID, "/runs/"+long.ID+"?view=graph") {
		p := r.p95(n, 50, path)
		budget(t, named(path), p, 50, "ms")
		if p > top {
			top, worst = p, path
		}
	}
	budget(t, "p95 of the slowest page, "+named(worst), top, 50, "ms")
	for _, f := range []struct{ path, target string }{{"/runs", "pill"}, {"/runs/" + fifty.ID, "view"},
		{"/runs/" + fifty.ID, "head"}, {"/runs/" + fifty.ID + "?step=7", "pane"}, {"/runs/" + fifty.ID + "?view=graph", "view"}} {
		budget(t, "fragment #"+f.target+" of "+named(f.path), r.p95(n, 30, f.path, "HX-Request", "true", "HX-Target", f.target), 30, "ms")
	}
}

// observed makes every page of the tab record its measurements.
func (b *tab) observed() {
	b.t.Helper()
	b.onEveryPage(observe)
}

// painted returns the time of the largest contentful paint in milliseconds and the layout shift, as
// medians of five visits.
func (b *tab) painted(path string) (lcp, cls float64) {
	b.t.Helper()
	var at, moved []float64
	for range 5 {
		b.open(path)
		b.until("the page was painted", `kairosSeen.lcp >= 0`)
		at = append(at, eval[float64](b, `kairosSeen.lcp`))
		moved = append(
			moved,
			eval[float64](
				b,
				`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(kairosSeen.cls), 0))))`,
			),
		)
	}
	slices.Sort(at)
	slices.Sort(moved)
	return at[2], moved[2]
}

// interactions performs typical actions on lists and runs. It returns the longest response time to
// a key or a click in milliseconds, and the name of that action.
func (b *tab) interactions(run domain.Run) (worst float64, of string) {
	b.t.Helper()
	worst = -1
	after := func(what string) {
		eval[bool](b, `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 50))))`)
		// The browser does not report interactions below 16 ms.
		if v := max(16, eval[float64](b, `kairosSeen.inp`)); v > worst {
			worst, of = v, what
		}
	}
	b.open("/runs")
	b.click("#list input[name=run]")
	b.until("the row is chosen", `document.querySelector("#selected").textContent === "1"`)
	after("choosing a row")
	b.press("jjjk")
	after("moving by keys")
	b.click("#list .pk a")
	b.until("the run is looked at", there("tr.peek"))
	after("a peek")
	b.click("#q")
	b.press("status:")
	after("typing a filter")
	b.press(kb.Escape)
	b.open("/runs/" + run.ID)
	b.click("#inspector summary, #inspector .json summary, footer details.display summary")
	after("opening a disclosure")
	b.click("main .act a[hx-target=\"#dialog\"]")
	b.until("the preview is open", there("dialog[open] #preview"))
	after("opening a preview")
	return worst, of
}
