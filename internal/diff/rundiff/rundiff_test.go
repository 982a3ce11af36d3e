package rundiff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/diff/rundiff"
	"github.com/kairosd/kairosd/internal/domain"
)

var began = time.Date(2030, 1, 31, 8, 0, 0, 0, time.UTC)

// run is a journal with one row per second.
type run struct{ domain.RunDetail }

func newRun(id, input string) *run {
	r := &run{}
	r.Run = domain.Run{ID: id, PlanKey: "p", Version: 1, Status: domain.RunCompleted, Input: domain.RawJSON(input), CreatedAt: began}
	return r
}

func (r *run) row(e domain.Entry) *run {
	e.Seq = int64(len(r.Journal) + 1)
	e.At = began.Add(time.Duration(e.Seq) * time.Second)
	r.Journal, r.Run.EndedAt = append(r.Journal, e), e.At
	return r
}

// did adds a step that completed, in one row.
func (r *run) did(node, output, to string) *run {
	decision, _ := json.Marshal(map[string]any{"to": to})
	return r.row(
		domain.Entry{
			Kind:     domain.EntryResult,
			Node:     node,
			Visit:    1,
			Item:     -1,
			Attempt:  1,
			Status:   domain.NodeCompleted,
			Final:    true,
			Output:   domain.RawJSON(output),
			Decision: decision,
		},
	)
}

func (r *run) failed(node, code, message string) *run {
	r.row(domain.Entry{Kind: domain.EntryIntent, Node: node, Visit: 1, Item: -1, Attempt: 1, Status: domain.NodeRunning})
	return r.row(
		domain.Entry{
			Kind:    domain.EntryResult,
			Node:    node,
			Visit:   1,
			Item:    -1,
			Attempt: 1,
			Status:  domain.NodeFailed,
			Final:   true,
			Failure: &domain.Failure{Code: code, Message: message},
		},
	)
}

func compare(a, b *run) rundiff.Comparison {
	return rundiff.Compare(a.RunDetail, b.RunDetail, began.Add(time.Hour))
}

// The comparison of two runs names the first step that differs, and the reason.
func TestTheFirstDifference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b *run
		step string
		why  rundiff.Why
		says string
	}{
		"nowhere": {newRun("a", `1`).did("x", `1`, "y").did("y", `2`, ""),
			newRun("b", `1`).did("x", `1`, "y").did("y", `2`, ""), "", "", ""},
		"at an output": {newRun("a", `1`).did("x", `1`, "y").did("y", `2`, ""),
			newRun("b", `1`).did("x", `1`, "y").did("y", `3`, ""), "y", rundiff.WhyOutput, "its output differs"},
		"at an edge": {newRun("a", `1`).did("x", `1`, "y").did("y", `2`, ""), newRun("b", `1`).did("x", `2`, ""),
			"x", rundiff.WhyEdge, "it went to y in one and to its end in the other"},
		"at a status": {newRun("a", `1`).failed("x", "timeout", "late"), newRun("b", `1`).did("x", `1`, ""), "x",
			rundiff.WhyStatus, "it is failed in one and completed in the other"},
		"at an error": {newRun("a", `1`).failed("x", "timeout", "late"), newRun("b", `1`).failed("x", "http", "500"),
			"x", rundiff.WhyError, "it failed with timeout (late) in one and with http (500) in the other"},
		"not at a number": {newRun("a", `1`).failed("x", "timeout", "no answer after 31 s"),
			newRun("b", `1`).failed("x", "timeout", "no answer after 30 s"), "", "", ""},
		"at what only the first has": {newRun("a", `1`).did("x", `1`, "").did("z", `2`, ""), newRun("b", `1`).did("x", `1`, ""),
			"z", rundiff.WhyMissing, "only one run has it"},
		"at what only the second has": {newRun("a", `1`).did("x", `1`, ""), newRun("b", `1`).did("x", `1`, "").did("z", `2`, ""),
			"z", rundiff.WhyMissing, "only one run has it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := compare(c.a, c.b)
			switch {
			case d.First == nil && c.step != "":
				t.Fatalf("they part nowhere: %+v", d.Steps)
			case d.First == nil:
				return
			}
			if d.First.Step != c.step || d.First.Why != c.why || d.First.Explanation != c.says {
				t.Errorf("at %s, %s: %s", d.First.Step, d.First.Why, d.First.Explanation)
			}
			back := compare(c.b, c.a)
			if back.First == nil || back.First.Step != c.step || back.First.Why != c.why {
				t.Errorf("the other way round: %+v", back.First)
			}
		})
	}
}

