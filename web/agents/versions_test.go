package agents_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairosd/kairosd/internal/domain"
	"github.com/kairosd/kairosd/web/webtest"
)

// The page of an agent shows its versions with their times, and the prompts of these times from the
// journals of runs. A version without a run has no prompt.
func TestAnAgentShowsItsVersionsAndPrompts(t *testing.T) {
	t.Parallel()
	site := webtest.New(t)
	b := site.Browser(t).Login()
	if strings.Contains(b.Get("/agents/agents/desk").Body, "Its versions") {
		t.Error("an agent without recorded history shows versions")
	}
	begin := func(action, result, versions string) {
		t.Helper()
		if err := site.Store.Audit(t.Context(), domain.AuditRecord{Action: action, Actor: domain.System.Name,
			Source: domain.System.Source, Object: "version:test", Result: result, Detail: []byte(versions)}); err != nil {
			t.Fatal(err)
		}
	}
	site.Plan(t, "id: talk\nnodes:\n  answer: {type: agent, agent: desk, input: {question: \"how much\"}}\n")
	begin("daemon.start", "", `{"agent": {"desk": "aaaaaaaaaaaa"}, "provider": {}, "runs": {"unfinished": "0"}}`)
	begin("daemon.start", "", `{"agent": {"desk": "bbbbbbbbbbbb"}}`)
	begin("daemon.start", "", `{"agent": {"desk": "bbbbbbbbbbbb"}}`) // unchanged version
	run := site.Run(t, "talk", "")
	if _, err := site.Engine.WaitFor(t.Context(), run.ID, func(r domain.Run) bool { return r.Status.Final() }); err != nil {
		t.Fatal(err)
	}
	begin("config.reload", "failed", `{"before": "x", "after": "x"}`)
	begin("daemon.start", "", `{"agent": {"accountant": "dddddddddddd"}}`) // without the agent desk
	begin("config.reload", "", `{"agent": {"desk": "cccccccccccc"}, "changed": ["agents"], "before": "x", "after": "y"}`)
	p := b.Get("/agents/agents/desk")
	_, rest, _ := strings.Cut(p.Body, "Versions of the agent, the newest first")
	table, _, _ := strings.Cut(rest, "</table>")
	rows := strings.Split(table, "<tr>")
	if p.Code != http.StatusOK || len(rows) != 5 {
		t.Fatalf("got status %d, want %d: %d rows in %s", p.Code, http.StatusOK, len(rows)-2, webtest.Text(table))
	}
	for i, want := range [][]string{{"cccccccccccc", "now", "No stored run used this prompt."},
		{"bbbbbbbbbbbb", "the one above · run " + run.ID[len(run.ID)-4:]}, {"aaaaaaaaaaaa", "No stored run used this prompt."}} {
		for _, w := range want {
			if text := webtest.Text(rows[i+2]); !strings.Contains(text, w) {
				t.Errorf("row %d does not contain %q: %s", i, w, text)
			}
		}
	}
	if strings.Count(table, time.Now().UTC().Format("2006-01-02T")) != 5 { // three starts and two ends
		t.Errorf("not every version shows its start and end: %s", table)
	}
	webtest.Safe(t, "agent", p.Body)
}
