package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// The calls of one step that are in doubt are decided together, from the page of the run: with scripts in a
// dialog, without them on a page.
func TestCallsInDoubtAreDecidedTogether(t *testing.T) {
	large(t)
	d := newDaemon(t)
	for _, how := range []struct {
		name, plan string
		prepare    func(*tab)
	}{
		{"with scripts", "payouts", func(*tab) {}},
		{"without scripts", "refunds", func(b *tab) { b.withoutScripts() }},
	} {
		t.Run(how.name, func(t *testing.T) {
			bank := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
			t.Cleanup(bank.Close)
			d.plan(fmt.Sprintf(`
id: %s
nodes:
  list: {type: set, input: {items: [{to: ann, amount: 10}, {to: ben, amount: 20}, {to: cem, amount: 30}]}}
  pay:
    type: http
    effect: unsafe
    needs: [list]
    foreach: "${output.list.items}"
    input: {method: POST, url: "%s/payments", body: "${item}"}
`, how.plan, bank.URL))
			run := d.run(how.plan, "null")
			b := d.tabOf(t)
			how.prepare(b)
			b.open("/runs/" + run.ID)
			b.reach(`.note.doubt a[href^="/doubts"]`, `form[action="/doubts"] input[name="doubt"]`)
			if n := eval[int](b, `document.querySelectorAll('form[action="/doubts"] input[name="doubt"]:checked').length`); n != 3 {
				t.Errorf("%d calls are chosen", n)
			}
			if !b.plain {
				b.accessible("calls in doubt")
			}
			b.reach(`form[action="/doubts"] button[value="happened"]`, ".outcomes li")
			if n := eval[int](b, `document.querySelectorAll(".outcomes .st.ok").length`); n != 3 {
				b.fail(fmt.Sprintf("%d calls are resolved", n))
			}
			b.quiet("calls in doubt " + how.name)
			if r := d.ended(run.ID); r.Status != domain.RunCompleted {
				t.Errorf("the run is %s", r.Status)
			}
		})
	}
}
