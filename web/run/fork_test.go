package run_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The server checks the edits of a fork while the user types. It shows the effect of the edits and
// the steps that run, and keeps the text of invalid values.
func TestAForkIsEditedAndChecked(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: sums
nodes:
  a: {type: set, input: {total: 5, currency: EUR}}
  b: {type: set, input: {twice: "${output.a.total}"}}
  c: {type: set, input: {i: 1}}
edges: [{from: a, to: b}, {from: b, to: c}]
`)
	run := site.Run(t, "sums", `{"x": 1}`)
	b := site.Browser(t).Login()
	path := "/runs/" + run.ID + "/fork"
	page := b.Get(path + "?at=2")
	webtest.HasTexts(t, page, http.StatusOK, `name="edit.a"`, `name="edit.b"`, `hx-target="#check"`, "Kept, not repeated (2)")
	for _, name := range []string{"a", "b"} { // the original is shown next to each field at first
		webtest.HasTexts(t, page, http.StatusOK, `Output of `+name+` <span class="hint">Original value</span> <textarea readonly`)
	}
	form := page.Hidden()
	form.Set("at", "2")
	with := func(do string, set map[string]string) url.Values {
		f := url.Values{"do": {do}}
		for k, v := range form {
			f[k] = v
		}
		for k, v := range set {
			f.Set(k, v)
		}
		return f
	}
	edit := map[string]string{"edit.a": "{\r\n  \"total\": 7,\r\n  \"currency\": \"EUR\"\r\n}", "edit.b": form.Get("was.b")}
	webtest.HasTexts(
		t,
		b.Post(path, with("check", edit)),
		http.StatusOK,
		"Effect of the edits",
		"output.a",
		`<span class="del">− .total  5`,
		`<span class="ins">+ .total  7`,
		"Runs again (2)",
		"it read the output of a",
	)
	// The page reports that an unused value has no effect.
	webtest.HasTexts(
		t,
		b.Post(path, with("check", map[string]string{"edit.b": `{"twice": 8}`, "edit.a": form.Get("was.a")})),
		http.StatusOK,
		"+ .twice  8",
	)
	wrong := with("act", map[string]string{"edit.a": `{"total": `})
	webtest.HasTexts(
		t,
		b.Post(path, wrong),
		http.StatusUnprocessableEntity,
		"1 value is not JSON",
		`&#34;total&#34;: </textarea>`,
		`aria-invalid="true"`,
		"Original value",
	)
	forked := b.Post(path, with("act", edit))
	if forked.Code != http.StatusSeeOther {
		t.Fatalf("fork: %d %s", forked.Code, forked.Body)
	}
	after, err := site.Engine.Wait(t.Context(), strings.TrimPrefix(forked.Location, "/runs/"))
	if err != nil || after.Status != domain.RunCompleted {
		t.Fatalf("%s %v", after.Status, err)
	}
	webtest.HasTexts(t, b.Get(forked.Location+"?step=b&tab=output"), http.StatusOK, `class="n">7</span>`)
	// An unchanged form edits nothing, although browsers send other line breaks.
	same := b.Post(
		path,
		with("check", map[string]string{"edit.a": strings.ReplaceAll(form.Get("was.a"), "\n", "\r\n"), "input": `{ "x": 1 }`}),
	)
	if strings.Contains(same.Body, "Effect of the edits") {
		t.Error("an unchanged form is said to change something")
	}
	// An input that does not match the schema is reported in the form.
	site.Plan(t, "id: strict\ninput: {type: object, required: [n], properties: {n: {type: number}}}\nnodes:\n  a: {type: set, input: 1}\n")
	strict := site.Run(t, "strict", `{"n": 1}`)
	path = "/runs/" + strict.ID + "/rerun"
	form = b.Get(path).Hidden()
	webtest.HasTexts(
		t,
		b.Post(path, with("act", map[string]string{"input": `{"n": "many"}`})),
		http.StatusUnprocessableEntity,
		`&#34;many&#34;`,
		`role="alert"`,
	)
}

// By default, a fork starts before the failure, and shows only the last output and the edited ones,
// even for a run of twenty steps.
func TestAForkStartsBeforeTheFailure(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	var nodes, edges strings.Builder
	for i := range 20 {
		fmt.Fprintf(&nodes, "  s%d: {type: set, input: {n: %d}}\n", i, i)
		fmt.Fprintf(&edges, "  - {from: s%d, to: s%d}\n", i, i+1)
	}
	const last = "  s20: {type: json, input: {value: 1, path: \"${input.path}\"}}\n"
	site.Plan(t, "id: long\nnodes:\n"+nodes.String()+last+"edges:\n"+edges.String())
	run := site.Run(t, "long", `{"path": "]"}`)
	if run.Status != domain.RunFailed {
		t.Fatalf("the run is %s", run.Status)
	}
	b := site.Browser(t).Login()
	path := "/runs/" + run.ID + "/fork"
	page := b.Get(path)
	if at := page.Hidden(); page.Code != http.StatusOK || !strings.Contains(page.Body, `<option value="20" selected>`) {
		t.Errorf("the fork does not start after the 20th checkpoint: %d %v", page.Code, at)
	}
	open := func(p webtest.Page) int { return strings.Count(p.Body, `<details class="fold" open><summary>s`) }
	if folded := strings.Count(page.Body, `<summary>s`); folded != 19 || open(page) != 0 {
		t.Errorf("%d outputs are folded, %d are open", folded, open(page))
	}
	webtest.Has(t, page, "the fork", "Edit one of 19 other kept outputs", "Output of s19")
	form := page.Hidden()
	form.Set("at", "20")
	form.Set("do", "check")
	form.Set("edit.s7", `{"n": 70}`)
	if p := b.Post(path, form); open(p) != 1 {
		t.Errorf("%d outputs are open after one edit", open(p))
	}
	if p := b.Get(path + "?at=0"); strings.Contains(p.Body, `<option value="20" selected>`) {
		t.Error("a chosen checkpoint is replaced by the default")
	}
}
