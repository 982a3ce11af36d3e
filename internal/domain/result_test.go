package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairosd/kairosd/internal/domain"
)

func done(node string, visit int, output string) domain.Entry {
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: visit, Item: -1,
		Status: domain.NodeCompleted, Final: true, Output: domain.RawJSON(output)}
}

func failed(node string, decision string) domain.Entry {
	return domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: -1,
		Status: domain.NodeFailed, Final: true, Decision: domain.RawJSON(decision)}
}

func item(node string, i int, output, decision string) domain.Entry {
	e := domain.Entry{Kind: domain.EntryResult, Node: node, Visit: 1, Item: i,
		Status: domain.NodeCompleted, Final: true, Decision: domain.RawJSON(decision)}
	if output != "" {
		e.Output = domain.RawJSON(output)
	}
	return e
}

func TestResultOf(t *testing.T) {
	t.Parallel()
	retried := done("a", 1, `1`)
	retried.Final, retried.Status = false, domain.NodeFailed
	for _, c := range []struct {
		name    string
		journal []domain.Entry
		path    []string
		outputs string
	}{
		{"an empty journal", nil, []string{}, `{}`},
		{"a chain, in completion order", []domain.Entry{
			{Kind: domain.EntryIntent, Node: "a", Visit: 1, Item: -1, Status: domain.NodeRunning},
			done("b", 1, `{"x":1}`), done("a", 1, `2`)}, []string{"b", "a"}, `{"a":2,"b":{"x":1}}`},
		{"attempts that were retried do not count", []domain.Entry{retried, done("a", 1, `7`)}, []string{"a"}, `{"a":7}`},
		{"a loop: once per visit, latest value", []domain.Entry{done("a", 1, `1`), done("a", 2, `2`)}, []string{"a", "a"}, `{"a":2}`},
		{"an unhandled failure is not on the path", []domain.Entry{done("a", 1, `1`), failed("b", ``)}, []string{"a"}, `{"a":1}`},
		{"a failure that an edge took is", []domain.Entry{failed("b", `{"handled":"edge","to":"c"}`), done("c", 1, `1`)},
			[]string{"b", "c"}, `{"c":1}`},
		{"on_error continue gives null", []domain.Entry{failed("b", `{"handled":"continue"}`)}, []string{"b"}, `{"b":null}`},
		{"on_error skip gives nothing", []domain.Entry{failed("b", `{"handled":"skip"}`)}, []string{}, `{}`},
		{"a foreach is one visit with a list", []domain.Entry{
			item("f", 1, `"b"`, ``), item("f", 0, `"a"`, ``), item("f", 2, ``, `{"visit":"completed"}`)},
			[]string{"f"}, `{"f":["a","b",null]}`},
		{"an empty foreach", []domain.Entry{done("f", 1, `[]`)}, []string{"f"}, `{"f":[]}`},
		{"a foreach that is not finished", []domain.Entry{item("f", 0, `1`, ``)}, []string{}, `{}`},
		{"a resume repeats only what it opened", []domain.Entry{
			done("a", 1, `1`), item("f", 0, `"x"`, ``),
			func() domain.Entry {
				e := item("f", 1, ``, `{"visit":"failed"}`)
				e.Status = domain.NodeFailed
				return e
			}(),
			{Kind: domain.EntryReset, Decision: domain.RawJSON(`{"reopened":[{"node":"f","visit":1,"items":[1]}]}`)},
			item("f", 1, `"y"`, `{"visit":"completed"}`), done("b", 1, `3`)},
			[]string{"a", "f", "b"}, `{"a":1,"b":3,"f":["x","y"]}`},
		{"a reset forgets what followed", []domain.Entry{
			failed("a", `{"handled":"continue"}`), done("b", 1, `1`),
			{Kind: domain.EntryReset, Decision: domain.RawJSON(
				`{"reopened":[{"node":"a","visit":1}],"forgotten":[{"node":"b","visit":1}]}`)},
			done("a", 1, `5`)},
			[]string{"a"}, `{"a":5}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := domain.ResultOf(domain.RunDetail{Run: domain.Run{ID: "r", Status: domain.RunRunning}, Journal: c.journal})
			if diff := cmp.Diff(c.path, r.Path); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
			got, err := json.Marshal(r.Outputs)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.outputs {
				t.Errorf("outputs = %s, want %s", got, c.outputs)
			}
		})
	}
}

func TestResultHasEveryFieldOfTheContract(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(domain.ResultOf(domain.RunDetail{Run: domain.Run{
		ID: "r1", Status: domain.RunCompleted, WaitReason: domain.WaitTimer}}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"runId":"r1","status":"completed","waitReason":"","waits":[],"output":null,"outputs":{},"path":[],` +
		`"error":null,"usage":{"inputTokens":0,"outputTokens":0,"cost":0},"failedSteps":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
