package browsertest

import (
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/internal/kairos"
)

// decide approves what a run waits for, elsewhere than in the browser.
func (d *daemon) decide(run string) {
	d.t.Helper()
	list, err := d.api.Approvals(d.t.Context(), kairos.ApprovalFilter{Run: run})
	must(d.t, err)
	if len(list.Items) != 1 {
		d.t.Fatalf("run %s waits for %d decisions", run, len(list.Items))
	}
	_, err = d.api.Decide(d.t.Context(), admin, kairos.DecideRequest{Approval: list.Items[0].ID, Approve: true, Comment: "elsewhere"})
	must(d.t, err)
}

// The page of a waiting run follows what happens to it, without a reload, and
// leaves what the operator typed alone.
func TestTheRunPageFollowsTheRun(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	b.open("/runs/" + s.Waiting.ID).live()
	b.fill("input[name=comment]", "half a thought")
	d.decide(s.Waiting.ID)
	b.until("the page shows that the run has completed", there("#head h1 .st.ok"))
	if typed := eval[string](b, `document.querySelector("input[name=comment]").value`); typed != "half a thought" {
		t.Errorf("the refresh took %q away", typed)
	}
	if title := eval[string](b, `document.title`); title == "" || eval[string](b, `document.querySelector("#favicon").getAttribute("href")`) != eval[string](b, `document.querySelector("[data-icon]").dataset.icon`) {
		t.Errorf("title %q or icon did not follow", title)
	}
}

// What an operator holds in an open list is left alone while runs come and end:
// chosen rows stay chosen, typed text stays, no row moves; new runs wait in a
// pill (UI 0.8).
func TestAnOpenListLeavesWhatIsHeldAlone(t *testing.T) {
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	box := fmt.Sprintf(`input[name=run][value="%s"]`, s.Failed.ID)
	b.open("/runs").live()
	b.click(box)
	b.fill("#q", "plan:led")
	rows := eval[[]string](b, `[...document.querySelectorAll("#list tbody a.go")].map((a) => a.href)`)
	d.run("report", `null`)
	b.until("the list says that a run is new", there("#pill a"))
	now := eval[[]string](b, `[...document.querySelectorAll("#list tbody a.go")].map((a) => a.href)`)
	if fmt.Sprint(now) != fmt.Sprint(rows) {
		t.Errorf("the list went by itself from %v to %v", rows, now)
	}
	if !eval[bool](b, fmt.Sprintf("document.querySelector(`%s`).checked", box)) {
		t.Error("a chosen row is not chosen any more")
	}
	if typed := eval[string](b, `document.querySelector("#q").value`); typed != "plan:led" {
		t.Errorf("typed text became %q", typed)
	}
	// The chosen run goes to the preview of the act, by its button.
	b.follow(`#bulk button[value="resume"]`, `form[action="/bulk"] button.pri`)
	if chosen := eval[string](b, `document.querySelector('form[action="/bulk"] input[name=run]').value`); chosen != s.Failed.ID {
		t.Errorf("the preview is about %q", chosen)
	}
}
