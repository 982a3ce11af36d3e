package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

// evil contains texts that attack a page: markup, htmx attributes, closing tags, terminal escape
// codes, and invisible, bidirectional, and control characters.
const evil = `<script>window.pwned=1</script><img src=x onerror="window.pwned=2"></textarea></pre></script><svg onload="window.pwned=3">` +
	`<a href="javascript:window.pwned=4" hx-get="/logout" hx-trigger="load" hx-on:click="window.pwned=5">x</a><meta http-equiv=refresh content="0;url=/evil">` +
	`<style>body{display:none}</style>"'` + "`${window.pwned=6}`{{constructor}}" +
	"\u202egnp.exe\u202c\u2066x\u2069\u200b\ufeff\u0007\u001b[31m\u001b]0;pwned\u0007\u001b[2J"

// largeLine is the length of a line in bytes. manyKeys is the number of keys of an object.
const (
	largeLine = 5 << 20
	manyKeys  = 100_000
)

// hostile creates runs whose plans, inputs, outputs, errors, logs, labels, and approval requests
// contain attacks.
func hostile(t *testing.T, d *daemon) []domain.Run {
	t.Helper()
	quotedEvil, err := jsonvalue.Encode(evil + "\x00 after NUL")
	must(t, err)
	world := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/line":
			fmt.Fprintf(w, `{"line": "%s"}`, strings.Repeat("0123456789abcdef", largeLine/16))
		case "/keys":
			var b strings.Builder
			b.WriteByte('{')
			for i := range manyKeys {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `"<b>key %d</b>": %d`, i, i)
			}
			b.WriteByte('}')
			fmt.Fprint(w, b.String())
		case "/deep":
			fmt.Fprint(w, strings.Repeat(`{"a":[`, 400)+"1"+strings.Repeat("]}", 400))
		default:
			fmt.Fprintf(w, `{"text": %s, %s: [%s]}`, quotedEvil, quotedEvil, quotedEvil)
		}
	}))
	t.Cleanup(world.Close)
	name, err := jsonvalue.Encode(evil[:200]) // plans limit names and reject invisible characters in them
	must(t, err)
	d.plan(fmt.Sprintf(`
id: hostile
name: %[2]s
description: %[2]s
nodes:
  text: {type: http, input: {url: "%[1]s/text"}}
  line: {type: http, needs: [text], input: {url: "%[1]s/line"}}
  keys: {type: http, needs: [line], input: {url: "%[1]s/keys"}}
  deep: {type: http, needs: [keys], input: {url: "%[1]s/deep"}}
  note: {type: log, needs: [deep], input: "${output.text.body.text}"}
  ask: {type: approval, needs: [note], input: {message: "${output.text.body.text}", form: {type: object, properties: {note: {type: string, title: %[2]s}}}}}
`, world.URL, name))
	d.plan("id: broken\nnodes:\n  fail: {type: json, input: {value: 1, path: \"${input}\"}}\n")
	var out []domain.Run
	for _, plan := range []string{"hostile", "broken"} {
		r, err := d.api.Start(
			t.Context(),
			domain.StartRequest{Plan: plan, Input: quotedEvil, Labels: map[string]string{"customer": "<b>" + evil[:40], "env": "<script>"}},
		)
		must(t, err)
		r, err = d.api.Wait(t.Context(), r.ID)
		must(t, err)
		out = append(out, r)
	}
	if out[0].Status != domain.RunWaiting || out[1].Status != domain.RunFailed {
		t.Fatalf("the runs are %s (%s) and %s", out[0].Status, out[0].Headline, out[1].Status)
	}
	return out
}

