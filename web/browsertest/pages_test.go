package browsertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"
)

//go:embed testdata/axe.min.js
var axe string

// audited is a script that returns the violations that axe-core finds on a page.
const audited = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) =>
  JSON.stringify(r.violations.map((v) => v.id + ": " + v.help + " " + v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", "))))`

// accessible checks the current page with axe-core.
func (b *tab) accessible(where string) {
	b.t.Helper()
	// Elements below the sticky head of a scrolled page cannot be clicked.
	eval[bool](b, `scrollTo({ top: 0, behavior: "instant" }), true`)
	// Elements that fade in do not have their final colors yet.
	eval[bool](
		b,
		`Promise.all(document.getAnimations().filter((a) => a.effect.getTiming().iterations !== Infinity).map((a) => a.finished.catch(() => 0))).then(() => true)`,
	)
	// A row below the bar of a page can be clicked after a scroll.
	bars := func(position string) {
		eval[bool](b, `document.querySelectorAll(".row.bar").forEach((e) => { e.style.position = "`+position+`"; }), true`)
	}
	bars("static")
	defer bars("")
	eval[bool](b, axe+"; true")
	var violations []string
	if err := json.Unmarshal([]byte(eval[string](b, audited)), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("%s: %s", where, v)
	}
}

// look is a combination of theme, width, and language.
type look struct {
	theme string
	width int64
	lang  string
}

// looks returns all combinations, or a sample of them.
func looks() []look {
	if !everything() {
		return []look{{"light", 1440, "en"}, {"dark", 1440, "en"}, {"light", 390, "en"}, {"dark", 390, "es"}}
	}
	var out []look
	for _, lang := range []string{"en", "es"} {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1440, 820, 390} {
				out = append(out, look{theme, width, lang})
			}
		}
	}
	return out
}

// In every look, axe-core finds no violations on any page, no page scrolls horizontally, and there
// are no console errors or policy violations.
func TestPagesAreAccessibleAndWithinPolicy(t *testing.T) {
	d := newDaemon(t)
	paths := d.furnished().Paths()
	all := looks()
	for n, l := range all {
		t.Run(fmt.Sprintf("%s-%s-%d", l.lang, l.theme, l.width), func(t *testing.T) {
			b := d.tabOf(t)
			b.width(l.width)
			b.cookie("theme", l.theme)
			b.cookie("lang", l.lang)
			for i, path := range paths {
				if !everything() && i%24 != 6*n { // a different sample in each look
					continue
				}
				b.open(path)
				where := fmt.Sprintf("%s (%s, %d px, %s)", path, l.theme, l.width, l.lang)
				if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
					t.Errorf("%s: scrolls sideways by %d px", where, over)
				}
				b.accessible(where)
				b.quiet(where)
				b.keep(fmt.Sprintf("%s-%s-%d-%02d", l.lang, l.theme, l.width, i))
			}
		})
	}
}

// Pages stay accessible after scripts change them.
func TestPagesStayAccessible(t *testing.T) {
	large(t)
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.open("/plans/ledger/edit")
	b.fill(`textarea[name="source"]`, "id: ledger\nnodes:\n  check: {type: nonsense}\n")
	b.until("the problems are shown", there("#problems li"))
	b.accessible("the editor with problems")
	b.open("/runs").live()
	d.run("report", `null`)
	b.until("the list says that a run is new", there("#pill a"))
	b.accessible("the list with a new run")
	b.open("/runs/" + s.Waiting.ID).live()
	d.decide(s.Waiting.ID)
	b.until("the page shows that the run has completed", there("#head h1 .st.ok"))
	b.accessible("the run after its end")
	b.quiet("pages that were changed by scripts")
}
