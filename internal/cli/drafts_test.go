package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kairosd/kairosd/internal/domain"
)

// A request is planned in the background and followed. A draft is refined, started, and discarded.
// A new version of an active plan waits for a person.
func TestDraftsAreFollowed(t *testing.T) {
	t.Parallel()
	everywhere(t, skills, func(t *testing.T, s *shell) {
		out, stderr := s.expect(0, "ask", "collect the figures")
		for _, want := range []string{"classifying the request", "storing the plan", "by rules"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("no %q in\n%s", want, stderr)
			}
		}
		if out == "" {
			t.Error("no answer")
		}
		if _, stderr := s.expect(0, "drafts"); !strings.Contains(stderr, "no drafts") { // starting a draft accepts it
			t.Error(stderr)
		}
		type draft struct {
			ID, Status string
			Plan       domain.PlanRef
			Proposed   bool
		}
		drafts := func(args ...string) (list []draft) {
			t.Helper()
			out, _ := s.expect(0, append([]string{"drafts", "--json"}, args...)...)
			var l struct{ Items []draft }
			if err := json.Unmarshal([]byte(out), &l); err != nil {
				t.Fatal(err)
			}
			return l.Items
		}
		if all := drafts("--all"); len(all) != 1 || all[0].Status != "accepted" {
			t.Fatalf("%+v", all)
		}
		used := drafts("--all")[0]
		s.expect(0, "ask", "--plan-only", "collect the figures and then report")
		open := drafts()
		if len(open) != 1 || open[0].Status != "ready" {
			t.Fatalf("%+v", open)
		}
		for _, name := range []string{open[0].ID, open[0].ID[:20], open[0].ID[len(open[0].ID)-6:], open[0].Plan.Key} {
			if out, stderr := s.expect(0, "drafts", "show", name); !strings.Contains(out, "report") || !strings.Contains(stderr, "ready") {
				t.Errorf("%s: %s%s", name, out, stderr)
			}
		}
		if out, _ := s.expect(0, "drafts", "run", open[0].ID); !strings.Contains(out, "42") {
			t.Error(out)
		}
		if rest := drafts(); len(rest) != 0 {
			t.Errorf("%+v", rest)
		}
		out, _ = s.expect(0, "runs", "--plan", open[0].Plan.Key, "--json")
		var runs struct{ Items []struct{ Origin string } }
		if err := json.Unmarshal([]byte(out), &runs); err != nil || len(runs.Items) != 1 || runs.Items[0].Origin != "ask" {
			t.Errorf("%v: %s", err, out)
		}
		// A new version of a plan in use is a draft, and other runs keep the current version.
		s.expect(0, "drafts", "refine", used.ID, "--change", "and report", "--max-steps", "2")
		s.expect(2, "drafts", "refine", used.ID)
		for _, d := range drafts() {
			s.expect(0, "drafts", "discard", d.ID, "--reason", "not needed")
			if _, stderr := s.expect(2, "drafts", "run", d.ID); !strings.Contains(stderr, "was discarded") {
				t.Error(stderr)
			}
		}
		// A request that cannot be planned fails with the reason.
		if _, stderr := s.expect(2, "ask", "collect the figures", "--max-steps", "-1"); !strings.Contains(stderr, "must not be negative") {
			t.Error(stderr)
		}
		if failed := drafts(); len(failed) > 1 || len(failed) == 1 && failed[0].Status != "failed" {
			t.Errorf("%+v", failed)
		}
		if _, stderr := s.expect(2, "drafts", "show", "zzzz"); !strings.Contains(stderr, "list drafts: kairos drafts") {
			t.Error(stderr)
		}
	})
}
