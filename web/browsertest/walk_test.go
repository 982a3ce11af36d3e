package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// coreTask is one of the ten things that an operator must always be able to do. Each begins on the home page
// and is checked by the daemon's state, not by the page.
type coreTask struct {
	name string
	do   func(*tab, *daemon, webtest.Seeded)
}

var coreTasks = []coreTask{
	{"find the failed run", func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, `form[action="/runs"]`)
		b.follow(`a.chip[href$="status%3Afailed"]`, `a.chip[aria-current]`)
		b.follow(runLink(s.Failed), "#run-id")
		if id := eval[string](b, `document.querySelector("#run-id").textContent`); id != s.Failed.ID {
			b.t.Errorf("the page is about %s, not %s", id, s.Failed.ID)
		}
	}},
	{"read the error", func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(runLink(s.Failed), "#why")
		// The answer is there without a click, and without scrolling.
		why := eval[string](b, `document.querySelector("#why").closest("section").innerText`)
		if s.Failed.Error == nil || !strings.Contains(why, s.Failed.Error.Message) {
			b.t.Errorf("the page does not say why: %q", why)
		}
		if bottom := eval[float64](b, `document.querySelector("#why").closest("section").getBoundingClientRect().bottom - innerHeight`); bottom > 0 {
			b.t.Errorf("the reason is %g pixels below the fold", bottom)
		}
	}},
	{"resume", func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(runLink(s.Failed), "#why")
		b.reach(`main a[href="/runs/`+s.Failed.ID+`/resume"]`, "#preview")
		b.follow(`#preview button[value="act"]`, "#run-id")
		d.follows(s.Failed, domain.EntryReset)
	}},
	{"fork with an edited state", func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, `form[action="/runs"]`)
		b.follow(runLink(s.Completed), "#run-id")
		b.reach(`main .act a[href^="/runs/`+s.Completed.ID+`/fork"]`, "#preview")
		output := `details:has(textarea[name="edit.list"]) > summary`
		if !eval[bool](b, there(output)) { // the checkpoint comes first
			b.choose(`#preview select[name="at"]`, "list")
			b.reach(`#preview button[value="preview"]`, output)
		}
		b.unfold(`textarea[name="edit.list"]`)
		b.fill(`textarea[name="edit.list"]`, `{"items": [5, 6]}`)
		b.follow(`#preview button[value="act"]`, "#run-id")
		id := eval[string](b, `document.querySelector("#run-id").textContent`)
		if id == s.Completed.ID {
			b.fail("the fork is the run that it came from")
		}
		r, err := d.api.Wait(b.t.Context(), id)
		must(b.t, err)
		if !strings.Contains(string(r.Output), "[25,36]") {
			b.t.Errorf("the fork of %s ran with what it was before: %s", s.Completed.ID, r.Output)
		}
	}},
	{"approve", func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/approvals"]`, `main a[href^="/approvals/"]`)
		b.follow(`main a.go[href^="/approvals/"]`, `button[name="answer"][value="approve"]`)
		b.follow(`button[name="answer"][value="approve"]`, "main")
		r, err := d.api.Wait(b.t.Context(), s.Waiting.ID)
		must(b.t, err)
		if r.Status != domain.RunCompleted {
			b.t.Errorf("the approved run is %s", r.Status)
		}
	}},
	{"start", func(b *tab, d *daemon, _ webtest.Seeded) {
		b.follow(`nav.nav a[href="/plans"]`, `main a[href="/plans/ledger"]`)
		b.follow(`main a[href="/plans/ledger"]`, `main a[href="/plans/ledger/start"]`)
		b.follow(`main a[href="/plans/ledger/start"]`, `main form input[name$="amount"]`)
		b.fill(`main form input[name$="amount"]`, "5")
		b.follow(`main form.form button[type="submit"]`, "#run-id")
		r, err := d.api.Wait(b.t.Context(), eval[string](b, `document.querySelector("#run-id").textContent`))
		must(b.t, err)
		if r.PlanKey != "ledger" || r.Status != domain.RunCompleted || !strings.Contains(string(r.Input), "5") {
			b.t.Errorf("what was started is %s, %s, with %s", r.PlanKey, r.Status, r.Input)
		}
	}},
	{"filter", func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, `form[action="/runs"]`)
		b.filter("plan:refund")
		b.follow(`form[action="/runs"] button`, runLink(s.Waiting))
		if eval[bool](b, there(runLink(s.Completed))) {
			b.t.Error("a run of another plan is shown")
		}
		if q := eval[string](b, `new URL(location.href).searchParams.get("q")`); q != "plan:refund" {
			b.t.Errorf("the address does not hold the filter: %q", q)
		}
	}},
	{"save a plan", func(b *tab, d *daemon, _ webtest.Seeded) {
		b.follow(`nav.nav a[href="/plans"]`, `main a[href="/plans/new"]`)
		b.follow(`main a[href="/plans/new"]`, `textarea[name="source"]`)
		b.fill(`textarea[name="source"]`, "id: walked\nnodes:\n  only: {type: log, input: hello}\n")
		b.follow(`button[name="do"][value="save"]`, `main a[href="/plans/walked/start"]`)
		p, err := d.api.Plan(b.t.Context(), "walked")
		must(b.t, err)
		if p.Latest != 1 {
			b.t.Errorf("the plan has %d versions", p.Latest)
		}
	}},
	{"revoke a token", func(b *tab, d *daemon, _ webtest.Seeded) {
		b.click("details.own summary")
		b.follow(`details.own a[href^="/settings"]`, "main table")
		b.follow(`main a[href="/settings/tokens"]`, `main form input[name="name"]`)
		b.fill(`main form input[name="name"]`, "robot")
		b.follow(`main form.form button[type="submit"]`, "#token")
		b.reach(`main a[href$="/revoke"]`, `form[action$="/revoke"] input[name="reason"]`) // over the page, where scripts are
		b.fill(`form[action$="/revoke"] input[name="reason"]`, "it is not needed")
		b.follow(`form[action$="/revoke"] button[type="submit"]`, `main form input[name="name"]`)
		tokens, err := d.api.Tokens(b.t.Context())
		must(b.t, err)
		if len(tokens) != 1 || tokens[0].RevokedAt.IsZero() {
			b.t.Errorf("the token was not revoked: %+v", tokens)
		}
	}},
	{"read the audit log", func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/audit"]`, "main table")
		text := eval[string](b, `document.querySelector("main table").innerText`)
		// What was done in this walk stands there, and by whom.
		for _, want := range []string{"token", "marta", "run", domain.ShortID(s.Failed.ID)} {
			if !strings.Contains(text, want) {
				b.t.Errorf("the audit log does not say %q:\n%.2000s", want, text)
			}
		}
	}},
}

