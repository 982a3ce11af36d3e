package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// preview is the prediction on a preview page: for each heading, the nodes in its list.
type preview map[string][]string

const (
	rerunHeading       = "Runs again"
	firstRunHeading    = "Runs for the first time"
	keptHeading        = "Kept, not repeated"
	droppedHeading     = "Not kept"
	sideEffectsHeading = "Remaining steps with side effects"
)

// read parses the lists of a preview page. The counts in the headings must match the lists.
func read(t *rapid.T, body string) preview {
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	out := preview{}
	heading, count := "", -1
	var visit func(n *html.Node)
	visit = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "h2":
				heading, count = textOf(n), -1
				if name, number, ok := strings.Cut(heading, " ("); ok {
					c, err := strconv.Atoi(strings.TrimSuffix(number, ")"))
					if err != nil {
						t.Fatalf("heading %q", heading)
					}
					heading, count = name, c
				}
			case "ul":
				for li := n.FirstChild; li != nil; li = li.NextSibling {
					if li.Type == html.ElementNode && li.Data == "li" {
						out[heading] = append(out[heading], textOf(li))
					}
				}
				if count >= 0 && len(out[heading]) != count {
					t.Fatalf("%q lists %d steps and says %d", heading, len(out[heading]), count)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c)
		}
	}
	visit(doc)
	return out
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(textOf(c))
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// nodes returns the names in a list, without the text after them.
func (a preview) nodes(heading string) map[string]bool {
	out := map[string]bool{}
	for _, text := range a[heading] {
		name, _, _ := strings.Cut(text, " ")
		out[name] = true
	}
	return out
}

// drawPlan returns a random plan whose steps call an HTTP server. Whether they fail depends on
// mood, so that resuming a failed run can succeed.
func drawPlan(t *rapid.T, id, server string) string {
	n := rapid.IntRange(2, 7).Draw(t, "nodes")
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\nnodes:\n", id)
	edges, asks := rapid.Bool().Draw(t, "edges"), map[int]bool{}
	for i := range n {
		needs := ""
		if !edges && i > 0 {
			var list []string
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
					list = append(list, fmt.Sprintf("n%d", j))
				}
			}
			if len(list) > 0 {
				needs = ", needs: [" + strings.Join(list, ", ") + "]"
			}
		}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			fmt.Fprintf(&b, "  n%d: {type: http, effect: read, input: {url: \"%s/n%d\"}%s}\n", i, server, i, needs)
		case 1:
			fmt.Fprintf(&b, "  n%d: {type: http, effect: idempotent, input: {method: PUT, url: \"%s/n%d\"}%s}\n", i, server, i, needs)
		case 2:
			fmt.Fprintf(
				&b,
				"  n%d: {type: calculator, foreach: \"${input.list}\", input: {expression: \"10/x\", values: {x: \"${item}\"}}%s}\n",
				i,
				needs,
			)
		case 3:
			asks[i] = true
			fmt.Fprintf(&b, "  n%d: {type: approval, input: {message: \"go on?\"}%s}\n", i, needs)
		default:
			fmt.Fprintf(&b, "  n%d: {type: set, input: {i: %d}%s}\n", i, i, needs)
		}
	}
	if edges {
		b.WriteString("edges:\n")
		for i := 1; i < n; i++ {
			from := rapid.IntRange(0, i-1).Draw(t, "from")
			condition := rapid.SampledFrom([]string{"", ", condition: \"expr: input.x > 3\"", ", condition: failed",
				", condition: default"}).
				Draw(t, "condition")
			if condition == ", condition: default" && asks[from] {
				condition = "" // a default edge from an approval would be taken after a rejection
			}
			fmt.Fprintf(&b, "  - {from: n%d, to: n%d%s}\n", from, i, condition)
		}
	}
	return b.String()
}

