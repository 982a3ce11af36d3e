package browsertest

import "testing"

// What is shown until a font is there takes the room that the font will take: nothing
// moves when it comes (UI 3.2.13).
func TestFallbackFontsTakeTheSameRoom(t *testing.T) {
	d := newDaemon(t)
	b := d.tab()
	b.open("/help")
	type room struct{ Width, Ascent, Descent float64 }
	for _, family := range []string{"K Sans", "K Mono"} {
		got := eval[[]room](b, `(async () => {
		  const c = document.createElement("canvas").getContext("2d"), out = [];
		  for (const f of [`+quoted(family)+`, `+quoted(family+" 0")+`]) {
		    const css = '100px "' + f + '"';
		    try { await document.fonts.load(css); } catch { return []; }
		    if (![...document.fonts].some((x) => x.family.replaceAll('"', "") === f && x.status === "loaded")) return [];
		    c.font = css;
		    const m = c.measureText("Where it stands: extract_totals failed after 3 of 4 attempts, 11.2 s. Plan and run, Status, Started 2026-03-09 02:47:13");
		    out.push({Width: m.width, Ascent: m.fontBoundingBoxAscent, Descent: m.fontBoundingBoxDescent});
		  }
		  return out;
		})()`)
		if len(got) != 2 {
			t.Skipf("this machine has neither of the fonts that stand in for %s", family)
		}
		if share := got[1].Width / got[0].Width; share < 0.97 || share > 1.03 {
			t.Errorf("%s takes %.0f px, what stands in for it %.0f", family, got[0].Width, got[1].Width)
		}
		if up, down := got[1].Ascent-got[0].Ascent, got[1].Descent-got[0].Descent; max(up, -up, down, -down) > 3 {
			t.Errorf("%s is %v, what stands in for it %v", family, got[0], got[1])
		}
	}
}
