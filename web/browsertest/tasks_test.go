package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// task is a task of a user that starts on home. It checks its effect on the daemon.
type task struct {
	name string
	// clicks is the maximum number of clicks. Each use of a link, a button, or a disclosure counts,
	// by mouse or by keyboard. Typing, and choosing rows or options in a form, do not count.
	clicks int
	do     func(*tab, *daemon, webtest.Seeded)
}

// coreTasks are the daily tasks of an operator, with variants.
var coreTasks = []task{
	{"why did it fail", 1, func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`#attention a.go[href="/runs/`+s.Failed.ID+`"]`, "#why")
		b.whyInView(s.Failed)
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
	{"fork with an edit", 3, func(b *tab, d *daemon, _ webtest.Seeded) {
		failed := d.newest("invoice")
		b.follow(`#attention a.go[href="/runs/`+failed.ID+`"]`, "#why")
		b.reach(`main .act a[href^="/runs/`+failed.ID+`/fork"]`, "#preview")
		b.fill(`textarea[name="edit.order"]`, `{"amount": 12}`)
		b.follow(`#preview button[value="act"]`, "#run-id")
		if r := d.ended(b.runID()); r.ID == failed.ID || string(r.Output) != "24" {
			b.t.Errorf("the fork %s returned %s", r.ID, r.Output)
		}
	}},
	{"approve", 1, func(b *tab, d *daemon, _ webtest.Seeded) {
		run := d.newest("payout")
		b.follow(answerOf(run, "approve"), "#done")
		d.decided(b, run, "approved")
	}},
	{"reject", 1, func(b *tab, d *daemon, _ webtest.Seeded) {
		run := d.newest("payback")
		b.follow(answerOf(run, "reject"), "#done")
		d.decided(b, run, "rejected")
	}},
	{"approve what carries a risk", 2, func(b *tab, d *daemon, _ webtest.Seeded) {
		run := d.newest("wipe")
		b.follow(`#approvals article:has(.tag.need) h3 a`, `button[name="answer"][value="approve"]`)
		b.tap(`input[name="confirm"]`)
		b.follow(`button[name="answer"][value="approve"]`, "#done")
		d.decided(b, run, "approved")
	}},
	{"reject after a look at the evidence", 2, func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`#approvals h3 a[href^="/approvals/"]`, `button[name="answer"][value="reject"]`)
		b.follow(`button[name="answer"][value="reject"]`, "#done")
		d.decided(b, s.Waiting, "rejected")
	}},
	{"settle a call in doubt", 2, func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`#approvals .tint-doubt .row a`, `button[name="action"][value="happened"]`)
		b.follow(`button[name="action"][value="happened"]`, "#run-id")
		if r := d.ended(s.InDoubt.ID); r.Status != domain.RunCompleted {
			b.t.Errorf("the run is %s", r.Status)
		}
	}},
	{"compare two chosen runs", 2, func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, "#bulk")
		for _, run := range []string{s.Failed.ID, s.Completed.ID} {
			b.tap(fmt.Sprintf(`#bulk input[value="%s"]`, run))
		}
		b.follow(`#bulk button[value="compare"]`, "main h1")
		if at := eval[string](b, "location.pathname"); at != "/runs/compare" {
			b.t.Errorf("Compare opens %s", at)
		}
	}},
	{"write a plan, check it, and start it", 4, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.newPlan("id: walked\nnodes:\n  only: {type: log, input: hello}\n")
		b.follow(`.bar button[name="do"][value="check"]`, `#problems .st.ok`)
		b.follow(`button[name="do"][value="start"]`, "#run-id")
		if r := d.ended(b.runID()); r.PlanKey != "walked" || r.Status != domain.RunCompleted {
			b.t.Errorf("a run of %s is %s", r.PlanKey, r.Status)
		}
	}},
	{"write a plan with an input, and start it", 4, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.newPlan("id: doubled\ninput: {type: object, required: [n], properties: {n: {type: number}}}\n" +
			"nodes:\n  twice: {type: calculator, input: {expression: n*2, values: {n: \"${input.n}\"}}}\n")
		b.follow(`button[name="do"][value="start"]`, `main form input[name$="n"]`)
		b.fill(`main form input[name$="n"]`, "21")
		b.follow(`main form.form button[type="submit"]`, "#run-id")
		if r := d.ended(b.runID()); r.PlanKey != "doubled" || string(r.Output) != "42" {
			b.t.Errorf("a run of %s returned %s", r.PlanKey, r.Output)
		}
	}},
	{"plan from a request", 3, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.follow(`nav.nav a[href="/plans"]`, `main a[href="/ask"]`)
		b.follow(`main a[href="/ask"]`, `textarea[name="intent"]`)
		b.fill(`textarea[name="intent"]`, "regatta")
		b.follow(`main form button.pri`, "main h1")
		if at := eval[string](b, "location.pathname"); !strings.HasPrefix(at, "/plans/drafts/") {
			b.t.Errorf("the request opens %s", at)
		}
	}},
	{"who did what", 2, func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/audit"]`, "main table a.go")
		text := eval[string](b, `document.querySelector("main table").innerText`)
		for _, want := range []string{admin.Name, "walked", domain.ShortID(s.Failed.ID)} {
			if !strings.Contains(text, want) {
				b.t.Errorf("the audit log does not show %q:\n%.2000s", want, text)
			}
		}
		b.follow("main table a.go", "main dl")
	}},
}