// Hostile texts remain text. Nothing is executed or loaded, no elements result from them, invisible
// characters are shown, and pages stay small and fast.
func TestHostileContent(t *testing.T) {
	d := newDaemon(t)
	runs := hostile(t, d)
	b := d.tab()
	paths := []string{
		"/",
		"/runs",
		"/runs?q=env%3Dx+%3Cscript%3E",
		"/runs?q=status:failed",
		"/plans",
		"/plans/hostile",
		"/plans/hostile/start",
		"/plans/hostile/edit",
		"/approvals",
		"/audit",
		"/runs/compare?a=" + runs[0].ID + "&b=" + runs[1].ID,
		"/find?q=%3Cscript%3E",
		"/plans?q=%3Cscript%3Ealert(1)%3C/script%3E",
	}
	for _, r := range runs {
		for _, v := range []string{"graph", "state", "log", "handoffs", "events", "io"} {
			paths = append(paths, "/runs/"+r.ID+"?view="+v)
		}
		for _, a := range []string{"fork", "rerun", "cancel", "resume"} {
			paths = append(paths, "/runs/"+r.ID+"/"+a)
		}
	}
	for seq := range 8 {
		paths = append(
			paths,
			fmt.Sprintf("/runs/%s?step=%d", runs[0].ID, seq+1),
			fmt.Sprintf("/runs/%s?view=state&cp=%d", runs[0].ID, seq+1),
		)
	}
	paths = append(paths, "/runs/"+runs[1].ID+"?step=1", "/runs/"+runs[0].ID+"/fork?at=1")
	if !everything() {
		paths = []string{
			"/",
			"/runs",
			"/approvals",
			"/plans/hostile",
			"/runs/" + runs[0].ID + "?step=1",
			"/runs/" + runs[0].ID + "?view=io",
			"/runs/" + runs[1].ID,
		}
	}
	// harm lists violations: executed or loaded markup, elements that result from it, and invisible
	// or bidirectional characters.
	const harm = `(() => { const out = [], m = document.querySelector("main");
	  if (window.pwned) out.push("executed " + window.pwned);
	  if (document.title.includes("pwned")) out.push("title " + document.title);
	  for (const e of m.querySelectorAll("script, img, style, iframe, object, [onerror], [onload], [hx-on\\:click], meta, a[href^='javascript' i], " +
"[hx-get='/logout']")) out.push(e.outerHTML.slice(0, 100));
	  const found = m.innerText.match(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u0007\u001b\u0000]/);
	  if (found) out.push("U+" + found[0].codePointAt(0).toString(16) + " near " + m.innerText.slice(Math.max(0, found.index - 60), found.index + 20));
	  if (getComputedStyle(document.body).display === "none") out.push("the page was hidden");
	  return out; })()`
	for _, width := range []int64{1440, 390} {
		b.width(width)
		for i, path := range paths {
			if width < 1440 && i%5 != 0 {
				continue
			}
			b.open(path)
			where := fmt.Sprintf("%s at %d px", path, width)
			for _, h := range eval[[]string](b, harm) {
				t.Errorf("%s: %s", where, h)
			}
			if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s: scrolls sideways by %d px", where, over)
			}
			elements, text := eval[int](
				b,
				`document.querySelectorAll("*").length`,
			), eval[int](
				b,
				`document.documentElement.outerHTML.length`,
			)
			if elements > 20_000 || text > 2<<20 {
				t.Errorf("%s: %d elements in %d characters", where, elements, text)
			}
			b.quiet(where)
			b.keep(fmt.Sprintf("hostile-%d-%02d", width, i))
		}
	}
}

// Downloads of hostile values have a content type that browsers do not execute.
func TestHostileDownloads(t *testing.T) {
	large(t)
	d := newDaemon(t)
	runs := hostile(t, d)
	b := d.tab()
	b.open("/runs/" + runs[0].ID + "?step=1")
	links := eval[[]string](b, `[...document.querySelectorAll("main a[href*='/raw/']")].map((a) => a.getAttribute("href"))`)
	if len(links) == 0 {
		t.Fatal("no page has a download")
	}
	for _, l := range links {
		h := eval[map[string]string](
			b,
			`fetch(`+quoted(
				l,
			)+`).then((r) => ({type: r.headers.get("content-type"), as: r.headers.get("content-disposition"), sniff: r.headers.get("x-content-type-options"), policy: r.headers.get("content-security-policy")}))`,
		)
		if !strings.HasPrefix(h["as"], "attachment") || strings.Contains(h["type"], "html") || h["sniff"] != "nosniff" ||
			!strings.Contains(h["policy"], "sandbox") {
			t.Errorf("%s has the headers %v", l, h)
		}
	}
}
