package run_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// Two checkpoints of a run are compared: the changed and the unchanged values.
func TestTwoCheckpointsAreCompared(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	run := site.Seed(t).Completed
	b := site.Browser(t).Login()
	webtest.HasTexts(
		t,
		b.Get("/runs/"+run.ID+"?view=state&cp=5&against=1"),
		http.StatusOK,
		"Differences from cp 1 after list.",
		"output.end",
		"output.square[0]",
		"1 output is the same: list",
		"end the comparison",
	)
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?view=state&cp=1&against=5"), http.StatusOK, `<span class="del">− `)
	webtest.HasTexts(t, b.Get("/runs/"+run.ID+"?view=state&cp=5&against=5"), http.StatusOK, "output.list", "compare")
}

// The tree of related runs is the same for each of them.
func TestLineageIsATree(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	act := func(r domain.ActionRequest) domain.Run {
		run, err := site.Engine.Act(t.Context(), site.Admin, r)
		if err != nil {
			t.Fatal(err)
		}
		if run, err = site.Engine.Wait(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		return run
	}
	fork := act(domain.ActionRequest{Run: seed.Failed.ID, Action: domain.ActionFork, At: 1})
	again := act(domain.ActionRequest{Run: fork.ID, Action: domain.ActionRerun})
	b := site.Browser(t).Login()
	for _, id := range []string{seed.Failed.ID, fork.ID, again.ID} {
		p := b.Get("/runs/" + id + "?view=lineage")
		webtest.HasTexts(t, p, http.StatusOK, "fork at checkpoint 1", "rerun", "this run",
			"/runs/"+seed.Failed.ID, "/runs/"+fork.ID, "/runs/"+again.ID)
		if first := strings.Index(p.Body, `class="family"`); !strings.HasPrefix(
			webtest.Text(p.Body[first:]),
			`class="family"> Failed ledger`,
		) {
			t.Errorf("the tree begins with %.60q", webtest.Text(p.Body[first:]))
		}
	}
	webtest.HasTexts(t, b.Get("/runs/"+fork.ID), http.StatusOK, "/runs/"+fork.ID+"?view=lineage", "2 related runs")
	webtest.HasTexts(t, b.Get("/runs/zzzzzz?view=lineage"), http.StatusNotFound)
}

// Two runs are compared step by step. A link shows the difference of two outputs.
func TestCompareShowsHowOutputsDiffer(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(
		t,
		"id: sum\nnodes:\n  a: {type: set, input: {total: \"${input.n}\", same: 1}}\n  b: {type: set, input: 2}\n"+
			"edges: [{from: a, to: b}]\n",
	)
	x, y := site.Run(t, "sum", `{"n": 1}`), site.Run(t, "sum", `{"n": 2}`)
	b := site.Browser(t).Login()
	path := "/runs/compare?a=" + x.ID + "&b=" + y.ID
	webtest.HasTexts(
		t,
		b.Get(path),
		http.StatusOK,
		"They first differ at a: its output differs",
		`id="input">Input`,
		`.n</dt><dd>1</dd><dd>2</dd>`,
		"step=a#difference",
		`class="strip"`,
	)
	webtest.HasTexts(t, b.Get(path+"&step=a"), http.StatusOK, `id="difference">Output of a`, `.total</dt><dd>1</dd><dd>2</dd>`)
}

// Pages stay small for values and logs of any size and content, and all of it is reachable: a line
// of 5 MB, a log of 10,000 lines, and control characters.
func TestPagesStayBounded(t *testing.T) {
	t.Parallel()
	s := tell(
		t,
		"01jr8k2mf0s0000000007qxh",
		"id: big\nnodes:\n  big: {type: set, input: 1}\n  many: {type: log, input: x}\nedges: [{from: big, to: many}]\n",
	)
	line := strings.Repeat("<b>x</b>\u202e\x1b[31m", 5<<20/17)
	s.done("big", "many", 0, time.Second, string(encoded(line)))
	var log strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&log, `,{"level":"%s","message":"line %d of it"}`, []string{"info", "warn", "error"}[i%3], i+1)
	}
	s.try(
		domain.Entry{
			Node: "many",
			Output: domain.RawJSON(
				`{"data":"data:image/png;base64,` + strings.Repeat("iVBOR0KG", 1000) + `","list":[` + strings.Repeat("1,", 50_000) + `1]}`,
			),
			Log: domain.RawJSON(`{"lines":[` + log.String()[1:] + `]}`),
		},
		time.Second,
		2*time.Second,
		domain.NodeCompleted,
		true,
	)
	s.run.Output = encoded(line)
	s.ends(2*time.Second, domain.RunCompleted)
	o := &storyServer{runs: []*story{s}}
	path := "/runs/" + s.run.ID
	for query, wants := range map[string][]string{
		"?step=big&tab=output":                 {"Only its beginning is shown.", "Show the end", "&lt;b&gt;x&lt;/b&gt;⟨U+202E⟩⟨U+001B⟩"},
		"?step=many&tab=output":                {"image/png, ", "Not all of it is shown.", "[ 50001 ]"},
		"?step=big&tab=change":                 {"Too long to compare here."},
		"?view=io":                             {"Only its beginning is shown."},
		"?view=state":                          {"Too long to show here"},
		"?view=log":                            {"Lines 8,001 to 10,000 of 10,000", `id="L10000"`},
		"?view=log&lines=4000":                 {"Lines 6,001 to 10,000 of 10,000", "2,000 older lines", `id="L6001"`},
		"?view=log&delta=1":                    {"+0 ms"},
		"?view=log&line=3":                     {"Lines 1 to 2,000 of 10,000", `id="L3"`},
		"?view=log&level=error&logq=line+9999": {"line 9999 of it"},
		"?view=log&logstep=big":                {"No line matches."},
		"/steps/2?part=output":                 {"Bytes 1 to 65,536 of "},
		"/steps/2?part=output&from=65536":      {"Bytes 65,537 to 131,072 of ", "Previous", "Last"},
		"/steps/2?part=output&from=end":        {"First"},
		"/steps/2":                             {"Show more"},
	} {
		body := o.look(t, path+query)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q", query, want)
			}
		}
		limit := 120 << 10
		if strings.Contains(query, "view=log") {
			limit = 800 << 10
			if strings.Contains(query, "lines=4000") {
				limit *= 2
			}
		}
		if strings.Contains(query, "part=") { // every second character is escaped
			limit = 400 << 10
		}
		if len(body) > limit {
			t.Errorf("%s: %d bytes", query, len(body))
		}
		if strings.ContainsAny(body, "\u202e\x1b") {
			t.Errorf("%s: an invisible character came through", query)
		}
		webtest.Safe(t, query, body)
	}
}

