package browsertest

import "testing"

// In both languages, the row of a plan takes one line on a wide screen, and no cell of a failure group runs
// into the next one.
func TestRowsHaveRoom(t *testing.T) {
	large(t)
	d := newDaemon(t)
	d.seed()
	d.everyday()
	b := d.tab()
	for _, lang := range []string{"en", "es"} {
		b.cookie("lang", lang)
		b.width(1440)
		b.open("/plans")
		for _, text := range eval[[]string](b, `[...document.querySelectorAll(".plans tbody tr")]
			.filter((r) => r.getBoundingClientRect().height > 48).map((r) => r.innerText)`) {
			t.Errorf("%s: a plan takes several lines: %s", lang, text)
		}
		for _, width := range []int64{1440, 1280, 820, 390} {
			b.width(width)
			b.open("/")
			for _, text := range eval[[]string](b, `[...document.querySelectorAll(".groups tbody tr")].filter((row) => {
				const boxes = [...row.cells].map((cell) => {
					const out = [], texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
					while (texts.nextNode()) {
						const range = document.createRange();
						range.selectNode(texts.currentNode);
						if (!texts.currentNode.parentElement.closest(".sr")) out.push(...range.getClientRects());
					}
					return out;
				});
				return boxes.some((list, i) => boxes.slice(i + 1).flat().some((b) => list.some((a) =>
					a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)));
			}).map((row) => row.innerText)`) {
				t.Errorf("%s, %d px: cells overlap: %s", lang, width, text)
			}
		}
	}
	b.quiet("rows")
}
