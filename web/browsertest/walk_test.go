package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// otherTasks are further tasks that users must be able to do on pages alone.
var otherTasks = []task{
	{"find the failed run", 3, func(b *tab, _ *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, `form[action="/runs"]`)
		b.follow(`a.chip[href$="status%3Afailed"]`, `a.chip[aria-current]`)
		b.follow(runLink(s.Failed), "#run-id")
		if id := b.runID(); id != s.Failed.ID {
			b.t.Errorf("got the page of run %s, want %s", id, s.Failed.ID)
		}
	}},
	{"fork a completed run from a checkpoint", 5, func(b *tab, d *daemon, s webtest.Seeded) {
		b.follow(`nav.nav a[href="/runs"]`, `form[action="/runs"]`)
		b.follow(runLink(s.Completed), "#run-id")
		b.reach(`main .act a[href^="/runs/`+s.Completed.ID+`/fork"]`, "#preview")
		if !eval[bool](b, exists(`textarea[name="edit.list"]`)) { // the checkpoint is chosen first
			b.choose(`#preview select[name="at"]`, "list")
			b.reach(`#preview button[value="preview"]`, `textarea[name="edit.list"]`)
		}
		b.unfold(`textarea[name="edit.list"]`)
		b.fill(`textarea[name="edit.list"]`, `{"items": [5, 6]}`)
		b.follow(`#preview button[value="act"]`, "#run-id")
		if r := d.ended(b.runID()); r.ID == s.Completed.ID || !strings.Contains(string(r.Output), "[25,36]") {
			b.t.Errorf("the fork of %s ran with the old value: %s", s.Completed.ID, r.Output)
		}
	}},
	{"start a run", 4, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.follow(`nav.nav a[href="/plans"]`, `main a[href="/plans/ledger"]`)
		b.follow(`main a[href="/plans/ledger"]`, `main a[href="/plans/ledger/start"]`)
		b.follow(`main a[href="/plans/ledger/start"]`, `main form input[name$="amount"]`)
		b.fill(`main form input[name$="amount"]`, "5")
		b.follow(`main form.form button[type="submit"]`, "#run-id")
		r := d.ended(b.runID())
		if r.PlanKey != "ledger" || r.Status != domain.RunCompleted || !strings.Contains(string(r.Input), "5") {
			b.t.Errorf("got run of plan %s, status %s, input %s", r.PlanKey, r.Status, r.Input)
		}
	}},
	{"filter", 2, func(b *tab, _ *daemon, s webtest.Seeded) {
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
	{"save a plan", 3, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.newPlan("id: saved\nnodes:\n  only: {type: log, input: hello}\n")
		b.follow(`button[name="do"][value="save"]`, `main a[href="/plans/saved/start"]`)
		p, err := d.api.Plan(b.t.Context(), "saved")
		must(b.t, err)
		if p.Latest != 1 {
			b.t.Errorf("the plan has %d versions", p.Latest)
		}
	}},
	{"revoke a token", 6, func(b *tab, d *daemon, _ webtest.Seeded) {
		b.click("details.own summary")
		b.follow(`details.own a[href^="/settings"]`, "main table")
		b.follow(`main a[href="/settings/tokens"]`, `main form input[name="name"]`)
		b.fill(`main form input[name="name"]`, "robot")
		b.follow(`main form.form button[type="submit"]`, "#token")
		b.reach(`main a[href$="/revoke"]`, `form[action$="/revoke"] input[name="reason"]`) // a dialog, with scripts
		b.fill(`form[action$="/revoke"] input[name="reason"]`, "it is not needed")
		b.follow(`form[action$="/revoke"] button[type="submit"]`, `main form input[name="name"]`)
		tokens, err := d.api.Tokens(b.t.Context())
		must(b.t, err)
		if len(tokens) != 1 || tokens[0].RevokedAt.IsZero() {
			b.t.Errorf("the token was not revoked: %+v", tokens)
		}
	}},
}

// runLink returns the selector of the link to a run in a list.
func runLink(r domain.Run) string { return `main a[href^="/runs/` + r.ID + `"]` }

// exists returns an expression that reports whether an element is in the document, shown or hidden.
func exists(css string) string { return fmt.Sprintf(`!!document.querySelector(%s)`, quoted(css)) }

// choose selects the option of a select element whose text contains word.
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

func TestOtherTasks(t *testing.T) {
	large(t)
	walk(t, otherTasks, func(*tab) {})
}

func TestOtherTasksWithoutScripts(t *testing.T) {
	walk(t, otherTasks, func(b *tab) { b.withoutScripts() })
}

func TestOtherTasksByKeyboard(t *testing.T) {
	large(t)
	walk(t, otherTasks, func(b *tab) { b.keys = true })
}
