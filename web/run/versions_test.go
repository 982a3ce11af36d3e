package run_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// A step shows what executed it, with versions: the agent's prompt when the step started, the model
// that responded, and the tool's source.
func TestAStepNamesTheVersionsOfWhatDidIt(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	seed := site.Seed(t)
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk}\n")
	record := func(action, object string, detail any) {
		t.Helper()
		raw, err := json.Marshal(detail)
		if err != nil {
			t.Fatal(err)
		}
		if err := site.Store.Audit(t.Context(), domain.AuditRecord{Action: action, Actor: "system", Object: object,
			Detail: raw}); err != nil {
			t.Fatal(err)
		}
	}
	b := site.Browser(t).Login()
	before := site.Run(t, "talk", `"hello"`)
	record(
		"daemon.start",
		"version:9.8.7",
		map[string]any{"agent": map[string]string{"desk": "aaaa11112222"}, "runs": map[string]string{"unfinished": "0"}},
	)
	first := site.Run(t, "talk", `"hello"`)
	posted := site.Run(t, "ledger", `{"amount": 50, "currency": "EUR"}`)
	record("config.reload", "config:kairos.yaml", map[string]any{"before": "x", "agent": map[string]string{"desk": "bbbb33334444"}})
	second := site.Run(t, "talk", `"hello"`)
	for _, want := range []struct{ run, step, says string }{
		{before.ID, "answer", "<dd>desk</dd>"}, {first.ID, "answer", "desk, version aaaa11112222"},
		{second.ID, "answer", "desk, version bbbb33334444"},
		{first.ID, "answer", "<dt>Model</dt>"}, {posted.ID, "post", "http of kairosd 9.8.7"}, {seed.Failed.ID, "post", "<dd>http</dd>"},
	} {
		webtest.HasTexts(t, b.Get("/runs/"+want.run+"?step="+want.step), http.StatusOK, want.says)
	}
}