// The prediction of a preview page is exactly what the run then does. Only listed steps run, kept
// steps do not run again, and all remaining side effects are listed. Plans, runs, and actions are
// random, and all requests go through the pages.
func TestPredictionIsExecutionThroughThePages(t *testing.T) {
	t.Parallel()
	var mood atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (mood.Load()+int64(len(r.URL.Path))+int64(r.URL.Path[len(r.URL.Path)-1]))%3 == 0 {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	count, acted := 0, map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		count++
		id := fmt.Sprintf("plan-%d", count)
		src := drawPlan(rt, id, server.URL)
		form := b.Get("/plans/new").Hidden()
		form.Set("source", src)
		form.Set("do", "save")
		if p := b.Post("/plans/new", form); p.Code != http.StatusSeeOther {
			rt.Skip("not a plan")
		}
		mood.Store(rapid.Int64Range(0, 2).Draw(rt, "mood"))
		form = b.Get("/plans/" + id + "/start").Hidden()
		form.Set(
			"input",
			rapid.SampledFrom([]string{`{"x":4,"list":[1,2]}`, `{"x":1,"list":[0,1]}`, `{"x":4,"list":[]}`}).Draw(rt, "input"),
		)
		started := b.Post("/plans/"+id+"/start", form)
		if started.Code != http.StatusSeeOther {
			rt.Fatalf("start: got status %d, want %d\n%s", started.Code, http.StatusSeeOther, src)
		}
		run := waitInactive(rt, site, started.Location)
		for range rapid.IntRange(1, 3).Draw(rt, "acts") {
			mood.Add(1)
			verb := rapid.SampledFrom([]string{"resume", "resume", "fork", "rerun", "cancel"}).Draw(rt, "verb")
			next, ok := actAsPreviewed(rt, site, b, run, verb, src)
			if !ok {
				return
			}
			acted[verb]++
			run = next
		}
	})
	t.Logf("actions through pages: %v", acted)
}

// waitInactive waits until a run is no longer active.
func waitInactive(t *rapid.T, site *webtest.Site, location string) domain.Run {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := site.Engine.Wait(ctx, strings.TrimPrefix(location, "/runs/"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// actAsPreviewed opens a preview, submits its form, and compares the result with the preview.
func actAsPreviewed(t *rapid.T, site *webtest.Site, b *webtest.Browser, run domain.Run, verb, src string) (domain.Run, bool) {
	path := "/runs/" + run.ID + "/" + verb
	if verb == "fork" {
		points, err := site.Engine.Preview(context.Background(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionFork})
		if err != nil {
			t.Fatal(err)
		}
		closed := slices.DeleteFunc(points.Points, func(p domain.ForkPoint) bool { return !p.Closed })
		path += fmt.Sprintf("?at=%d", rapid.SampledFrom(closed).Draw(t, "at").Seq)
	}
	page := b.Get(path)
	if page.Code != http.StatusOK {
		t.Fatalf("%s: got status %d, want %d: %s", path, page.Code, http.StatusOK, page.Body)
	}
	form := page.Hidden()
	if form.Get("idem") == "" {
		return run, false // rejected; the preview has no button
	}
	said := read(t, page.Body)
	act := url.Values{"do": {"act"}, "reason": {"try"}}
	for k, v := range form {
		act[k] = v
	}
	if _, at, ok := strings.Cut(path, "at="); ok {
		act.Set("at", at)
	}
	answer := b.Post("/runs/"+run.ID+"/"+verb, act)
	if answer.Code != http.StatusSeeOther {
		t.Fatalf("%s was previewed, but submitting returned status %d\n%s", path, answer.Code, src)
	}
	after := waitInactive(t, site, answer.Location)
	from := run.LastSeq
	if after.ID != run.ID {
		from = lastKeptSeq(t, site, after)
	}
	ran, touched := map[string]bool{}, map[string]bool{}
	rows, err := site.Store.JournalPage(context.Background(), after.ID, from, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rows {
		if e.Node == "" || e.Kind == domain.EntryResolve || e.Kind == domain.EntryReset || e.Status == domain.NodeSkipped ||
			e.Status == domain.NodeCancelled {
			continue
		}
		ran[e.Node] = true
		touched[e.Node] = touched[e.Node] || e.Effect == "idempotent" || e.Effect == "unsafe"
	}
	names := said.nodes(rerunHeading)
	for n := range said.nodes(firstRunHeading) {
		names[n] = true
	}
	fail := func(format string, args ...any) {
		t.Fatalf("%s\n%s: %s\nsaid %v\nran %v", src, path, fmt.Sprintf(format, args...), said, ran)
	}
	if verb == "cancel" {
		if len(ran) > 0 || after.Status != domain.RunCancelled {
			fail("the cancelled run is %s", after.Status)
		}
		return after, true
	}
	for n := range ran {
		if !names[n] {
			fail("%s ran and was not announced", n)
		}
		if touched[n] && !said.nodes(sideEffectsHeading)[n] {
			fail("%s touched the world outside and was not announced to", n)
		}
	}
	for n := range said.nodes(keptHeading) {
		if ran[n] && !names[n] {
			fail("%s was to be kept and ran", n)
		}
	}
	if len(names) > 0 && len(ran) == 0 {
		fail("nothing ran")
	}
	return after, true
}

// lastKeptSeq returns the last journal row that a new run took over from its source.
func lastKeptSeq(t *rapid.T, site *webtest.Site, run domain.Run) int64 {
	rows, err := site.Store.JournalPage(context.Background(), run.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for _, e := range rows {
		if e.At.Before(run.CreatedAt) {
			last = e.Seq
		}
	}
	return last
}
