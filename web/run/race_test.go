package run_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The graph shows a race, and its steps show which of them won.
func TestARaceShowsItsWinner(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	site.Plan(t, `
id: raced
nodes:
  quick: {type: set, input: 1}
  slow: {type: wait, input: {for: 1h}}
  first: {type: set, race: [quick, slow], input: "${last}"}
  ask: {type: approval, needs: [first], input: {message: continue?}}
`)
	run := webtest.StartUntil(t, site, "raced", domain.WaitApproval)
	b := site.Browser(t).Login()
	path := "/runs/" + run.ID
	if body := b.Get(path + "?view=graph").Body; !strings.Contains(body, ">race<") || !strings.Contains(body, "slow cancelled") {
		t.Errorf("the graph of a race:\n%s", webtest.Text(body))
	}
	for _, step := range []string{"quick", "slow", "first"} {
		if text := webtest.Text(b.Get(path + "?step=" + step).Body); !strings.Contains(text, "Race won by quick") {
			t.Errorf("the inspector of %s:\n%s", step, text)
		}
	}
}
