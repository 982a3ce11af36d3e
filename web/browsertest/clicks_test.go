package browsertest

import (
	"fmt"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// shortTask is a task of every day with the clicks that it may take from home.
type shortTask struct {
	name   string
	clicks int
	do     func(*tab, *daemon, webtest.Seeded)
}

var shortTasks = []shortTask{
	{"why did it fail", 1, func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`#attention a.go[href="/runs/`+s.Failed.ID+`"]`, "#why")
	}},
	{"resume", 2, func(b *tab, d *daemon, s webtest.Seeded) {
		b.reach(`#attention a[href="/runs/`+s.Failed.ID+`/resume"]`, "#preview")
		inView := `document.querySelector('#preview button[value="act"]').getBoundingClientRect().bottom <= innerHeight`
		if !eval[bool](b, inView) {
			b.fail("the button that resumes is below the fold")
		}
		b.follow(`#preview button[value="act"]`, "#run-id")
		d.follows(s.Failed, domain.EntryReset)
	}},
	{"resume many", 2, func(b *tab, _ *daemon, _ webtest.Seeded) {
		b.reach(`#attention a[href^="/bulk/new?do=resume"]`, `form[action="/bulk"]`)
		b.follow(`form[action="/bulk"] button.pri`, "#progress")
	}},
	{"approve", 1, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.follow(`#approvals button[value="approve"]`, "#done")
		d.decided(b, "approved")
	}},
	{"reject", 2, func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`#approvals h3 a[href^="/approvals/"]`, `button[name="answer"][value="reject"]`)
		b.follow(`button[name="answer"][value="reject"]`, "#done")
		d.decided(b, "rejected")
	}},
	{"settle a call in doubt", 2, func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`#approvals .tint-doubt .row a`, `button[name="action"][value="happened"]`)
		b.follow(`button[name="action"][value="happened"]`, "#run-id")
		if r, err := d.api.Wait(b.t.Context(), s.InDoubt.ID); err != nil || r.Status != domain.RunCompleted {
			b.t.Errorf("the run is %s, %v", r.Status, err)
		}
	}},
	{"compare two chosen runs", 2, func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, "#bulk")
		for _, run := range []string{s.Failed.ID, s.Completed.ID} {
			b.tap(fmt.Sprintf(`#bulk input[value="%s"]`, run))
		}
		b.follow(`#bulk button[value="compare"]`, "main h1")
		if at := eval[string](b, "location.pathname"); at != "/runs/compare" {
			b.t.Errorf("Compare leads to %s", at)
		}
	}},
	{"plan from a request", 3, func(b *tab, _ *daemon, _ webtest.Seeded) {
		b.follow(`nav.nav a[href="/plans"]`, `main a[href="/ask"]`)
		b.follow(`main a[href="/ask"]`, `textarea[name="intent"]`)
		b.fill(`textarea[name="intent"]`, "regatta")
		b.follow(`main form button.pri`, "main h1")
	}},
	{"who did what", 2, func(b *tab, _ *daemon, _ webtest.Seeded) {
		b.follow(`nav.nav a[href="/audit"]`, "main table a.go")
		b.follow("main table a.go", "main dl")
	}},
}

// decided checks the decision that the page confirms.
func (d *daemon) decided(b *tab, status string) {
	d.t.Helper()
	if said := eval[string](b, `document.querySelector("#done").innerText`); said == "" {
		b.t.Error("nothing confirms the decision")
	}
	list, err := d.api.Approvals(d.t.Context(), domain.ApprovalFilter{Status: status})
	must(d.t, err)
	if len(list.Items) == 0 {
		b.t.Errorf("no request is %s", status)
	}
}

// The tasks of every day take no more clicks from home than they may, with the mouse. Choosing rows and
// typing are not counted.
func TestTasksTakeFewClicks(t *testing.T) {
	fewClicks(t, func(*tab) {})
}

// The same holds without scripts, and by keys.
func TestTasksTakeFewClicksWithoutScripts(t *testing.T) {
	large(t)
	fewClicks(t, func(b *tab) { b.withoutScripts() })
}

func TestTasksTakeFewKeys(t *testing.T) {
	large(t)
	fewClicks(t, func(b *tab) { b.keys = true })
}

func fewClicks(t *testing.T, prepare func(*tab)) {
	t.Helper()
	d := newDaemon(t)
	s := d.seed()
	d.plan("id: sync\nnodes:\n  fetch: {type: http, effect: read, input: {url: \"http://127.0.0.1:9/x\"}}\n")
	d.run("sync", "null")
	d.run("sync", "null")
	d.plan("id: payout\nnodes:\n  ask: {type: approval, input: {message: Pay 12 euro?}}\n")
	d.run("payout", "null")
	b := d.tab()
	prepare(b)
	for _, task := range shortTasks {
		b.open("/")
		b.clicks = 0
		task.do(b, d, s)
		b.quiet(task.name)
		if b.clicks > task.clicks {
			t.Errorf("%s takes %d clicks; it may take %d", task.name, b.clicks, task.clicks)
		}
		if t.Failed() {
			t.Fatalf("the task was: %s", task.name)
		}
		t.Logf("%s: %d", task.name, b.clicks)
	}
}
