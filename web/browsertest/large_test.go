package browsertest

import (
	"fmt"
	"strings"
	"testing"
)

// Pages of plans with 2,000 steps and of runs with 500 steps or more are small, fast, and
// accessible. The requested part is in view, and every step can be reached.
func TestLargePlansAndRuns(t *testing.T) {
	large(t)
	d := newDaemon(t)
	d.plan(chain("chain-500", 500))
	d.plan(chain("chain-2000", 2000))
	var broad strings.Builder // 2,000 parallel steps, and one step after them
	broad.WriteString("id: broad-2000\nlimits: {max_steps: 5000}\nnodes:\n")
	var all []string
	for i := range 1999 {
		fmt.Fprintf(&broad, "  part_%d: {type: set, input: %d}\n", i, i)
		all = append(all, fmt.Sprintf("part_%d", i))
	}
	fmt.Fprintf(&broad, "  sum: {type: json, input: {value: 1, path: \"${input}\"}, needs: [%s]}\n", strings.Join(all, ", "))
	d.plan(broad.String())
	long, longest, wide := d.run("chain-500", `null`), d.run("chain-2000", `null`), d.run("broad-2000", `"["`)
	b := d.tab()
	for _, l := range []look{{"light", 1440, "en"}, {"dark", 390, "en"}} {
		b.width(l.width)
		b.cookie("theme", l.theme)
		for n, path := range []string{"/plans/chain-2000", "/plans/broad-2000", "/plans/chain-2000/edit", "/runs/" + long.ID,
			"/runs/" + long.ID + "?view=graph", "/runs/" + longest.ID, "/runs/" + longest.ID + "?view=graph",
			"/runs/" + longest.ID + "?step=1000", "/runs/" + longest.ID + "?view=state&cp=1500",
			"/runs/" + longest.ID + "?view=events", "/runs/" + wide.ID, "/runs/" + wide.ID + "?view=graph"} {
			b.open(path)
			where := fmt.Sprintf("%s at %d px", path, l.width)
			elements, bytes := eval[int](
				b,
				`document.querySelectorAll("*").length`,
			), eval[int](
				b,
				`performance.getEntriesByType("navigation")[0].transferSize`,
			)
			t.Logf("%-60s %6d elements, %4d KB on the wire", where, elements, bytes>>10)
			if elements > 12_000 || bytes > 120<<10 {
				t.Errorf("%s: %d elements in %d bytes", where, elements, bytes)
			}
			b.accessible(where)
			for _, f := range eval[[]string](b, fits) {
				t.Errorf("%s: %s", where, f)
			}
			b.quiet(where)
			b.keep(fmt.Sprintf("large-%d-%02d", l.width, n))
		}
	}
	// The failed step is selected and in view, although 1,999 others ran before it.
	b.width(1440)
	b.open("/runs/" + wide.ID)
	if h := eval[string](b, `document.querySelector("#ih").innerText`); !strings.Contains(h, "sum") {
		t.Errorf("the page opens at %q", h)
	}
	// The address can select a step in the middle.
	b.open("/runs/" + longest.ID + "?step=1000")
	if h := eval[string](b, `document.querySelector("#ih").innerText`); !strings.Contains(h, "step_999") {
		t.Errorf("step 1000 is %q", h)
	}
}
