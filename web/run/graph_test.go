package run_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// look returns a page of the story server.
func (o *storyServer) look(tb testing.TB, path string) string {
	tb.Helper()
	w := httptest.NewRecorder()
	o.serve(tb).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		tb.Fatalf("%s: %d %s", path, w.Code, w.Body.String())
	}
	return w.Body.String()
}

// The graph shows the outcome of each step as an icon and a text, and which edges were taken how
// often. Boxes can be shaded by cost and other values.
func TestTheGraphShowsWhatRan(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{failedStory(t), loopStory(t)}}
	failed, loop := "/runs/"+o.runs[0].run.ID, "/runs/"+o.runs[1].run.ID
	for path, wants := range map[string][]string{
		failed + "?view=graph": {`href="#n-decision"`, `href="#n-agent"`, `href="#n-approval"`, `sel lit"`, `class="e t"`,
			`class="e n"`, "extract_totals 1m 52s, failed, 3 attempts",
			`"request_scan not taken"`, "post_ledger not started, not started, side effects", `class="pip bad"`, "last==yes", "/graph.svg"},
		failed + "?view=graph&paint=took":              {"Shades:", "heat-5", "node fail heat-5 sel lit"},
		failed + "?view=graph&paint=attempts&zoom=150": {"3 attempts", `aria-current="true">150%`},
		failed + "?view=graph&zoom=fit":                {` fit" tabindex`},
		failed + "?view=graph&node=post_ledger":        {"dag foc", `class="e lit"`},
		loop + "?view=graph":                           {"×3", "draft 8.0 s ×3"},
		loop + "?view=graph&mode=ran":                  {"draft#3 8.0 s", "improve#3 running"},
	} {
		body := o.look(t, path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
	if strings.Contains(o.look(t, loop+"?view=graph"), "not taken") {
		t.Error("a node that the loop may still come to is called not taken")
	}
}

// A box counts down until its step continues automatically, and shows the number of iterations. The
// file shows the time at which it was drawn instead. The tab order follows the ranks of the boxes,
// not the document.
func TestTheGraphCountsDownAndIsInOrder(t *testing.T) {
	t.Parallel()
	s := tell(t, "01jr8k2mf0s0000000007qxd", `
id: backwards
start: fetch
nodes:
  post: {type: log}
  check: {type: decision}
  fetch: {type: http, input: {url: "https://example.com"}}
edges: [{from: fetch, to: check}, {from: check, to: post}]
`)
	s.try(domain.Entry{Node: "fetch", Failure: limited()}, 0, time.Second, domain.NodeFailed, false)
	s.row(time.Second, domain.Entry{Kind: domain.EntryWait, Node: "fetch", Item: -1, Reason: "retry", Status: domain.NodeWaiting})
	s.ends(0, domain.RunWaiting)
	due := morning.Add(52 * time.Second)
	s.run.WaitReason, s.waits = domain.WaitRetry, []domain.Wait{
		{Node: "fetch", Visit: 1, Item: -1, Reason: domain.WaitRetry, Since: storyStart, Due: due},
	}
	o := &storyServer{runs: []*story{s}}
	path := "/runs/" + s.run.ID
	for _, mode := range []string{"", "&mode=ran"} {
		body := o.look(t, path+"?view=graph"+mode)
		for _, want := range []string{fmt.Sprintf(`>in <tspan data-until="%d">52 s</tspan>`, due.UnixMilli()),
			`aria-label="fetch in 52 s, retrying"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", mode, want)
			}
		}
	}
	body := o.look(t, path+"?view=graph")
	var order []string
	for _, m := range regexp.MustCompile(`aria-label="(fetch|check|post) `).FindAllStringSubmatch(body, -1) {
		order = append(order, m[1])
	}
	if got := strings.Join(order, " "); got != "fetch check post" {
		t.Errorf("Tab goes %s", got)
	}
	if svg := o.look(t, path+"/graph.svg"); !strings.Contains(svg, ">in 52 s<") {
		t.Error("the file does not say when it goes on")
	}
}

// A plan of 5,000 steps is drawn as a few boxes around the selected one, on a page that loads
// quickly. A link shows the complete graph.
func TestLargeGraphsAreFolded(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{wideStory(t, "01jr8k2mf0s0000000007qxb", 5000)}}
	path := "/runs/" + o.runs[0].run.ID + "?view=graph"
	body := o.look(t, path)
	for _, want := range []string{"4,997 steps", "step_4999", "Show all 5,000"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := webtest.Packed(t, body); n > 22<<10 {
		t.Errorf("%d bytes packed", n)
	}
	if n := webtest.Packed(t, o.look(t, path+"&all=1")); n > 200<<10 {
		t.Errorf("all of it: %d bytes packed", n)
	}
}

// The SVG file is well-formed, regardless of the names in a run.
func TestTheGraphAsAFile(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{failedStory(t), hostileStory(t)}}
	for _, s := range o.runs {
		svg := o.look(t, "/runs/"+s.run.ID+"/graph.svg")
		for d := xml.NewDecoder(bytes.NewReader([]byte(svg))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v\n%s", err, svg)
			}
		}
		if !strings.Contains(svg, `fail"`) {
			t.Error("the file does not tell what failed")
		}
	}
}

