package browsertest

import (
	"strings"
	"testing"
)

// In the editor, a click on a box of the graph moves the focus to the text and selects the line of
// the step.
func TestABoxLeadsToItsLine(t *testing.T) {
	d := newDaemon(t)
	b := d.tab()
	b.open("/plans/new?example=order-triage")
	chosen := `(() => { const f = document.querySelector("textarea[data-indent]"); return f.value.slice(f.selectionStart, f.selectionEnd) })()`
	if line := eval[string](b, `(() => { document.querySelector("#preview a#g2 text").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })); return `+chosen+` })()`); !strings.HasPrefix(
		strings.TrimSpace(line),
		"ask:",
	) {
		t.Errorf("a click on step ask selects line %q", line)
	}
	if !eval[bool](b, `document.activeElement === document.querySelector("textarea[data-indent]")`) {
		t.Error("the editor does not have the focus")
	}
	b.accessible("the editor with an example")
}
