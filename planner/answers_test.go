package planner_test

import (
	"strings"
	"testing"

	"github.com/kairosd/kairosd/planner"
)

// The answers that an approval declares are checked when the plan is stored.
func TestDeclaredAnswersAreChecked(t *testing.T) {
	t.Parallel()
	for answers, want := range map[string]string{
		`[{id: full, label: Pay all, kind: approve}, {id: half, label: Pay half, kind: choice}, {id: none, kind: reject}]`: "",
		`[{id: yes, kind: approve}, {id: no, kind: reject}], on_timeout: approve, timeout: 1h`:                             "",
		`yes`:                        "answers must be a list",
		`[{id: yes, kind: approve}]`: "an approval cannot have 1 answers",
		`[` + strings.Repeat(`{id: a, kind: choice}, `, 9) + `]`: "an approval cannot have 9 answers",
		`[yes, no]`: "answer 1 is not an object",
		`[{id: Yes!, kind: approve}, {id: no, kind: reject}]`:                              `answer 1 has the invalid id "Yes!"`,
		`[{id: a, kind: approve}, {id: a, kind: reject}]`:                                  `duplicate answer "a"`,
		`[{id: a, kind: maybe}, {id: b, kind: reject}]`:                                    `answer "a" has the unknown kind "maybe"`,
		`[{id: a, kind: choice}, {id: b, kind: choice}]`:                                   "no answer approves or rejects",
		`[{id: a, kind: approve, says: x}, {id: b, kind: reject}]`:                         `unknown key "says" in answer 1`,
		`[{id: a, kind: approve, label: ""}, {id: b, kind: reject}]`:                       `answer "a" has an invalid label`,
		`[{id: a, kind: choice}, {id: b, kind: reject}], on_timeout: approve, timeout: 1h`: "on_timeout is approve, but no answer approves",
	} {
		doc, problems := planner.Parse(
			[]byte("nodes:\n  ask: {type: approval, input: {message: Pay?, answers: "+answers+"}}\n"),
			planner.WithFormat(planner.FormatYAML),
		)
		if doc != nil {
			problems = doc.Check(testCatalog())
		}
		text := ""
		for _, p := range problems {
			if p.Severity == planner.SeverityError {
				text += p.Message.String() + "\n"
			}
		}
		if (want == "") != (text == "") || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", answers, text, want)
		}
	}
}