// The SVG file shows the same as the graph on the page: the edges that were taken, how often, and
// the attempts of each step.
func TestTheGraphAsAFileShowsTheSame(t *testing.T) {
	t.Parallel()
	o := &storyServer{runs: []*story{failedStory(t), loopStory(t)}}
	for _, s := range o.runs {
		path := "/runs/" + s.run.ID
		page, file := o.look(t, path+"?view=graph"), o.look(t, path+"/graph.svg")
		for _, of := range []struct{ what, inPage, inFile string }{
			{"edges that were taken", `class="e t( lit)?( hd)?"`, `<g class="e[^"]* taken"`},
			{"edges that were not", `class="e n( lit)?( hd)?"`, `<g class="e[^"]* not"`},
			{"how often", `>×(\d+)<`, `>×(\d+)<`},
			{"attempts", `class="pip`, `class="t[ "]`},
			{"attempts that failed", `class="pip bad"`, `class="t bad"`},
		} {
			shown, filed := regexp.MustCompile(of.inPage).FindAllString(page, -1), regexp.MustCompile(of.inFile).FindAllString(file, -1)
			if len(shown) != len(filed) {
				t.Errorf("%s: %s: the page shows %d, the file %d", s.run.ID, of.what, len(shown), len(filed))
			}
		}
		for _, m := range regexp.MustCompile(`>×\d+<`).FindAllString(page, -1) {
			if !strings.Contains(file, m) {
				t.Errorf("%s: the file does not say %s", s.run.ID, m)
			}
		}
	}
	failed, loop := o.look(t, "/runs/"+o.runs[0].run.ID+"/graph.svg"), o.look(t, "/runs/"+o.runs[1].run.ID+"/graph.svg")
	for _, want := range []string{"<title>extract_totals: 1m 52s, failed, 3 attempts</title>",
		"<title>post_ledger: not started, side effects</title>", ` not"`, `class="t bad"`} {
		if !strings.Contains(failed, want) {
			t.Errorf("the file of the run that failed does not say %q", want)
		}
	}
	if !strings.Contains(loop, `<text class="x"`) || !strings.Contains(loop, "8.0 s ×3<") {
		t.Error("the file of the loop does not say how often")
	}
}

// The boxes in a block show the states of its child run, and link to it. For a foreach, that is the item that failed, until
// the user selects another one.
func TestTheStepsInABlockHaveStates(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: cards
nodes:
  charge:
    foreach: input
    do:
      nodes:
        reserve: {type: log, input: reserve}
        refuse: {type: fail, input: {code: card_refused, message: no}}
        note: {type: log, input: charged}
      edges:
        - {from: reserve, to: refuse, condition: 'expr: item == 2'}
        - {from: reserve, to: note}
`)
	run := site.Run(t, "cards", `[1, 2]`)
	children, err := site.Store.Runs(t.Context(), domain.RunFilter{Parent: run.ID})
	if err != nil || len(children.Items) != 2 {
		t.Fatalf("%d child runs, %v", len(children.Items), err)
	}
	b := site.Browser(t).Login()
	box := regexp.MustCompile(`<a href="/runs/(\w+)\?[^"]*" id="g0-\d" [^>]*aria-label="(\w+) [^"]*(completed|failed|not taken)`)
	look := func(query string, item int, want string) {
		t.Helper()
		p := b.Get("/runs/" + run.ID + "?view=graph" + query)
		var states []string
		child := children.Items[slices.IndexFunc(children.Items, func(r domain.Run) bool { return r.Parent.Item == item })].ID
		for _, m := range box.FindAllStringSubmatch(p.Body, -1) {
			states = append(states, m[2]+" "+m[3])
			if m[1] != child {
				t.Errorf("%q: the box of %s links to run %s, not to %s", query, m[2], m[1], child)
			}
		}
		if got := strings.Join(states, ", "); got != want {
			t.Errorf("%q: the boxes in the block are %q, not %q", query, got, want)
		}
		if link := `<a href="/runs/` + child + `">` + domain.ShortID(child) + "</a>"; !strings.Contains(p.Body, link) {
			t.Errorf("%q: the step has no link to its child run", query)
		}
		webtest.Safe(t, "graph", p.Body)
	}
	look("", 1, "reserve completed, refuse failed, note not taken")
	rows, err := site.Store.Journal(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	seq := rows[slices.IndexFunc(rows, func(e domain.Entry) bool { return e.Node == "charge" && e.Item == 0 })].Seq
	look(fmt.Sprintf("&step=%d", seq), 0, "reserve completed, refuse not taken, note completed")
}