// runLink is the link to a run in a list.
func runLink(r domain.Run) string { return `main a[href^="/runs/` + r.ID + `"]` }

// choose takes the option of a native list whose text holds a word.
func (b *tab) choose(css, word string) {
	b.t.Helper()
	if b.keys {
		b.picked(css, word)
		return
	}
	if !eval[bool](b, fmt.Sprintf(`(() => { const s = document.querySelector(%s), o = s && [...s.options].find((o) => o.text.includes(%s));
		if (!o) return false; s.value = o.value; return true; })()`, quoted(css), quoted(word))) {
		b.fail(css + " does not offer " + word)
	}
}

// follows checks that a run's journal continued with such a row.
func (d *daemon) follows(r domain.Run, kind domain.EntryKind) {
	d.t.Helper()
	journal, err := d.api.JournalPage(d.t.Context(), r.ID, r.LastSeq, 0)
	must(d.t, err)
	if len(journal) == 0 || journal[0].Kind != kind {
		d.t.Errorf("run %s did not go on: %d rows", r.ID, len(journal))
	}
}

// All ten core tasks are done by pages alone, without any script.
func TestCoreTasksWithoutJavaScript(t *testing.T) {
	walk(t, func(b *tab) { b.withoutScripts() })
}

// The same tasks, by the same steps, with scripts.
func TestCoreTasks(t *testing.T) {
	large(t)
	walk(t, func(*tab) {})
}

func walk(t *testing.T, prepare func(*tab)) {
	t.Helper()
	d := newDaemon(t)
	s := d.seed()
	b := d.tab()
	prepare(b)
	for _, task := range coreTasks {
		b.open("/")
		task.do(b, d, s)
		b.quiet(task.name)
		if t.Failed() {
			t.Fatalf("the task was: %s", task.name)
		}
		t.Logf("done: %s", task.name)
	}
}
