package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// On the page of a run that failed after 14 steps, the failed step is above the fold on a desktop
// and on a phone. The graph shows all of its first box and of the failed one. The dialog that
// resumes the run shows its button.
func TestAFailureIsAboveTheFold(t *testing.T) {
	d := newDaemon(t)
	var plan strings.Builder
	plan.WriteString("id: deep\nstart: s0\nnodes:\n")
	for i := range 14 {
		fmt.Fprintf(&plan, "  s%d: {type: set, input: %d}\n", i, i)
	}
	plan.WriteString("  broken: {type: json, input: {value: 1, path: \"[\"}}\nedges:\n")
	for i := range 13 {
		fmt.Fprintf(&plan, "  - {from: s%d, to: s%d}\n", i, i+1)
	}
	plan.WriteString("  - {from: s13, to: broken}\n")
	d.plan(plan.String())
	r := d.run("deep", `null`)
	b := d.tab()
	const inView = `(() => { const e = [...document.querySelectorAll(%s)].find((e) => e.checkVisibility()); if (!e) return false; const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth; })()`
	for _, c := range []struct {
		width, height int64
		css           []string
	}{
		{1440, 900, []string{".failure .step-bar", ".timeline tr.bad .step-name", "#graph a.fail, #graph .node.fail"}},
		{390, 844, []string{".failure .step-bar"}},
	} {
		b.do(chromedp.EmulateViewport(c.width, c.height))
		b.open("/runs/" + r.ID)
		for _, css := range c.css {
			b.until(css+" is above the fold", fmt.Sprintf(inView, quoted(css)))
		}
		b.reach(`.act a[href$="/resume"]`, "dialog[open] #preview")
		b.until("the button is in view", fmt.Sprintf(inView, quoted(`dialog button[value="act"]`)))
		b.keep(fmt.Sprintf("fold-%d", c.width))
	}
	b.quiet("a failure above the fold")
}