// everyday adds data for the core tasks: similar failures, a failure that an edit repairs, and
// approval requests that can be decided on home or only on their page.
func (d *daemon) everyday() {
	d.t.Helper()
	d.plan("id: sync\nnodes:\n  fetch: {type: http, effect: read, input: {url: \"http://127.0.0.1:9/x\"}}\n")
	d.plan("id: invoice\nnodes:\n  order: {type: set, input: {amount: twelve}}\n" +
		"  total: {type: calculator, input: {expression: x*2, values: {x: \"${output.order.amount}\"}}}\n" +
		"edges: [{from: order, to: total}]\n")
	d.plan("id: payout\nnodes:\n  ask: {type: approval, input: {message: Pay 12 euro?}}\n")
	d.plan("id: payback\nnodes:\n  ask: {type: approval, input: {message: Return 12 euro?}}\n")
	d.plan("id: wipe\nnodes:\n  ask: {type: approval, input: {message: Delete the disk?}, metadata: {risk: deletes data}}\n")
	for _, plan := range []string{"sync", "sync", "invoice", "payout", "payback", "wipe"} {
		d.run(plan, "null")
	}
}

// answerOf returns the selector of the button on home that decides the approval request of a run.
func answerOf(r domain.Run, answer string) string {
	return fmt.Sprintf(`#approvals article:has(a[href="/plans/%s"]) button[value=%q]`, r.PlanKey, answer)
}

// newest returns the newest run of a plan.
func (d *daemon) newest(plan string) domain.Run {
	d.t.Helper()
	list, err := d.api.Runs(d.t.Context(), domain.RunFilter{PlanKey: plan, Page: domain.Page{Limit: 1}})
	must(d.t, err)
	if len(list.Items) == 0 {
		d.t.Fatalf("the plan %s has no run", plan)
	}
	return list.Items[0]
}

// ended waits until a run has ended.
func (d *daemon) ended(id string) domain.Run {
	d.t.Helper()
	r, err := d.api.Wait(d.t.Context(), id)
	must(d.t, err)
	return r
}

// decided checks that the page confirms the decision, and that the daemon has recorded it.
func (d *daemon) decided(b *tab, r domain.Run, status string) {
	d.t.Helper()
	if text := eval[string](b, `document.querySelector("#done").innerText`); text == "" {
		b.t.Error("the page does not confirm the decision")
	}
	if !b.plain {
		b.until("the focus stays in the content", `document.activeElement !== document.body && document.activeElement.closest("main")`)
	}
	list, err := d.api.Approvals(d.t.Context(), domain.ApprovalFilter{Status: status})
	must(d.t, err)
	for _, a := range list.Items {
		if a.Run == r.ID {
			return
		}
	}
	b.t.Errorf("the request of the run %s of %s is not %s", r.ID, r.PlanKey, status)
}

// follows checks the kind of the next journal entry after r.LastSeq.
func (d *daemon) follows(r domain.Run, kind domain.EntryKind) {
	d.t.Helper()
	journal, err := d.api.Journal(d.t.Context(), r.ID)
	must(d.t, err)
	journal = slices.DeleteFunc(journal, func(e domain.Entry) bool { return e.Seq <= r.LastSeq })
	if len(journal) == 0 || journal[0].Kind != kind {
		d.t.Errorf("run %s did not continue: %d rows", r.ID, len(journal))
	}
}

// runID returns the id of the run on the current page.
func (b *tab) runID() string {
	b.t.Helper()
	return eval[string](b, `document.querySelector("#run-id").textContent`)
}

// whyInView checks that the page of a failed run shows the error without a click and without
// scrolling.
func (b *tab) whyInView(r domain.Run) {
	b.t.Helper()
	why := eval[string](b, `document.querySelector("#why").closest("section").innerText`)
	if r.Error == nil || !strings.Contains(why, r.Error.Message) {
		b.t.Errorf("the page does not show the reason: %q", why)
	}
	below := `document.querySelector("#why").closest("section").getBoundingClientRect().bottom - innerHeight`
	if px := eval[float64](b, below); px > 0 {
		b.t.Errorf("the reason is %g pixels below the fold", px)
	}
}

// newPlan opens the editor from home and types a plan.
func (b *tab) newPlan(source string) {
	b.t.Helper()
	b.follow(`nav.nav a[href="/plans"]`, `main a[href="/plans/new"]`)
	b.follow(`main a[href="/plans/new"]`, `textarea[name="source"]`)
	b.fill(`textarea[name="source"]`, source)
}

func TestCoreTasks(t *testing.T) {
	walk(t, coreTasks, func(*tab) {})
}

func TestCoreTasksWithoutScripts(t *testing.T) {
	walk(t, coreTasks, func(b *tab) { b.withoutScripts() })
}

// Core tasks can be done with Tab, Enter, arrow keys, and typing alone. The focus is always
// visible.
func TestCoreTasksByKeyboard(t *testing.T) {
	large(t)
	walk(t, coreTasks, func(b *tab) { b.keys = true })
}

// walk performs the tasks in order, and checks that none of them needs more clicks than allowed.
func walk(t *testing.T, tasks []task, prepare func(*tab)) {
	t.Helper()
	d := newDaemon(t)
	s := d.seed()
	d.everyday()
	b := d.tab()
	prepare(b)
	for _, task := range tasks {
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
