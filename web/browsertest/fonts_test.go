package browsertest

import "testing"

// Fallback fonts have the width of the web fonts, so that lines do not wrap differently when the
// web fonts load. The line height is set explicitly.
func TestFallbackFontsTakeTheSameRoom(t *testing.T) {
	d := newDaemon(t)
	b := d.tab()
	b.open("/help")
	for family, other := range map[string]string{"K Sans": "K0"} {
		got := eval[[]float64](b, `(async () => {
		  const c = document.createElement("canvas").getContext("2d"), out = [];
		  for (const f of [`+quoted(family)+`, `+quoted(other)+`]) {
		    const css = '100px "' + f + '"';
		    try { await document.fonts.load(css); } catch { return []; }
		    if (![...document.fonts].some((x) => x.family.replaceAll('"', "") === f && x.status === "loaded")) return [];
		    c.font = css;
		    out.push(c.measureText("Where it stands: extract_totals failed after 3 of 4 attempts, 11.2 s. Plan and run, Status, Started " +
"2026-03-09 02:47:13").width);
		  }
		  return out;
		})()`)
		if len(got) != 2 {
			t.Skipf("no fallback font for %s is installed", family)
		}
		if share := got[1] / got[0]; share < 0.98 || share > 1.02 {
			t.Errorf("%s is %.0f px wide, its fallback %.0f px", family, got[0], got[1])
		}
	}
}