// A step that was retried, waited, and was resumed is one step, with its attempts.
func TestARetriedStepIsOneStep(t *testing.T) {
	t.Parallel()
	a := newRun("a", `1`).failed("x", "timeout", "late").row(domain.Entry{Kind: domain.EntryReset, Item: -1})
	a.row(domain.Entry{Kind: domain.EntryIntent, Node: "x", Visit: 1, Item: -1, Attempt: 2, Status: domain.NodeRunning})
	a.row(domain.Entry{Kind: domain.EntrySubstep, Node: "x", Visit: 1, Item: -1, Attempt: 2, Substep: 1, Output: domain.RawJSON(`"call"`)})
	a.row(
		domain.Entry{
			Kind:    domain.EntryResult,
			Node:    "x",
			Visit:   1,
			Item:    -1,
			Attempt: 2,
			Status:  domain.NodeCompleted,
			Final:   true,
			Output:  domain.RawJSON(`7`),
		},
	)
	a.row(domain.Entry{Kind: domain.EntryIntent, Node: "y", Visit: 2, Item: 3, Attempt: 1, Status: domain.NodeRunning})
	d := compare(a, newRun("b", `1`).did("x", `7`, ""))
	if len(d.Steps) != 2 || d.Steps[0].Differs() || d.Steps[0].A.Attempts != 2 || d.Steps[0].A.TookMs != 5000 ||
		d.Steps[0].LongerMs != 5000 {
		t.Errorf("%+v", d.Steps)
	}
	if y := d.Steps[1]; y.Step != "y #2 [3]" || y.A.Status != domain.NodeRunning || y.B != nil ||
		y.A.TookMs != (time.Hour-7*time.Second).Milliseconds() {
		t.Errorf("%+v %+v", y, y.A)
	}
}

// Values are compared part by part, within limits.
func TestValuesDifferPartByPart(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct{ a, b, want string }{
		"same": {`{"n":1}`, `{"n":1}`, `{"same":true,"bytesA":7,"bytesB":7}`},
		"a part": {`{"n":1,"m":[1,2]}`, `{"n":2,"m":[1]}`, `{"same":false,"changes":[{"op":"-","path":".m[1]","a":2},` +
			`{"op":"~","path":".n","a":1,"b":2}],"bytesA":17,"bytesB":15}`},
		"none":      {``, `1`, `{"same":false,"changes":[{"op":"+","path":"","b":1}],"bytesA":0,"bytesB":1}`},
		"long part": {`"` + long + `"`, `1`, `{"same":false,"changes":[{"op":"~","path":"","b":1,"cut":true}],"bytesA":5002,"bytesB":1}`},
		"damaged":   {`{`, `1`, `{"same":false,"more":true,"bytesA":1,"bytesB":1}`},
		"too long":  {`"` + strings.Repeat(long, 300) + `"`, `1`, `{"same":false,"tooLong":true,"bytesA":1500002,"bytesB":1}`},
	} {
		got, err := json.Marshal(compare(newRun("a", c.a), newRun("b", c.b)).Input)
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// The comparison of long journals is limited to the size of a page and a response.
func TestLongRunsAreCutOff(t *testing.T) {
	t.Parallel()
	a, b := newRun("a", `1`), newRun("b", `1`)
	for i := range 1500 {
		a.did(fmt.Sprintf("n%d", i), fmt.Sprint(i), "")
		b.did(fmt.Sprintf("n%d", i), fmt.Sprint(i+1), "")
	}
	d := compare(a, b)
	spelled := slices.IndexFunc(d.Steps, func(s rundiff.Step) bool { return s.Output.TooLong })
	if len(d.Steps) != 1000 || d.Left != 500 || spelled != 200 {
		t.Errorf("%d steps, %d left, spelled out up to %d", len(d.Steps), d.Left, spelled)
	}
}

// Each model that answered is listed once, as named in its answers.
func TestModelsThatAnswered(t *testing.T) {
	t.Parallel()
	asked := func(r *run, kind, model string) *run {
		return r.row(
			domain.Entry{
				Kind:     domain.EntrySubstep,
				Node:     "x",
				Visit:    1,
				Item:     -1,
				Attempt:  1,
				Substep:  1,
				Decision: domain.RawJSON(`{"kind":"` + kind + `"}`),
				Output:   domain.RawJSON(`{"text":"hello","model":"` + model + `"}`),
			},
		)
	}
	a, b := newRun("a", `1`), newRun("b", `1`)
	asked(asked(asked(a, "model", "m-2"), "model", "m-1"), "model", "m-2")
	asked(asked(b, "model", "m-1"), "tool:echo", "not a model")
	c := compare(a, b)
	if d := cmp.Diff([][]string{{"m-1", "m-2"}, {"m-1"}}, [][]string{c.A.Models, c.B.Models}); d != "" {
		t.Error(d)
	}
}
