package web_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/walk"
	"github.com/kairosd/kairosd/web/webtest"
)

// Graphs and timelines mark the same non-idempotent steps that the preview of a rerun lists. It
// does not matter whether the plan, the tool, or the arguments make them so.
func TestPicturesMarkTheEffectsThatPreviewsAnnounce(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	const source = `id: mixed
nodes:
  wire: {type: set, effect: unsafe, input: 1}
  look: {type: http, needs: [wire], on_error: skip, input: {url: "http://127.0.0.1:9/x"}}
  keep: {type: http, needs: [look], when: always, on_error: skip, effect: idempotent, input: {method: POST, url: "http://127.0.0.1:9/x"}}
  send: {type: http, needs: [keep], when: always, input: {method: POST, url: "http://127.0.0.1:9/x"}}
`
	site.Plan(t, source)
	run := site.Run(t, "mixed", "null")
	preview, err := site.Engine.Preview(t.Context(), site.Admin, domain.ActionRequest{Run: run.ID, Action: domain.ActionRerun})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range slices.Concat(preview.New, preview.Again) {
		if s.Effect == string(walk.EffectUnsafe) {
			want = append(want, s.Node)
		}
	}
	slices.Sort(want)
	if !slices.Equal(want, []string{"send", "wire"}) {
		t.Fatalf("the preview of a rerun shows %v", want)
	}
	check := b.Get("/plans/new").Hidden()
	check.Set("source", source)
	pages := map[string]string{
		"the editor": b.Do(
			webtest.Request(
				t,
				http.MethodPost,
				site.URL+"/plans/check",
				check.Encode(),
				"Content-Type",
				"application/x-www-form-urlencoded",
				"Origin",
				site.URL,
				"Sec-Fetch-Site",
				"same-origin",
				"HX-Request",
				"true",
				"HX-Target",
				"problems",
			),
		).Body,
	}
	for _, path := range []string{"/runs/" + run.ID, "/runs/" + run.ID + "?view=graph",
		"/runs/" + run.ID + "?view=graph&mode=ran", "/runs/" + run.ID + "/graph.svg", "/plans/mixed", "/plans/mixed/v/1/graph.svg"} {
		pages[path] = b.Get(path).Body
	}
	marked := regexp.MustCompile(`(?:<title>|aria-label=")(send|look|keep|wire)[ :][^"<]*side effects[<"]`)
	for path, body := range pages {
		var got []string
		for _, m := range marked.FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s marks %v, want %v", path, got, want)
		}
	}
	// The inspector also states it in words.
	for node, unsafe := range map[string]bool{"send": true, "look": false} {
		about := regexp.MustCompile(`(?s)<aside[^>]*id="inspector".*?</header>`).
			FindString(b.Get("/runs/" + run.ID + "?view=graph&node=" + node).Body)
		if got := strings.Contains(about, "side effects"); got != unsafe {
			t.Errorf("the inspector of %s: side effects shown: %v\n%s", node, got, webtest.Text(about))
		}
	}
}