// A comparison first shows the difference of the inputs. A step that differs only in a date is not
// the first difference.
func TestCompareLeadsWithTheInput(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: fetch
nodes:
  a: {type: set, input: {date: "${input.date}"}}
  b: {type: set, input: {port: "${input.port}", date: "${input.date}"}}
edges: [{from: a, to: b}]
`)
	x := site.Run(t, "fetch", `{"date": "2026-11-23T05:45:23Z", "port": 18598}`)
	y := site.Run(t, "fetch", `{"date": "2026-11-24T05:45:23Z", "port": 18599}`)
	b := site.Browser(t).Login()
	path := "/runs/compare?a=" + x.ID + "&b=" + y.ID
	// Selecting two rows of the list leads to the same page.
	chosen := b.Get("/bulk/new?do=compare&q=&run=" + x.ID + "&run=" + y.ID)
	if chosen.Code != http.StatusSeeOther || chosen.Location != path {
		t.Errorf("two chosen runs lead to %d %s", chosen.Code, chosen.Location)
	}
	p := b.Get(path)
	text := webtest.Text(p.Body)
	lead, differs := strings.Index(text, "The input differs: .port is 18598 in"), strings.Index(text, "They first differ at b")
	if p.Code != http.StatusOK || lead < 0 || differs < lead {
		t.Errorf("%s: %d\n%s", path, p.Code, text)
	}
	_, input, _ := strings.Cut(p.Body, `id="input"`)
	open, folded, _ := strings.Cut(input, "<details>")
	if !strings.Contains(open, ".port</dt><dd>18598</dd>") || !strings.Contains(folded, ".date</dt>") ||
		!strings.Contains(folded, "1 date, ID, or duration") {
		t.Errorf("%s: the port is not open, or the date is not folded\n%s", path, text)
	}
	webtest.HasTexts(t, b.Get("/bulk/new?do=compare&run="+x.ID), http.StatusUnprocessableEntity, "two can be compared")
}
