package browsertest

import "testing"

// Each key of a JSON value is a button that copies its path. Each is at least 24 px high and wide,
// on the page of a run and in its state view.
func TestJSONKeysAreLargeEnough(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	for _, path := range []string{"/runs/" + s.Completed.ID + "?step=1&tab=output", "/runs/" + s.Completed.ID + "?view=state"} {
		b.open(path)
		for _, small := range eval[[]string](b, `[...document.querySelectorAll(".json button.k")].filter((e) => e.checkVisibility())
			.filter((e) => { const r = e.getBoundingClientRect(); return r.height < 24 || r.width < 24; }).map((e) => e.textContent)`) {
			t.Errorf("%s: the key %q is too small", path, small)
		}
	}
}

// Selected rows show a bar, which is in view even at the top of a long list. Two selected runs can
// be compared.
func TestChosenRunsBringUpTheBar(t *testing.T) {
	d := newDaemon(t)
	d.seed()
	for range 50 {
		d.run("report", "null")
	}
	b := d.tab()
	b.open("/runs")
	if eval[bool](b, `document.querySelector("#bulk").getBoundingClientRect().bottom <= innerHeight`) {
		t.Fatal("the list is too short to hide its end")
	}
	bar := `(() => { const e = document.querySelector("#bulk .bar"), r = e.getBoundingClientRect();
		return e.checkVisibility() && r.height > 0 && r.top >= 0 && r.bottom <= innerHeight; })()`
	if eval[bool](b, bar) {
		t.Error("the bar is shown before a row is selected")
	}
	b.click("#list tbody tr:nth-child(1) input[name=run]")
	b.until("the bar is in view", bar)
	compare := there(`#bulk .bar [value="compare"]`)
	if eval[bool](b, compare) {
		t.Error("Compare is offered for a single run")
	}
	b.click("#list tbody tr:nth-child(2) input[name=run]")
	b.until("two runs can be compared", compare)
	b.follow(`#bulk .bar [value="compare"]`, "table.cmp")
}
