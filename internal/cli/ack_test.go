package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A failed run is acknowledged with a note and a time to resume it. Both appear in the text and in
// the JSON output.
func TestAcknowledgeForLater(t *testing.T) {
	t.Parallel()
	everywhere(t, "", func(t *testing.T, s *shell) {
		plan := s.file("bad.yaml", "id: bad\nnodes:\n  look: {type: json, input: {value: 1, path: bad}}\n")
		first, second := s.result(1, "run", "--plan", plan, "--json"), s.result(1, "run", "--plan", plan, "--json")
		type shown struct {
			Attention    bool
			Fingerprint  string
			FailureGroup *struct{ Runs int }
			Acknowledged *struct{ Actor, Note string }
		}
		show := func(run string) (v shown) {
			t.Helper()
			out, _ := s.expect(0, "show", run, "--json")
			if err := json.Unmarshal([]byte(out), &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
		if v := show(first.RunID); !v.Attention || v.Fingerprint == "" || v.FailureGroup == nil || v.FailureGroup.Runs != 2 ||
			v.Acknowledged != nil {
			t.Errorf("%+v", v)
		}
		if out, _ := s.expect(0, "show", first.RunID); !strings.Contains(out, "attention  required\n") ||
			!strings.Contains(out, "2 runs need attention because of the same failure") {
			t.Error(out)
		}
		out, stderr := s.expect(0, "failures", "ack", first.RunID, "--note", "waiting for quota", "--resume-at", "2h")
		if !strings.Contains(out, "acknowledged") || !strings.Contains(stderr, "resumed at ") {
			t.Error(out, stderr)
		}
		if v := show(first.RunID); v.Attention || v.Acknowledged == nil || !strings.HasPrefix(v.Acknowledged.Note, "waiting for quota") ||
			v.FailureGroup == nil ||
			v.FailureGroup.Runs != 1 {
			t.Errorf("%+v", v)
		}
		if out, _ := s.expect(0, "show", first.RunID); !strings.Contains(out, "acknowledged by ") ||
			!strings.Contains(out, "waiting for quota") {
			t.Error(out)
		}
		out, _ = s.expect(0, "operations", "--json")
		var acts struct {
			Items []struct{ ID, Action, StartAt string }
		}
		if err := json.Unmarshal([]byte(out), &acts); err != nil || len(acts.Items) != 1 || acts.Items[0].Action != "resume" ||
			acts.Items[0].StartAt == "" {
			t.Fatalf("%v: %s", err, out)
		}
		s.expect(0, "operations", "stop", acts.Items[0].ID)
		out, _ = s.expect(0, "runs", "--json")
		var list struct {
			Items []struct {
				RunID, Fingerprint string
				Attention          bool
			}
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 2 || !list.Items[0].Attention ||
			list.Items[1].Attention ||
			list.Items[0].Fingerprint == "" ||
			list.Items[0].RunID != second.RunID {
			t.Errorf("%v: %s", err, out)
		}
		if out, _ := s.expect(0, "failures", "ack", second.RunID, "--note", "known", "--json"); !strings.Contains(
			out,
			`"attention":false`,
		) {
			t.Error(out)
		}
		// An impossible request is refused, and nothing changes.
		s.expect(2, "failures", "ack", second.RunID, "--resume-at", "soon")
		if _, stderr := s.expect(2, "failures", "ack", second.RunID, "--resume-at", "2001-01-01T06:00"); !strings.Contains(
			stderr,
			"is past",
		) {
			t.Error(stderr)
		}
		s.expect(2, "failures", "ack", "--filter", "status:failed", "--resume-at", "2h")
		s.expect(2, "failures", "ack", second.RunID, "--note", "a", "--reason", "b")
		good := s.result(0, "run", "--plan", s.file("a.yaml", greeting), "--json")
		if _, stderr := s.expect(2, "failures", "ack", good.RunID, "--resume-at", "2h"); !strings.Contains(stderr, "only a failed run") {
			t.Error(stderr)
		}
	})
}
